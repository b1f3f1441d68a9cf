/** Upstreams that fail for a moment where no other route is available, and upstreams that recover. */
import type { RequestListener } from 'node:http';
import { expect } from 'chai';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../../domain/wire-format-name.ts';
import { baseUrlsAt } from '../../../providers/text/settings.ts';
import { timeoutOf } from '../../../providers/text/text-upstreams.ts';
import { findFreePort } from '../../../bin/stack/ports.ts';
import { serveLocally } from '../../../lab/stack/local-server.ts';
import { eventually } from '../../support/eventually.ts';
import { useScriptedUpstream } from '../../support/scripted-upstream.ts';
import { textModel, useTestText } from '../../support/text.ts';

type Script = RequestListener;

const PROMPT = 'Hello';
const SILENCE_MS = 250;
/** The time within which an upstream that failed for a moment is called once more. */
const MAX_TRANSIENT_MS = 10_000;

const healthy: Script = (_request, response) =>
  response.end('{"model":"vendor-model","choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}');
const status =
  (code: number, headers: Record<string, string> = {}): Script =>
  (_request, response) =>
    response.writeHead(code, headers).end('{}');
const reset: Script = (request) => request.socket.resetAndDestroy();

describe('a text upstream', () => {
  /** The next answers of the upstreams, in the order of the calls; the last one is repeated. */
  let scripts: readonly Script[] = [];
  /** The called upstreams, in order. */
  let asked: string[] = [];
  /** The clock of the upstreams' health. */
  let nowMs = 1_800_000_000_000;

  function answerAs(name: string): RequestListener {
    return (request, response) => {
      const script = scripts[asked.length] ?? scripts.at(-1) ?? healthy;
      asked.push(name);
      script(request, response);
    };
  }

  const [one, two] = [useScriptedUpstream(answerAs('one')), useScriptedUpstream(answerAs('two'))];
  /** Nothing listens there until a test does. */
  let returningPort = 0;
  before(async () => {
    returningPort = await findFreePort();
  });

  const text = useTestText(() => {
    const upstreams = Object.entries({
      one: one.baseUrls,
      silent: one.baseUrls,
      two: two.baseUrls,
      returning: baseUrlsAt(`http://127.0.0.1:${returningPort}`),
    }).map(([name, baseUrls]) => ({
      name,
      apiKeys: [`k-${name}`] as const,
      baseUrls,
      // On a busy machine, other answers would come too late.
      ...(name === 'silent' && { firstByteTimeoutMs: SILENCE_MS, silenceTimeoutMs: SILENCE_MS }),
    }));
    const routesTo = (...providers: readonly string[]) =>
      providers.map((provider) => ({ format: 'chat-completions' as const, provider, model: 'vendor-model' }));
    return {
      upstreamClock: () => nowMs,
      upstreams,
      models: [
        textModel('alone', routesTo('one')),
        textModel('silent', routesTo('silent')),
        textModel('in-pairs', routesTo('one', 'two')),
        textModel('returning-alone', routesTo('returning')),
        textModel('over-returning', routesTo('returning', 'two')),
        ...WIRE_FORMAT_NAMES.map((format) =>
          textModel(`half-${format}`, [
            { format, provider: 'one' },
            { format: 'chat-completions', provider: 'two' },
          ]),
        ),
      ],
    };
  });

  beforeEach(() => {
    text.resumeUpstreams();
    text.outcomes.length = 0;
    scripts = [];
    asked = [];
  });

  async function ask(
    model: string,
    { format = 'chat-completions', stream = false }: { format?: WireFormatName; stream?: boolean } = {},
  ): Promise<{ status: number; body: string }> {
    const response = await text.ask(format, model, PROMPT, { stream });
    const body = await response.text();
    await text.idle();
    return { status: response.status, body };
  }

  function decisions(): unknown[] {
    const lines = text.logged().trim().split('\n');
    return lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === 'upstream attempt')
      .map(({ decision }) => decision);
  }

  /** Makes the first upstream fail until its circuit opens. */
  async function openCircuitOfOne(): Promise<void> {
    scripts = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? status(500) : healthy));
    for (let count = 0; count < 5; count += 1) await ask('in-pairs');
    expect(asked).to.deep.equal(Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? 'one' : 'two')));
    asked = [];
  }

  describe('the only route', () => {
    const transient: readonly (readonly [string, Script])[] = [
      ...[502, 503, 504].map((code) => [`answers ${code}`, status(code)] as const),
      ['resets the connection', reset],
      ['closes the connection', (request) => request.socket.destroy()],
    ];
    for (const [what, script] of transient) {
      it(`the only route is called once more when it ${what}, and no further`, async () => {
        for (const stream of [false, true]) {
          text.resumeUpstreams();
          asked = [];
          scripts = [script, healthy];
          if (!stream) expect((await ask('alone')).status).to.equal(200);
          asked = [];
          scripts = [script];
          expect((await ask('alone', { stream })).status).to.equal(503);
          expect(asked).to.deep.equal(['one', 'one']);
        }
        expect(decisions().slice(-2)).to.deep.equal(['retry', 'refused']);
        expect(text.outcomes.at(-1)).to.include({ status: 'failed' });
      });
    }

    const lasting: readonly (readonly [string, Script])[] = [
      ...[400, 401, 402, 403, 404, 408, 429, 500, 529].map((code) => [`answers ${code}`, status(code)] as const),
      ...[429, 502, 503, 504].map(
        (code) => [`answers ${code} with Retry-After`, status(code, { 'retry-after': '1' })] as const,
      ),
      [
        'breaks off in its answer',
        (_request, response) => response.writeHead(200).write('{"choices":[', () => response.destroy()),
      ],
      [
        'resets the connection after it had time to make an answer',
        (request) => {
          nowMs += MAX_TRANSIENT_MS + 1;
          request.socket.resetAndDestroy();
        },
      ],
    ];
    for (const [what, script] of lasting) {
      it(`the only route is called once when it ${what}`, async () => {
        scripts = [script, healthy];
        expect((await ask('alone')).status).to.be.at.least(400);
        expect(asked).to.deep.equal(['one']);
      });
    }

    it('the only route is called once when it is silent', async () => {
      scripts = [() => {}, healthy];
      expect((await ask('silent')).status).to.equal(503);
      expect(asked).to.deep.equal(['one']);
    });

    it('the only route is called once for each request while its circuit is open', async () => {
      scripts = [status(503)];
      for (let count = 0; count < 5; count += 1) await ask('alone');
      asked = [];
      expect((await ask('alone')).status).to.equal(503);
      expect(asked).to.deep.equal(['one']);
    });
  });

  describe('one of two routes', () => {
    it('one of two routes is replaced by the other when it fails for a moment', async () => {
      scripts = [status(503), healthy];
      expect((await ask('in-pairs')).status).to.equal(200);
      expect(asked).to.deep.equal(['one', 'two']);
    });

    it('one of two routes is called once more when the circuit of the other is open', async () => {
      await openCircuitOfOne();
      scripts = [status(503), healthy];
      expect((await ask('in-pairs')).status).to.equal(200);
      expect(asked).to.deep.equal(['two', 'two']);
    });

    it('one of two routes is called once more at the end when both fail for a moment, and nothing is charged when that call fails', async () => {
      for (const script of [status(503), reset]) {
        text.resumeUpstreams();
        asked = [];
        scripts = [script];
        expect((await ask('in-pairs')).status).to.equal(503);
        expect(asked).to.deep.equal(['one', 'two', 'two']);
        await text.idle();
        const last: { charge: string } = await text.database('text_requests').orderBy('id', 'desc').first('charge');
        expect(last.charge).to.equal('0');
      }
    });
  });

  it('an upstream is called once more after a refused connection only if it is the only route', async () => {
    expect((await ask('returning-alone')).status).to.equal(503);
    expect(decisions().slice(-2)).to.deep.equal(['retry', 'refused']);
    expect((await ask('over-returning')).status).to.equal(200);
    expect(decisions().slice(-2)).to.deep.equal(['next', 'answered']);
  });

  it('gets its traffic back within ten seconds of its recovery, by one probe, however many probes failed before', async () => {
    for (const failedProbes of [0, 1, 5]) {
      text.resumeUpstreams();
      for (let count = 0; count < 5; count += 1) await ask('over-returning');
      for (let probe = 0; probe < failedProbes; probe += 1) {
        nowMs += 10_000;
        expect((await ask('over-returning')).status, 'a probe that fails costs its request nothing').to.equal(200);
        expect(decisions().slice(-2)).to.deep.equal(['next', 'answered']);
      }
      const returned = await serveLocally(answerAs('returning'), returningPort);
      asked = [];
      await ask('over-returning');
      nowMs += 10_000;
      for (let count = 0; count < 3; count += 1) await ask('over-returning');
      expect(asked).to.deep.equal(['two', 'returning', 'returning', 'returning']);
      await returned.close();
    }
  });

  for (const format of WIRE_FORMAT_NAMES) {
    it(`no upstream follows one that cut off a stream of ${format}, and the client receives an error`, async () => {
      scripts = [
        (_request, response) =>
          response.writeHead(200, { 'content-type': 'text/event-stream' }).write(HALVES[format], () => {
            setImmediate(() => response.destroy());
          }),
        healthy,
      ];
      for (const client of WIRE_FORMAT_NAMES) {
        text.resumeUpstreams();
        asked = [];
        const response = await text.ask(client, `half-${format}`, PROMPT, { stream: true });
        const body = await response.text().catch(() => 'broken off');
        await text.idle();
        expect(body, client).to.match(/broken off|result_transfer_failed/);
        expect(asked).to.deep.equal(['one']);
        expect(text.outcomes.at(-1)).to.include({ status: 'failed', errorCode: 'result_transfer_failed' });
      }
    });
  }

  it('an upstream is not named if it answers in place of another: the answer names the purchased model', async () => {
    for (const format of WIRE_FORMAT_NAMES) {
      for (const stream of [false, true]) {
        text.resumeUpstreams();
        asked = [];
        const second: Script = (_request, response) =>
          stream ? response.end(`data: ${STREAMED}\n\ndata: [DONE]\n\n`) : healthy(_request, response);
        scripts = [reset, second];
        const { body } = await ask('in-pairs', { format, stream });
        expect(asked).to.deep.equal(['one', 'two']);
        expect(body)
          .to.match(/"model(Version)?":"in-pairs"/)
          .and.not.contain('vendor-model');
      }
    }
  });

  it('may delay a stream for 30 s and a whole answer for 120 s, unless it or the route sets other limits', () => {
    const upstream = { firstByteTimeoutMs: 5_000, silenceTimeoutMs: 6_000 };
    const route = { firstByteTimeoutMs: 7_000, silenceTimeoutMs: 8_000 };
    const timeout = (
      of: Parameters<typeof timeoutOf>[2],
      whose: Parameters<typeof timeoutOf>[3],
      isStreamed: boolean,
      isWhole = false,
    ) => timeoutOf({ streamed: isStreamed, maxAnswerTokens: null }, { isWhole }, of, whose);
    for (const [of, whose, streamed, whole] of [
      [{}, undefined, 30_000, 120_000],
      [{}, {}, 30_000, 120_000],
      [{}, upstream, 5_000, 6_000],
      [route, upstream, 7_000, 8_000],
      [{ silenceTimeoutMs: 1 }, upstream, 5_000, 1],
    ] as const) {
      expect([timeout(of, whose, true), timeout(of, whose, false)]).to.deep.equal([streamed, whole]);
      expect(timeout(of, whose, true, true), 'a stream of an answer that arrives whole').to.equal(whole);
    }
  });

  it('may delay a whole answer with a bound for as long as a slow model needs, unless it or the route sets a limit', () => {
    for (const [maxAnswerTokens, configured, expectedMs] of [
      [16, {}, 30_800],
      [500, {}, 55_000],
      [1_800, {}, 120_000],
      [100_000, {}, 120_000],
      [16, { silenceTimeoutMs: 90_000 }, 90_000],
    ] as const) {
      expect(timeoutOf({ streamed: false, maxAnswerTokens }, {}, {}, configured)).to.equal(expectedMs);
      expect(timeoutOf({ streamed: false, maxAnswerTokens }, {}, configured, {})).to.equal(expectedMs);
      expect(timeoutOf({ streamed: true, maxAnswerTokens }, {}, configured, {})).to.equal(30_000);
    }
  });

  describe('that asks for a pause because of its load', () => {
    const HISTORY = [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hello.' },
      { role: 'user', content: PROMPT },
    ];
    const converse = async (model: string, messages: readonly object[] = HISTORY): Promise<number> => {
      const response = await text.post('/v1/chat/completions', { model, messages });
      await response.text();
      await text.idle();
      return response.status;
    };
    const busy = (seconds: string): Script => status(429, { 'retry-after': seconds });

    for (const [what, first, messages, expected] of [
      ['answers a conversation after a pause of a second', busy('1'), HISTORY, ['one', 'one']],
      ['answers a conversation after no pause', busy('0'), HISTORY, ['one', 'one']],
      ['loses a conversation for a longer pause', busy('2'), HISTORY, ['one', 'two']],
      ['loses a conversation without a time', status(429), HISTORY, ['one', 'two']],
      ['loses a conversation after a fault', status(503, { 'retry-after': '1' }), HISTORY, ['one', 'two']],
      ['loses a request without history', busy('1'), HISTORY.slice(0, 1), ['one', 'two']],
    ] as const) {
      it(what, async () => {
        scripts = [first, healthy];
        expect(await converse('in-pairs', messages)).to.equal(200);
        expect(asked).to.deep.equal(expected);
      });
    }

    it('is asked once more only, and followed by the next', async () => {
      scripts = [busy('0'), busy('0'), healthy];
      expect(await converse('in-pairs')).to.equal(200);
      expect(asked).to.deep.equal(['one', 'one', 'two']);
      expect(decisions().slice(-3)).to.deep.equal(['retry', 'next', 'answered']);
    });

    it('is waited for as the only route as well', async () => {
      scripts = [busy('0'), healthy];
      expect(await converse('alone')).to.equal(200);
      expect(asked).to.deep.equal(['one', 'one']);
    });
  });

  it('may exceed its limit for a whole answer while bytes arrive', async () => {
    const pieces = ['{"choices":[{"message":', ' ', '{"content":"Hi"},', ' ', '"finish_reason":"stop"}]}'];
    const sendSlowly: Script = (_request, response) => {
      response.writeHead(200);
      const [last, ...others] = pieces.toReversed();
      const send = (): void => {
        const piece = others.pop();
        if (piece === undefined) return void response.end(last);
        response.write(piece);
        setTimeout(send, SILENCE_MS / 2);
      };
      send();
    };
    // On a slow machine, a pause between two pieces may exceed the limit.
    await eventually(async () => {
      text.resumeUpstreams();
      asked = [];
      scripts = [sendSlowly];
      return (await ask('silent')).status === 200 && asked.length === 1;
    });
  });
});

const STREAMED = '{"model":"vendor-model","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}';

/** The first part of a stream, with some text. */
const HALVES: Readonly<Record<WireFormatName, string>> = {
  'chat-completions': 'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n',
  responses:
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hi"}\n\n',
  messages:
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":9,"output_tokens":1}}}\n\n' +
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n' +
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n',
  'generate-content': 'data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}\n\n',
};
