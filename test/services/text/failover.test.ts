/**
 * Upstreams that fail before their answer starts: which upstream answers instead, the charge, the number of calls;
 * and which circuit opens, why, and when it closes.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../../domain/wire-format-name.ts';
import { createAccount } from '../../support/factories.ts';
import { runsAll } from '../../support/properties.ts';
import { REFUSING, useScriptedUpstream } from '../../support/scripted-upstream.ts';
import { eventually, textModel, useTestText, type AskOptions } from '../../support/text.ts';

const PROMPT = 'Say exactly: from the second';
const SILENCE_MS = 250;

type Script = (request: IncomingMessage, response: ServerResponse, format: WireFormatName) => void;

interface Fault {
  readonly name: string;
  /** The kinds of answers in which the fault can occur; both if omitted. */
  readonly of?: 'streams' | 'whole answers';
  /** Whether only the end of the upstream's time shows the fault. */
  readonly isSilence?: true;
  readonly script: Script;
}

const ERRORS: Readonly<Record<WireFormatName, string>> = {
  'chat-completions': '{"error":{"message":"No.","code":"server_error"}}',
  responses: '{"type":"error","code":"server_error","message":"No."}',
  messages: '{"type":"error","error":{"type":"overloaded_error","message":"No."}}',
  'generate-content': '{"error":{"code":503,"status":"UNAVAILABLE","message":"No."}}',
};

/** The part of an answer that upstreams send before they know whether they can answer. */
const ANNOUNCEMENTS: Readonly<Record<WireFormatName, string>> = {
  'chat-completions': '{"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}',
  responses: '{"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}',
  messages: '{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":9,"output_tokens":1}}}',
  'generate-content': '{"responseId":"x","usageMetadata":{"promptTokenCount":9}}',
};

function frame(data: string): string {
  const name = /^\{"type":"([^"]+)"/.exec(data)?.[1];
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${data}\n\n`;
}

/** Sends the start of a successful answer, and then runs the action once it is on its way. */
function begin(response: ServerResponse, text: string, then: () => void = () => {}): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  if (text === '') setImmediate(then);
  else response.write(text, () => setImmediate(then));
}

function statusFault(status: number): Fault {
  return { name: `answers ${status}`, script: (_request, response) => response.writeHead(status).end('{}') };
}

const FAULTS: readonly Fault[] = [
  ...[401, 402, 403, 404, 408, 429, 500, 502, 503, 504, 529].map(statusFault),
  { name: 'resets the connection', script: (request) => request.socket.resetAndDestroy() },
  { name: 'closes the connection', script: (request) => request.socket.destroy() },
  {
    name: 'redirects',
    script: (_request, response) => response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
  },
  {
    name: 'breaks off after its head',
    script: (_request, response) => begin(response, '', () => response.destroy()),
  },
  { name: 'has nothing to say', script: (_request, response) => response.writeHead(200).end() },
  { name: 'talks nonsense', script: (_request, response) => response.writeHead(200).end('data: <html>\n\n') },
  {
    name: 'begins with an error',
    of: 'streams',
    script: (_request, response, format) => response.writeHead(200).end(frame(ERRORS[format])),
  },
  {
    name: 'announces its answer, and then tells an error',
    of: 'streams',
    script: (_request, response, format) =>
      begin(response, frame(ANNOUNCEMENTS[format]), () => response.end(frame(ERRORS[format]))),
  },
  {
    name: 'announces its answer, and breaks off',
    of: 'streams',
    script: (_request, response, format) => begin(response, frame(ANNOUNCEMENTS[format]), () => response.destroy()),
  },
  { name: 'is silent', isSilence: true, script: () => {} },
  { name: 'sends its head and is silent', isSilence: true, script: (_request, response) => begin(response, '') },
  {
    name: 'falls silent in its head',
    isSilence: true,
    script: ({ socket }) => void socket.write('HTTP/1.1 200 OK\r\ncontent-type: '),
  },
  {
    name: 'falls silent in its answer',
    of: 'whole answers',
    isSilence: true,
    script: (_request, response) => begin(response, '{"choices":['),
  },
  {
    name: 'only keeps the connection open',
    of: 'streams',
    isSilence: true,
    script: (_request, response) => begin(response, ': still here\n\nevent: ping\ndata: {"type":"ping"}\n\n'),
  },
  {
    name: 'answers with an error that looks like a success',
    of: 'whole answers',
    script: (_request, response, format) => response.writeHead(200).end(ERRORS[format]),
  },
  {
    name: 'breaks off in its answer',
    of: 'whole answers',
    script: (_request, response) => begin(response, '{"choices":[', () => response.destroy()),
  },
];

describe('an upstream that fails before its answer starts', () => {
  /** The answer of the first upstream, and the key and model of the requests that it received. */
  let script: Script;
  let calls: { readonly key: string; readonly model: string }[] = [];
  /** A key of another account. */
  let stranger: string | undefined;
  /** The clock of the upstreams' health. */
  let nowMs = 1_800_000_000_000;

  const first = useScriptedUpstream((request, response, body) => {
    const { headers, url = '' } = request;
    const key = [headers.authorization, headers['x-api-key'], headers['x-goog-api-key']].find(Boolean);
    // Genway sends a request of the format.
    const { model = url } = JSON.parse(body) as { model?: string };
    calls.push({ key: String(key).replace('Bearer ', ''), model });
    script(request, response, formatOf(url));
  });
  const text = useTestText(() => {
    const { baseUrls } = first;
    return {
      upstreamClock: () => nowMs,
      // Clients wait before Genway calls the next upstream.
      settings: { keepAliveMs: SILENCE_MS / 5 },
      upstreams: [
        { name: 'first', apiKeys: ['k-1'], baseUrls },
        // On a busy machine, other answers would come too late for it.
        { name: 'silent', apiKeys: ['k-1'], baseUrls, firstByteTimeoutMs: SILENCE_MS, silenceTimeoutMs: SILENCE_MS },
        { name: 'several', apiKeys: ['k-1', 'k-2'], baseUrls },
        { name: 'dead', apiKeys: ['k-dead'], baseUrls: REFUSING },
      ],
      models: [
        ...WIRE_FORMAT_NAMES.flatMap((format) => [
          textModel(`over-${format}`, [{ format, provider: 'first' }, { format }]),
          textModel(`over-silent-${format}`, [{ format, provider: 'silent' }, { format }]),
          textModel(`past-dead-${format}`, [{ format, provider: 'dead' }, { format }]),
          textModel(`alone-${format}`, [{ format }]),
        ]),
        textModel('neighbour', [{ format: 'chat-completions', provider: 'first' }, { format: 'chat-completions' }]),
        textModel('only-first', [{ format: 'chat-completions', provider: 'first' }]),
        textModel('only-silent', [{ format: 'chat-completions', provider: 'silent' }]),
        textModel('two-keys', [{ format: 'chat-completions', provider: 'several' }, { format: 'chat-completions' }]),
        textModel('two-keys-too', [
          { format: 'chat-completions', provider: 'several' },
          { format: 'chat-completions' },
        ]),
        textModel(
          'five-routes',
          ['a', 'b', 'c', 'd', 'e'].map((model) => ({ format: 'chat-completions', provider: 'first', model })),
        ),
        textModel('cannotExpress', [{ format: 'messages', provider: 'first' }, { format: 'chat-completions' }]),
      ],
    };
  });

  beforeEach(() => {
    text.resumeUpstreams();
    text.outcomes.length = 0;
    calls = [];
  });

  /** Sends a request, and waits until it is settled. */
  async function ask(
    model: string,
    { format = 'chat-completions', ...options }: AskOptions & { readonly format?: WireFormatName } = {},
  ): Promise<{ readonly status: number; readonly body: string; readonly retryAfter: string | null }> {
    const response = await text.ask(format, model, PROMPT, options);
    const body = await response.text();
    await text.idle();
    return { status: response.status, body, retryAfter: response.headers.get('retry-after') };
  }

  /** Sends a request of another account. */
  async function askAsStranger(model: string, user = 'stranger'): Promise<void> {
    stranger ??= await text.createKey({}, (await createAccount(text.database, { fundedUsd: 100 })).id);
    const body = { model, user, messages: [{ role: 'user', content: PROMPT }] };
    await (await text.post('/v1/chat/completions', body, { apiKey: stranger })).text();
    await text.idle();
  }

  async function lastCharge(): Promise<{
    readonly charge: string;
    readonly upstream: string;
    readonly outcome: string;
  }> {
    await text.idle();
    return text.database('text_requests').orderBy('id', 'desc').first('charge', 'upstream', 'outcome');
  }

  for (const [index, upstream] of WIRE_FORMAT_NAMES.entries()) {
    describe(`and speaks ${upstream}`, () => {
      const clients = [upstream, upstream === 'messages' ? 'chat-completions' : 'messages'] as const;

      /** Without `--all`, only streams or only whole answers are converted. */
      const clientsOf = (stream: boolean): readonly WireFormatName[] =>
        runsAll ? clients : [stream === (index % 2 === 0) ? clients[0] : clients[1]];

      const charges = new Map<string, string>();

      /** The price of the answer when the second upstream is the only one. */
      async function chargeAlone(format: WireFormatName, stream: boolean): Promise<string> {
        const name = `${format} ${stream}`;
        if (!charges.has(name)) {
          await ask(`alone-${upstream}`, { format, stream });
          charges.set(name, (await lastCharge()).charge);
        }
        return charges.get(name) ?? '';
      }

      /** Asserts that the second upstream answers, and that its answer has the price that it has alone. */
      async function expectSecond(model: string, asked: number, streams: readonly boolean[]): Promise<void> {
        for (const stream of streams) {
          for (const format of clientsOf(stream)) {
            const charge = await chargeAlone(format, stream);
            text.resumeUpstreams();
            calls = [];
            const { status, body } = await ask(model, { format, stream });
            expect(status, body).to.equal(200);
            expect(body)
              .to.contain('second')
              .and.not.match(/"(resp_1|msg_1)"|svc_error/);
            expect(calls).to.have.length(asked);
            expect(await lastCharge()).to.deep.equal({ charge, upstream: 'simulator', outcome: 'succeeded' });
          }
        }
      }

      it('an upstream that cannot be reached is followed by the next', () =>
        // contract 7.2:28
        expectSecond(`past-dead-${upstream}`, 0, [false, true]));

      for (const fault of FAULTS) {
        it(`an upstream that ${fault.name} is followed by the next`, async () => {
          // contract 7.2:28
          script = fault.script;
          const streams = [false, true].filter((stream) => fault.of !== (stream ? 'whole answers' : 'streams'));
          await expectSecond(`over-${fault.isSilence ? 'silent-' : ''}${upstream}`, 1, streams);
        });
      }

      for (const status of [400, 413, 422]) {
        it(`an upstream that refuses the request with ${status} is not followed by the next`, async () => {
          // contract 7.2:28
          script = (_request, response) => response.writeHead(status).end('{}');
          const asked = await ask(`over-${upstream}`);
          expect([asked.status, calls.length]).to.deep.equal([400, 1]);
          expect(await lastCharge()).to.deep.include({ charge: '0', outcome: 'failed' });
        });
      }
    });
  }

  it('is followed by at most two others, each called once', async () => {
    // contract 7.2:28
    script = (_request, response) => response.writeHead(500).end();
    expect((await ask('five-routes')).status).to.equal(503);
    expect(calls.map(({ model }) => model)).to.deep.equal(['a', 'b', 'c']);
    expect(await lastCharge()).to.deep.include({ charge: '0', outcome: 'failed' });
  });

  it('is reported by an error event once a keep-alive was sent', async () => {
    script = (_request, response) => begin(response, ': still here\n\n');
    const { status, body } = await ask('only-silent', { stream: true });
    expect(status).to.equal(200);
    expect(body)
      .to.match(/^: keep-alive\n\n/)
      .and.match(/data: \{"error":.*"processing_timeout"\}\}\n\n$/);
    expect(await lastCharge()).to.deep.include({ charge: '0', outcome: 'failed' });
  });

  it('is skipped where its format cannot express the request', async () => {
    script = (_request, response) => response.end('{}');
    const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
    const body = {
      model: 'cannotExpress',
      messages: [{ role: 'user', content: [{ type: 'text', text: PROMPT }, sound] }],
    };
    expect(await (await text.post('/v1/chat/completions', body)).text()).to.contain('second');
    expect(calls).to.have.length(0);
  });

  it('makes its client wait if any upstream requested a wait, for the shortest time', async () => {
    // contract 7.2:29
    script = (_request, response) => {
      const waits: Readonly<Record<string, string>> = { a: '9', b: '4' };
      const wait = waits[calls.at(-1)?.model ?? ''];
      if (wait === undefined) response.writeHead(500).end();
      else response.writeHead(429, { 'retry-after': wait }).end();
    };
    expect(await ask('five-routes')).to.include({ status: 429, retryAfter: '4' });
  });

  it('passes on its message about the request, without the parts that do not concern the client', async () => {
    // contract 7.2:27
    const tell = (message: string): void => {
      script = (_request, response) => response.writeHead(400).end(JSON.stringify({ error: { message } }));
    };
    tell("Invalid 'temperature': only-first takes at most 2. See https://vendor.example/docs.");
    expect((await ask('only-first')).body)
      .to.contain("Invalid 'temperature': … takes at most 2.")
      .and.not.contain('vendor');
    tell('Your organization org-42 has no access to it.');
    expect((await ask('only-first')).body)
      .to.contain('refused')
      .and.not.match(/org|access/);
  });

  it('leaves a line in the log for each attempt, and counts it', async () => {
    script = (_request, response) =>
      response.writeHead(401).end('{"error":{"message":"Incorrect API key provided:\\nsk-proj-abcdefgh12345678."}}');
    await ask('over-chat-completions');
    const lines = text
      .logged()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const attempts = lines.filter(({ msg }) => msg === 'upstream attempt').slice(-2);
    expect(attempts).to.containSubset([
      { upstream: 'first', key: '…k-1', status: 401, fault: 'key_refused', decision: 'next' },
      { upstream: 'simulator', decision: 'answered' },
    ]);
    expect(attempts[0]?.['vendor_message']).to.equal('Incorrect API key provided: [secret]');
    expect(await text.measured()).to.contain(
      'genway_text_attempts_total{upstream="first",model="over-chat-completions",fault="key_refused",decision="next"}',
    );
  });

  describe('the circuit of an upstream', () => {
    const healthy: Script = (_request, response) =>
      response.end('{"choices":[{"message":{"content":"from the first"},"finish_reason":"stop"}]}');
    const failing: Script = (_request, response) => response.writeHead(500).end();

    /** Sends a request, and returns which upstreams were called. */
    async function askedFor(model: string, times = 1): Promise<string[]> {
      calls = [];
      for (let count = 0; count < times; count += 1) await ask(model);
      return calls.map((call) => call.model);
    }

    async function makeRest(model = 'over-chat-completions'): Promise<void> {
      script = failing;
      expect(await askedFor(model, 5)).to.have.length(5);
      expect(await askedFor(model)).to.deep.equal([]);
    }

    it('opens after five failures in a row, without the circuits of other models', async () => {
      await makeRest();
      script = healthy;
      expect((await ask('neighbour')).body).to.contain('from the first');
      expect(await askedFor('over-chat-completions')).to.deep.equal([]);
    });

    it('stays open until one request has probed the upstream, while others take the next', async () => {
      await makeRest('over-chat-completions');
      nowMs += 10_000;
      let answer = (): void => {};
      script = (request, response, format) => (answer = () => healthy(request, response, format));
      calls = [];
      const trial = text.ask('chat-completions', 'over-chat-completions', PROMPT);
      await eventually(() => calls.length === 1);
      const others = await Promise.all(
        Array.from({ length: 24 }, async () =>
          (await text.ask('chat-completions', 'over-chat-completions', PROMPT)).text(),
        ),
      );
      expect(others.every((body) => body.includes('second'))).to.equal(true);
      expect(calls).to.have.length(1);
      answer();
      expect(await (await trial).text()).to.contain('first');
      script = healthy;
      expect(await askedFor('over-chat-completions', 3)).to.have.length(3);
    });

    it('opens when streams start and break off', async () => {
      const begun = frame('{"choices":[{"index":0,"delta":{"content":"Hi"}}]}');
      script = (_request, response) => begin(response, begun, () => response.destroy());
      for (let count = 0; count < 5; count += 1) await ask('over-chat-completions', { stream: true });
      expect(await askedFor('over-chat-completions')).to.deep.equal([]);
    });

    it('does not open after errors of requests', async () => {
      script = (_request, response) => response.writeHead(400).end();
      expect(await askedFor('over-chat-completions', 8)).to.have.length(8);
    });

    for (const [kind, stream, tooShortMs, longMs, times] of [
      ['a stream', true, 9_000, 10_000, 5],
      ['a whole answer', false, 14_000, 20_000, 8],
    ] as const) {
      it(`does not open after clients that leave ${kind} at once, but after ${times} in a row that waited ${longMs / 1000} seconds in vain`, async () => {
        const hanging: ServerResponse[] = [];
        script = (_request, response) => void hanging.push(response);
        const leaveAfter = async (waitMs: number): Promise<void> => {
          const leaving = new AbortController();
          const answer = text.ask('chat-completions', 'two-keys', PROMPT, { stream, signal: leaving.signal });
          const asked = hanging.length;
          await eventually(() => hanging.length === asked + 1);
          nowMs += waitMs;
          leaving.abort();
          await answer.catch(() => null);
        };
        for (let count = 0; count < times + 2; count += 1) await leaveAfter(tooShortMs);
        for (let count = 0; count < times; count += 1) await leaveAfter(longMs);
        await expectSecond(hanging);
      });
    }

    /** Expects the next upstream to answer, and ends the requests that hang. */
    async function expectSecond(hanging: readonly ServerResponse[]): Promise<void> {
      // Genway learns with a delay that the last client left.
      await eventually(async () => {
        const asked = hanging.length;
        const leaving = new AbortController();
        const answer = text.ask('chat-completions', 'two-keys', PROMPT, { signal: leaving.signal });
        const told = await Promise.race([
          answer.then((response) => response.text()),
          eventually(() => hanging.length > asked),
        ]);
        leaving.abort();
        return told?.includes('second') === true;
      });
      for (const response of hanging) response.destroy();
      await text.idle();
    }

    for (const status of [403, 404]) {
      it(`opens after ${status} only when two accounts received it: one may have requested a file that does not exist`, async () => {
        script = (_request, response) => response.writeHead(status).end('{}');
        expect(await askedFor('over-chat-completions', 8)).to.have.length(8);
        await askAsStranger('over-chat-completions');
        expect(await askedFor('over-chat-completions', 2)).to.have.length(0);
      });

      it(`does not open after ${status} when any request succeeded between two accounts that received it`, async () => {
        const refused: Script = (_request, response) => response.writeHead(status).end('{}');
        script = refused;
        await askedFor('over-chat-completions', 1);
        script = healthy;
        await askedFor('over-chat-completions', 1);
        script = refused;
        await askAsStranger('over-chat-completions');
        expect(await askedFor('over-chat-completions', 1)).to.have.length(1);
      });
    }

    it('stays open for the time that the upstream requested, but the upstream is called anyway if it is the only one', async () => {
      script = (_request, response) => response.writeHead(503, { 'retry-after': '30' }).end();
      expect(await askedFor('over-chat-completions', 3)).to.have.length(1);
      expect(await ask('only-first')).to.include({ status: 503, retryAfter: '30' });
      nowMs += 12_000;
      script = failing;
      expect(await ask('only-first')).to.include({ status: 503, retryAfter: '18' });
      script = healthy;
      expect((await ask('only-first')).body).to.contain('from the first');
      expect(await askedFor('only-first', 2)).to.have.length(2);
    });
  });

  describe('with several keys', () => {
    const keysUsed = async (model: string): Promise<string[]> => {
      calls = [];
      await ask(model);
      return calls.map(({ key }) => key);
    };
    /** Makes the upstream refuse a request of another account with that key. */
    const refuseStranger = async (model: string, key: string): Promise<void> => {
      for (let user = 0; user < 50; user += 1) {
        calls = [];
        await askAsStranger(model, `user ${user}`);
        if (calls[0]?.key === key) return;
      }
      throw new Error('no user of the other account goes to that key first');
    };
    const answerByKey = (refused: string, status: number): void => {
      script = (_request, response) => {
        if (calls.at(-1)?.key === refused) response.writeHead(status).end();
        else response.end('{"choices":[{"message":{"content":"from the first"},"finish_reason":"stop"}]}');
      };
    };

    for (const status of [401, 402]) {
      it(`opens the circuit of a key refused with ${status} for all models, and uses the other keys`, async () => {
        answerByKey('', 200);
        const [preferred = ''] = await keysUsed('two-keys');
        const [other = ''] = ['k-1', 'k-2'].filter((key) => key !== preferred);
        answerByKey(preferred, status);
        expect(await keysUsed('two-keys')).to.deep.equal([preferred, other]);
        expect(await keysUsed('two-keys')).to.deep.equal([other]);
        expect(await keysUsed('two-keys-too')).to.deep.equal([other]);
      });
    }

    for (const status of [403, 429]) {
      it(`opens the circuit of a key that is refused a model with ${status} for that model`, async () => {
        answerByKey('', 200);
        const [preferred = ''] = await keysUsed('two-keys');
        const [other = ''] = ['k-1', 'k-2'].filter((key) => key !== preferred);
        answerByKey(preferred, status);
        expect(await keysUsed('two-keys')).to.deep.equal([preferred, other]);
        if (status === 403) await refuseStranger('two-keys', preferred);
        expect(await keysUsed('two-keys')).to.deep.equal([other]);
        answerByKey('', 200);
        expect(await keysUsed('two-keys-too')).to.deep.equal([preferred]);
      });
    }

    it('does not try another key where the model is at fault', async () => {
      script = (_request, response) => response.writeHead(500).end();
      expect(await keysUsed('two-keys')).to.have.length(1);
    });

    it('uses the same key for all requests of a conversation', async () => {
      answerByKey('', 200);
      const keyFor = async (conversation: string): Promise<string> => {
        const body = { model: 'two-keys', prompt_cache_key: conversation, messages: [{ role: 'user', content: 'Hi' }] };
        await (await text.post('/v1/chat/completions', body)).text();
        return calls.at(-1)?.key ?? '';
      };
      const conversations = Array.from({ length: 12 }, (_, index) => `conversation ${index}`);
      const keys: string[] = [];
      for (const conversation of conversations) keys.push(await keyFor(conversation));
      expect(new Set(keys)).to.deep.equal(new Set(['k-1', 'k-2']));
      for (const [index, conversation] of conversations.entries()) {
        expect(await keyFor(conversation)).to.equal(keys[index]);
      }
    });
  });
});

function formatOf(url: string): WireFormatName {
  if (url.startsWith('/v1beta')) return 'generate-content';
  if (url.endsWith('/messages')) return 'messages';
  return url.endsWith('/responses') ? 'responses' : 'chat-completions';
}
