import { connect } from 'node:net';
import { expect } from 'chai';
import { createSimulator, type Simulator } from '../../../simulator/simulator.ts';
import { post, WIRE_FORMATS, type WireAnswer, type WireFormat, type WireQuestion } from './wire.ts';

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
  it('require the version header', async () => {
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
