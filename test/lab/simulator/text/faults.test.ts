import { connect } from 'node:net';
import { expect } from 'chai';
import { createSimulator, type Simulator } from '../../../../lab/simulator/simulator.ts';
import { post, WIRE_FORMATS, type WireAnswer, type WireFormat, type WireQuestion } from './wire.ts';

/** Each format's answer to a scripted failure: the status, and the name of the failure in the body. */
const FAILURES: Readonly<Record<string, Readonly<Record<string, readonly [status: number, name: string]>>>> = {
  'chat completions': {
    bad_request: [400, 'invalid_request_error'],
    content_policy_violation: [400, 'content_policy_violation'],
    rate_limit_exceeded: [429, 'rate_limit_exceeded'],
    processing_unavailable: [503, 'service_unavailable_error'],
    processing_timeout: [504, 'timeout_error'],
    processing_failed: [500, 'server_error'],
  },
  messages: {
    bad_request: [400, 'invalid_request_error'],
    content_policy_violation: [400, 'Output blocked by content filtering policy'],
    rate_limit_exceeded: [429, 'rate_limit_error'],
    processing_unavailable: [529, 'overloaded_error'],
    processing_timeout: [504, 'timeout_error'],
    processing_failed: [500, 'api_error'],
  },
  'generate content': {
    bad_request: [400, 'INVALID_ARGUMENT'],
    content_policy_violation: [200, '"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}'],
    rate_limit_exceeded: [429, '"retryDelay":"1s"'],
    processing_unavailable: [503, 'UNAVAILABLE'],
    processing_timeout: [504, 'DEADLINE_EXCEEDED'],
    processing_failed: [500, 'INTERNAL'],
  },
};

/** The event of a failure in the middle of a stream. */
const FAILURE_EVENTS: Readonly<Record<string, RegExp>> = {
  'chat completions': /data: \{"error":\{[^}]*"code":"service_unavailable_error"\}\}\n\n$/,
  responses: /event: error\ndata: \{"type":"error","sequence_number":\d+,"code":"service_unavailable_error".*\n\n$/,
  messages: /event: error\ndata: \{"type":"error","error":\{"type":"overloaded_error","message":"Overloaded"\}\}\n\n$/,
  'generate content': /data: \{"error":\{"code":503,.*"status":"UNAVAILABLE"\}\}\r\n\r\n$/,
};

for (const format of WIRE_FORMATS) {
  describe(`simulated text with faults, ${format.name}`, () => {
    let simulator: Simulator;
    let baseUrl: string;

    beforeEach(async () => {
      simulator = createSimulator({ apiKey: 'sk-1' });
      baseUrl = await simulator.listen(0, '127.0.0.1');
    });

    afterEach(() => simulator.close());

    const ask = (prompt: string, question?: WireQuestion): Promise<WireAnswer> =>
      post(baseUrl, format, prompt, question);
    const askStream = (prompt: string): Promise<WireAnswer> => ask(prompt, { stream: true });

    const latestRequest = async (): Promise<Record<string, unknown>> => {
      const response = await fetch(`${baseUrl}/_sim/requests?limit=1`);
      const { data } = (await response.json()) as { data: Record<string, unknown>[] };
      return data[0] ?? {};
    };

    it('streams every piece as a separate event, up to the last event', async () => {
      const answer = await askStream('[sim:tokens=30]');
      expect([answer.status, answer.complete, pieces(format, answer)]).to.deep.equal([200, true, 30]);
      expect(answer.text).to.match(format.endEvent);
      expect(answer.headers['content-type']).to.match(/^text\/event-stream/);
      expect(await latestRequest()).to.include({ aborted: false, chunks: 30 });
    });

    it('streams as much with pauses as without', async () => {
      const answer = await askStream('[sim:tokens=5,chunk_ms=1,delay_ms=1]');
      expect(pieces(format, answer)).to.equal(5);
      expect(answer.text).to.match(format.endEvent);
    });

    it('streams more than a connection buffers', async () => {
      const answer = await askStream('[sim:tokens=20000]');
      expect([answer.complete, pieces(format, answer)]).to.deep.equal([true, 20_000]);
    });

    it('answers with a status and an error', async () => {
      for (const status of [401, 402, 403, 404, 418, 429, 500, 502, 503]) {
        const answer = await askStream(`[sim:status=${status}]`);
        expect(answer.status).to.equal(status);
        expect(answer.headers['content-type']).to.match(/^application\/json/);
        expect(JSON.parse(answer.text)).to.have.property('error').that.is.an('object');
      }
    });

    for (const [code, [status, name]] of Object.entries(FAILURES[format.name] ?? FAILURES['chat completions'] ?? {})) {
      it(`fails with ${code} in the format’s own words`, async () => {
        for (const stream of [false, true]) {
          const answer = await ask(`[sim:fail=${code}]`, { stream });
          expect([answer.status, answer.complete]).to.deep.equal([status, true]);
          expect(answer.text).to.contain(name);
        }
      });
    }

    it('reports a failure in the middle of a stream', async () => {
      const answer = await askStream('[sim:tokens=9,fail=processing_unavailable,fail_after=4]');
      expect([answer.status, answer.complete, pieces(format, answer)]).to.deep.equal([200, true, 4]);
      expect(answer.text).to.match(FAILURE_EVENTS[format.name] ?? /^$/);
    });

    it('drops the connection after some chunks', async () => {
      for (const count of [0, 3, 9]) {
        const answer = await askStream(`[sim:tokens=9,drop_after=${count}]`);
        expect([answer.status, answer.complete, pieces(format, answer)]).to.deep.equal([200, false, count]);
        expect(answer.text).not.to.match(format.endEvent);
        expect(await latestRequest()).to.include({ aborted: false, chunks: count });
      }
    });

    it('drops the connection at the end of an answer that has fewer chunks', async () => {
      const answer = await askStream('[sim:tokens=2,drop_after=100]');
      expect([answer.complete, pieces(format, answer)]).to.deep.equal([false, 2]);
    });

    it('drops the connection in the middle of a whole answer', async () => {
      const answer = await ask('[sim:tokens=9,drop_after=3]');
      expect([answer.status, answer.complete]).to.deep.equal([200, false]);
    });

    it('writes a broken event after some chunks, and continues', async () => {
      const answer = await askStream('[sim:tokens=9,malformed_after=3]');
      expect(answer.complete).to.equal(true);
      expect(answer.text).to.match(format.endEvent);
      const broken = answer.text
        .split(/\r?\n/)
        .filter((line) => line.startsWith('data: {'))
        .filter((line) => !isJson(line.slice('data: '.length)));
      expect(broken).to.have.length(1);
    });

    it('breaks a whole answer', async () => {
      const answer = await ask('[sim:malformed_after=0]');
      expect([answer.status, answer.complete, isJson(answer.text)]).to.deep.equal([200, true, false]);
    });

    it('omits the usage', async () => {
      for (const stream of [false, true]) {
        const answer = await ask('[sim:no_usage]', { stream });
        expect(answer.text).not.to.match(/"usage(Metadata)?":\{/);
      }
    });

    it('refuses a directive with an invalid value', async () => {
      for (const directive of ['tokens=many', 'tokens=1000001', 'fail=unknown', 'status=99', 'drop_after=-1']) {
        const answer = await ask(`[sim:${directive}]`);
        expect([directive, answer.status]).to.deep.equal([directive, 400]);
        expect(answer.text).to.contain('directive');
      }
    });

    it('refuses an invalid body', async () => {
      for (const body of ['', '{', '[]', '7', 'null', {}, { model: 7, messages: 'x', contents: {}, input: 1 }]) {
        const answer = await ask('', { body });
        expect([body, answer.status]).to.deep.equal([body, 400]);
        expect(JSON.parse(answer.text)).to.have.nested.property('error.message').that.is.a('string');
      }
    });

    it('refuses a missing or wrong credential', async () => {
      const version = { 'anthropic-version': '2023-06-01' };
      const [none, wrong] = [
        await ask('', { headers: version }),
        await ask('', {
          headers: { ...version, authorization: 'Bearer no', 'x-api-key': 'no', 'x-goog-api-key': 'no' },
        }),
      ];
      const expected = format.name === 'generate content' ? [403, 400] : [401, 401];
      expect([none.status, wrong.status]).to.deep.equal(expected);
    });

    it('accepts a request of 20 MB', async () => {
      const padded = { ...format.body('Hi', false), metadata: { padding: 'x'.repeat(20 * 2 ** 20) } };
      const answer = await ask('', { body: padded });
      expect([answer.status, answer.complete]).to.deep.equal([200, true]);
    });

    it('stops when the client leaves, and records it in the request log', async () => {
      const received = await receiveAndLeave(baseUrl, format, '[sim:tokens=1000,chunk_ms=5]');
      expect(received).to.match(format.pieceEvent);
      const entry = await until(latestRequest, ({ aborted }) => aborted === true);
      expect(entry['chunks']).to.be.within(1, 999);
    });

    it('notices a client that leaves before the first byte', async () => {
      const socket = openRequest(baseUrl, format, '[sim:delay_ms=600000]');
      await until(latestRequest, ({ chunks }) => chunks === 0);
      socket.destroy();
      expect(await until(latestRequest, ({ aborted }) => aborted === true)).to.include({ chunks: 0 });
    });

    it('waits for a client that does not read', async () => {
      const socket = openRequest(baseUrl, format, '[sim:tokens=200000]').pause();
      await until(latestRequest, ({ chunks }) => Number(chunks) > 0);
      const stuck = await untilSame(async () => (await latestRequest())['chunks']);
      expect(stuck).to.be.lessThan(200_000);
      socket.destroy();
      await until(latestRequest, ({ aborted }) => aborted === true);
    });
  });
}

describe('simulated messages', () => {
  it('need the version header', async () => {
    const [format] = WIRE_FORMATS.filter(({ name }) => name === 'messages');
    if (format === undefined) throw new Error('the format is not in the table');
    const simulator = createSimulator();
    try {
      const baseUrl = await simulator.listen(0, '127.0.0.1');
      const answer = await post(baseUrl, format, 'Hi', { headers: { 'x-api-key': 'any' } });
      expect(answer.status).to.equal(400);
      expect(answer.text).to.contain('anthropic-version: header is required');
    } finally {
      await simulator.close();
    }
  });
});

function pieces({ pieceEvent }: WireFormat, { text }: WireAnswer): number {
  return text.match(pieceEvent)?.length ?? 0;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Sends a request for a stream over a bare socket, so that the test decides when to read. */
function openRequest(baseUrl: string, format: WireFormat, prompt: string): ReturnType<typeof connect> {
  const { hostname, port } = new URL(baseUrl);
  const body = JSON.stringify(format.body(prompt, true));
  const headers = Object.entries({ ...format.headers, host: hostname, 'content-length': String(body.length) });
  const socket = connect(Number(port), hostname);
  socket.write(`POST ${format.path(true)} HTTP/1.1\r\n`);
  socket.write(headers.map(([name, value]) => `${name}: ${value}\r\n`).join(''));
  socket.write(`\r\n${body}`);
  return socket;
}

/** The data received until a piece of text arrived; then the connection is closed. */
async function receiveAndLeave(baseUrl: string, format: WireFormat, prompt: string): Promise<string> {
  const socket = openRequest(baseUrl, format, prompt).setEncoding('utf8');
  let text = '';
  for await (const part of socket) {
    text += String(part);
    if (text.search(format.pieceEvent) !== -1) break;
  }
  socket.destroy();
  return text;
}

async function until<Value>(read: () => Promise<Value>, isDone: (value: Value) => boolean): Promise<Value> {
  for (let tries = 0; tries < 1000; tries++) {
    const value = await read();
    if (isDone(value)) return value;
    await rest(5);
  }
  throw new Error('it did not come to that');
}

/** The value after many equal reads in a row. */
async function untilSame(read: () => Promise<unknown>): Promise<unknown> {
  let last = await read();
  for (let same = 0, tries = 0; same < 20 && tries < 1000; tries++) {
    await rest(5);
    const value = await read();
    same = value === last ? same + 1 : 0;
    last = value;
  }
  return last;
}

function rest(durationMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, durationMs);
  });
}
