/** Clients that leave, clients that are slow, answers that take long: contract 8.3, and their settlement. */
import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../../domain/wire-format-name.ts';
import { baseUrlsAt } from '../../../providers/text/settings.ts';
import { FORMATS } from '../../../text/formats.ts';
import { type LocalServer, serveLocally } from '../../../lab/stack/local-server.ts';
import { runsAll } from '../../support/properties.ts';
import {
  ASK,
  eventually,
  modelVia,
  startTestText,
  textModel,
  type TestText,
  type TestTextOptions,
} from '../../support/text.ts';
import { createDrivers } from './sdk-drivers.ts';

const SEVENTY_WORDS = 'and so it went on and on '.repeat(10);

/** The first parts of streams, and how many of their tokens the clients received. */
const BEGINNINGS: readonly [WireFormatName, string, readonly string[], number][] = [
  [
    'messages',
    'said one token at the start',
    [
      '{"type":"message_start","message":{"usage":{"input_tokens":11,"output_tokens":1}}}',
      '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
      `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${SEVENTY_WORDS}LAST"}}`,
    ],
    71,
  ],
  [
    'messages',
    'counted on the way what it does not show',
    [
      '{"type":"message_start","message":{"usage":{"input_tokens":11,"output_tokens":1}}}',
      '{"type":"message_delta","delta":{},"usage":{"output_tokens":250}}',
      '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"LAST"}}',
    ],
    1,
  ],
  [
    'generate-content',
    'counts its thinking in every event',
    [100, 300].map(
      (thoughts) =>
        `{"candidates":[{"content":{"parts":[{"text":"${thoughts === 300 ? 'LAST' : 'x '}"}]}}],"usageMetadata":` +
        `{"promptTokenCount":11,"candidatesTokenCount":5,"thoughtsTokenCount":${thoughts},"totalTokenCount":${thoughts + 16}}}`,
    ),
    2,
  ],
  [
    'responses',
    'counts at the end only',
    [`{"type":"response.output_text.delta","output_index":0,"delta":"${SEVENTY_WORDS}LAST"}`],
    71,
  ],
];

const MESSAGE = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'LAST', annotations: [] }],
};

function frame(event: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Streams of upstreams: until the answer starts, and the rest. */
const STREAMS = {
  responses: [
    frame({
      type: 'response.created',
      sequence_number: 0,
      response: { id: 'resp_1', status: 'in_progress', output: [] },
    }) + frame({ type: 'response.output_item.done', sequence_number: 1, output_index: 0, item: MESSAGE }),
    frame({
      type: 'response.completed',
      sequence_number: 2,
      response: { id: 'resp_1', status: 'completed', output: [MESSAGE], usage: { input_tokens: 11, output_tokens: 1 } },
    }),
  ],
  messages: [
    frame({ type: 'message_start', message: { usage: { input_tokens: 11, output_tokens: 1 } } }) +
      frame({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'LAST' } }),
    frame({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }) +
      frame({ type: 'message_stop' }),
  ],
};

describe('text endpoints', () => {
  let text: TestText;
  let upstream: LocalServer;
  let script: RequestListener;
  /** Answers that the upstream started, and promises that resolve when their connections close. */
  let answers: ServerResponse[] = [];
  let closed: Promise<unknown>[] = [];

  async function start(options: TestTextOptions = {}): Promise<void> {
    upstream = await serveLocally((request, response) => {
      answers.push(response);
      closed.push(once(response, 'close'));
      request.resume().once('end', () => script(request, response));
    });
    text = await startTestText({
      ...options,
      upstreams: [{ name: 'scripted', apiKeys: ['sk-scripted'], baseUrls: baseUrlsAt(upstream.url) }],
      models: [
        ...WIRE_FORMAT_NAMES.map((format) => textModel(`texta-${format}`, [{ format, provider: 'scripted' }])),
        ...WIRE_FORMAT_NAMES.map((format) =>
          textModel(`texta-full-${format}`, [{ format, provider: 'scripted' }], { compatibility: 'full' }),
        ),
        textModel('texta-free', [{ format: 'messages', provider: 'scripted' }], { free: true }),
        textModel('texta-twice', [
          { format: 'messages', provider: 'scripted' },
          { format: 'chat-completions', provider: 'scripted' },
        ]),
      ],
    });
  }

  async function stop(): Promise<void> {
    await text.stop();
    await upstream.close();
  }

  beforeEach(() => {
    answers = [];
    closed = [];
  });

  /** The charge of each request, in the order of settlement. */
  async function charges(): Promise<readonly { outcome: string; input: number; output: number; charge: bigint }[]> {
    await text.idle();
    const rows: { outcome: string; input_tokens: string; output_tokens: string; charge: string }[] = await text
      .database('text_requests')
      .orderBy('id')
      .select('outcome', 'input_tokens', 'output_tokens', 'charge');
    return rows.map(({ outcome, input_tokens, output_tokens, charge }) => ({
      outcome,
      input: Number(input_tokens),
      output: Number(output_tokens),
      charge: BigInt(charge),
    }));
  }

  /** Leaves, and waits until the service has noticed. */
  async function leave(leaving: AbortController): Promise<void> {
    const before = text.departures();
    leaving.abort();
    await eventually(() => text.departures() > before);
  }

  describe('clients that leave', () => {
    before(() => start());
    after(stop);

    beforeEach(() => {
      text.outcomes.length = 0;
    });

    /** Without `--all`, the upstream's format is that of the client, or the next. */
    const viasOf = (client: number): readonly WireFormatName[] =>
      runsAll ? WIRE_FORMAT_NAMES : [...WIRE_FORMAT_NAMES, ...WIRE_FORMAT_NAMES].slice(client, client + 2);

    for (const [index, format] of WIRE_FORMAT_NAMES.entries()) {
      for (const stream of [false, true]) {
        it(`clients that leave before the first byte of ${stream ? 'a stream' : 'a whole answer'} of ${format} are charged as if they had stayed`, async () => {
          // contract 8.3:12
          for (const via of viasOf(index)) {
            const promptOf = (delayMs: number): string =>
              `[sim:tokens=30,reasoning=5,delay_ms=${delayMs},prompt=11] ${via} ${stream}`;
            await (await text.ask(format, modelVia(via), promptOf(0), { stream })).text();
            await text.idle();
            const [stayed] = text.outcomes.splice(0);
            // On a slow machine, the first byte may arrive before the client leaves.
            let tries = 0;
            const left = await eventually(async () => {
              const leaving = new AbortController();
              const prompt = `${promptOf(200)} ${(tries += 1)}`;
              const asked = text
                .ask(format, modelVia(via), prompt, { stream, signal: leaving.signal })
                .catch(() => null);
              await eventually(async () => JSON.stringify((await text.seen(1))[0]?.body ?? '').includes(prompt));
              leaving.abort();
              await asked;
              await text.idle();
              const [outcome] = text.outcomes.splice(0);
              return outcome?.firstByteMs === null ? outcome : undefined;
            });
            expect(stayed).to.deep.include({ status: 'succeeded' });
            expect(left).to.deep.include({ status: 'disconnected', errorCode: null });
            expect(left.usage).to.deep.equal(stayed?.usage);
            expect(left.upstream).to.deep.equal(stayed?.upstream);
            expect((await text.seen(1))[0]?.aborted).to.equal(false);
          }
        });
      }

      it(`clients that leave in the middle of a stream of ${format} are charged as if they had stayed`, async () => {
        // contract 8.3:12
        for (const via of viasOf(index)) {
          const prompt = '[sim:tokens=40,reasoning=0,chunk_ms=4,prompt=11]';
          await (await text.ask(format, modelVia(via), prompt, { stream: true })).text();
          await text.idle();
          const leaving = new AbortController();
          const response = await text.ask(format, modelVia(via), prompt, { stream: true, signal: leaving.signal });
          const reader = response.body?.getReader();
          await reader?.read();
          await reader?.read();
          leaving.abort();
          await text.idle();
          const [stayed, left] = text.outcomes.splice(0);
          expect(left).to.deep.include({ status: 'disconnected', errorCode: null });
          expect(left?.usage).to.deep.equal(stayed?.usage);
          expect(left?.countedOutputTokens).to.equal(stayed?.usage?.outputTotal);
          expect(left?.firstByteMs).to.be.a('number');
          expect((await text.seen(1))[0]?.aborted).to.equal(false);
        }
      });
    }

    it('clients that leave while their stream waits behind another on the same connection are charged as if they had stayed', async () => {
      const payloadOf = (prompt: string): string =>
        JSON.stringify(ASK['chat-completions'](modelVia('chat-completions'), prompt, true).body);
      const first = payloadOf('[sim:tokens=10,delay_ms=1500]');
      const second = payloadOf('[sim:tokens=20000,reasoning=0]');
      const heads = [first, second].map((payload) => ({ 'content-length': String(payload.length) }));
      const { path } = ASK['chat-completions']('', '', true);
      const held = text.charges.length;
      const socket = await rawRequest(text, path, first, { ...heads[0] });
      socket.write(requestText(text, path, second, { ...heads[1] }));
      await eventually(() => text.charges.length === held + 2);
      // The second answer is longer than its buffer.
      await new Promise((resolve) => setTimeout(resolve, 300));
      socket.destroy();
      await text.idle();
      expect(text.outcomes.map(({ status }) => status)).to.deep.equal(['disconnected', 'disconnected']);
      expect(text.outcomes.map(({ usage }) => usage?.outputTotal)).to.have.members([10, 20_000]);
    });

    it('clients that leave between the last text and the usage are charged the hidden reasoning', async () => {
      let end = (): void => {};
      script = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(
          frame({ type: 'response.created', response: { id: 'resp_1' } }) +
            frame({ type: 'response.output_item.added', output_index: 0, item: MESSAGE }) +
            frame({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'LAST' }) +
            frame({ type: 'response.output_item.done', output_index: 0, item: MESSAGE }),
        );
        const usage = { input_tokens: 11, output_tokens: 50_000, total_tokens: 50_011 };
        const whole = { id: 'resp_1', status: 'completed', output: [MESSAGE], usage };
        end = () => void response.end(frame({ type: 'response.completed', response: whole }));
      };
      for (const client of WIRE_FORMAT_NAMES) {
        const { path, body } = ASK[client]('texta-responses', 'Hi', true);
        const bound = { max_tokens: 60_000 };
        const leaving = new AbortController();
        const sent = client === 'messages' ? { ...body, ...bound } : body;
        const response = await text.post(path, sent, { signal: leaving.signal });
        await readUntil(response, 'LAST');
        await leave(leaving);
        end();
        await text.idle();
        expect((await charges()).at(-1)).to.include({ outcome: 'disconnected', input: 11, output: 50_000 });
      }
    });

    it('clients that leave are charged nothing when the upstream fails after that, as if they had stayed', async () => {
      let fail = (): void => {};
      script = (_request, response) => {
        response.writeHead(200).write(': thinking\n\n');
        fail = () => void response.destroy();
      };
      for (const client of WIRE_FORMAT_NAMES) {
        answers = [];
        const leaving = new AbortController();
        const asked = text
          .ask(client, 'texta-messages', 'Hi', { stream: true, signal: leaving.signal })
          .catch(() => null);
        await eventually(() => answers[0]?.headersSent === true);
        await leave(leaving);
        await asked;
        fail();
        await text.idle();
        expect((await charges()).at(-1)).to.include({ outcome: 'failed', charge: 0n });
      }
    });

    it('clients that leave a free model end the upstream call at once', async () => {
      // contract 8.3:12
      script = (_request, response) => response.writeHead(200).write(': thinking\n\n');
      const leaving = new AbortController();
      const asked = text.ask('messages', 'texta-free', 'Hi', { stream: true, signal: leaving.signal });
      await eventually(() => answers[0]?.headersSent === true);
      leaving.abort();
      await asked.catch(() => {});
      await closed[0];
      await text.idle();
      expect(text.outcomes).to.containSubset([{ status: 'disconnected' }]);
    });

    it('the request of a client that left goes to no other upstream', async () => {
      let refuse = (): void => {};
      script = (_request, response) => {
        refuse = () => void response.writeHead(503).end('{}');
      };
      const leaving = new AbortController();
      const asked = text.ask('messages', 'texta-twice', 'Hi', { signal: leaving.signal }).catch(() => null);
      await eventually(() => answers.length === 1);
      await leave(leaving);
      await asked;
      refuse();
      await text.idle();
      expect(answers).to.have.length(1);
      expect((await charges()).at(-1)).to.include({ outcome: 'disconnected', charge: 0n });
    });

    it('a request whose client leaves before its body is complete never calls the model', async () => {
      for (let count = 0; count < 20; count += 1) {
        const headers = { 'content-length': '1000', expect: '100-continue' };
        const socket = await rawRequest(text, '/v1/messages', '{"model":', headers);
        // The server has the request when it answers 100 Continue.
        await once(socket, 'data');
        socket.destroy();
      }
      await text.idle();
      expect(answers).to.have.length(0);
      expect(text.outcomes).to.have.length(0);
    });
  });

  describe('an upstream that does not complete after the client left', () => {
    before(() => start({ settings: { readOnMs: 200 } }));
    after(stop);

    /** The largest possible loss of the operator, in USD. */
    async function possibleLoss(): Promise<number> {
      const line = /^genway_text_possible_loss_usd_total\{upstream="scripted"\} (.*)$/m.exec(await text.measured());
      return Number(line?.[1] ?? 0);
    }

    /** @param said the part of the answer that the upstream sends; null for not even the headers */
    async function leaveBehind(model: string, stream: boolean, said: string | null): Promise<void> {
      script = (_request, response) => {
        if (said === null) return;
        response.writeHead(200).flushHeaders();
        if (said !== '') response.write(said);
      };
      answers = [];
      const leaving = new AbortController();
      const asked = text.ask('messages', model, 'Hi', { stream, signal: leaving.signal });
      await eventually(() => answers.length === 1 && answers[0]?.headersSent === (said !== null));
      leaving.abort();
      await asked.catch(() => {});
      await closed.at(-1);
      await text.idle();
    }

    const announcement = frame({ type: 'message_start', message: { usage: { input_tokens: 11 } } });
    const keepAlives = [null, ': still here\n\n', 'event: ping\ndata: {"type":"ping"}\n\n'];
    for (const [what, model, stream, beginnings] of [
      ['a whole answer', 'texta-messages', false, ['{"content":', '\n{']],
      ['a stream that was announced', 'texta-messages', true, [announcement]],
    ] as const) {
      it(`the gateway gives up after a while and charges the whole hold for ${what}`, async () => {
        // contract 8.3:12
        for (const said of beginnings) {
          await leaveBehind(model, stream, said);
          const last = (await charges()).at(-1);
          expect(last).to.include({ outcome: 'disconnected', output: 1_000 });
          expect(last?.input).to.be.within(1, 20);
        }
      });
    }

    for (const [what, model, stream, beginnings] of [
      ['a whole answer', 'texta-messages', false, [null, '', ' \n']],
      ['a stream of a format that announces answers', 'texta-messages', true, keepAlives],
      ['a stream of a model that may think in secret', 'texta-chat-completions', true, keepAlives],
    ] as const) {
      it(`the gateway charges nothing for ${what} of which no byte arrived, and counts the possible loss`, async () => {
        // contract 8.3:12
        for (const said of beginnings) {
          const before = await possibleLoss();
          await leaveBehind(model, stream, said);
          expect((await charges()).at(-1)).to.include({ outcome: 'failed', charge: 0n });
          const { held }: { held: string } = await text.database('text_requests').orderBy('id', 'desc').first('held');
          expect(Number(held)).to.be.above(0);
          expect((await possibleLoss()) - before).to.be.closeTo(Number(held) / 1e12, 1e-9);
        }
      });
    }

    it('the gateway closes the connection to the upstream', async () => {
      script = (_request, response) => response.writeHead(200).write(': still here\n\n');
      answers = [];
      text.outcomes.length = 0;
      const leaving = new AbortController();
      const asked = Array.from({ length: 20 }, () =>
        text.ask('messages', 'texta-messages', 'Hi', { stream: true, signal: leaving.signal }).catch(() => null),
      );
      await eventually(() => answers.length === 20);
      leaving.abort();
      await Promise.all(asked);
      await eventually(() => answers.every((answer) => answer.destroyed));
      await text.idle();
      expect(text.outcomes).to.have.length(20);
    });
  });

  describe('a stream that the service itself cuts', () => {
    for (const [format, habit, events, delivered] of BEGINNINGS) {
      it(`a cut stream charges the delivered part, where an upstream of ${format} ${habit}`, async () => {
        await start();
        const stream = events.map((data) => `event: ${/"type":"([^"]+)"/.exec(data)?.[1]}\ndata: ${data}\n\n`).join('');
        script = (_request, response) => response.writeHead(200).write(stream);
        for (const client of WIRE_FORMAT_NAMES) {
          await readUntil(await text.ask(client, `texta-${format}`, 'Hi', { stream: true }), 'LAST');
        }
        const { outcomes } = text;
        await stop();
        expect(outcomes).to.have.length(WIRE_FORMAT_NAMES.length);
        for (const outcome of outcomes) {
          expect(outcome).to.deep.include({ status: 'disconnected', errorCode: null });
          expect(outcome.usage?.outputTotal ?? null).to.equal(null);
          expect(outcome.countedOutputTokens).to.be.within(delivered, delivered * 1.15 + 1);
        }
      });
    }

    it('a cut stream charges nothing for an answer that was not delivered yet', async () => {
      await start();
      script = (_request, response) => response.writeHead(200).write('{"choices":');
      const asked = text.ask('messages', 'texta-chat-completions', 'Hi').catch(() => null);
      await eventually(() => answers[0]?.headersSent === true);
      const { outcomes } = text;
      await stop();
      await asked;
      expect(outcomes).to.containSubset([{ status: 'disconnected', upstream: null }]);
    });
  });

  describe('a slow client', () => {
    const chunk = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(64 * 1024) } }] })}\n\n`;
    let written = 0;
    const total = 1_000;

    afterEach(stop);

    beforeEach(() => {
      written = 0;
      script = (_request, response) => {
        response.on('error', () => {});
        const more = (): void => {
          while (written < total && !response.destroyed) {
            written += 1;
            if (!response.write(chunk)) return;
          }
          response.end('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
        };
        response.on('drain', more);
        more();
      };
    });

    for (const format of ['chat-completions', 'messages'] as const) {
      it(`a slow client makes the upstream wait as well, and little is buffered (${format})`, async () => {
        await start();
        const socket = await ask(text, format);
        socket.pause();
        await eventually(() => text.outcomes.length === 0 && written > 0);
        let before = -1;
        // The upstream stops as soon as the buffers of the sockets are full.
        await eventually(async () => {
          const halted = written === before;
          before = written;
          await new Promise((resolve) => setTimeout(resolve, 50));
          return halted;
        });
        expect(written).to.be.lessThan(total / 2);
        socket.destroy();
        await text.idle();
        expect(text.outcomes).to.containSubset([{ status: 'disconnected' }]);
      });
    }

    it('a client that reads nothing for too long is cut off', async () => {
      // contract 8.2:9
      await start({ settings: { stallMs: 300 } });
      const socket = await ask(text, 'chat-completions');
      socket.pause();
      await eventually(() => text.outcomes.length === 1);
      expect(text.outcomes).to.containSubset([{ status: 'disconnected' }]);
      await eventually(() => answers[0]?.destroyed === true);
      socket.destroy();
    });

    it('a slow client receives the whole answer in the end', async () => {
      await start({ settings: { stallMs: 300 } });
      const response = await text.ask('chat-completions', 'texta-chat-completions', 'Hi', { stream: true });
      let length = 0;
      for await (const bytes of response.body ?? []) length += bytes.length;
      expect(length).to.be.greaterThan(total * chunk.length);
      await text.idle();
      expect(text.outcomes).to.containSubset([{ status: 'succeeded' }]);
    });
  });

  describe('the limit of a whole answer', () => {
    before(() => start({ settings: { cutoffMs: 200 } }));
    after(stop);

    it('a whole answer beyond the limit ends with 503 processing_timeout, and nothing is charged', async () => {
      // contract 1:9 7.2:15 8.3:1 8.3:11
      script = () => {};
      for (const format of WIRE_FORMAT_NAMES) {
        const response = await text.ask(format, `texta-${format}`, 'Hi');
        expect(response.status).to.equal(503);
        expect(await response.text())
          .to.contain('processing_timeout')
          .and.contain('request id: ');
        await eventually(() => answers.every((answer) => answer.destroyed));
        expect(text.outcomes.splice(0)).to.containSubset([{ status: 'failed', errorCode: 'processing_timeout' }]);
      }
    });

    it('a whole answer that has started is cut off at the limit as well', async () => {
      // contract 8.3:1
      script = (_request, response) => response.writeHead(200).write('{"choices":');
      expect((await text.ask('messages', 'texta-chat-completions', 'Hi')).status).to.equal(503);
      expect(text.outcomes.splice(0)).to.containSubset([{ status: 'failed', errorCode: 'processing_timeout' }]);
    });

    it('a stream continues beyond the limit', async () => {
      // contract 8.3:2
      const prompt = '[sim:tokens=30,chunk_ms=15]';
      const response = await text.ask('responses', modelVia('messages'), prompt, { stream: true });
      expect(await response.text()).to.contain('response.completed');
      await text.idle();
      expect(text.outcomes.splice(0)).to.containSubset([{ status: 'succeeded' }]);
    });
  });

  describe('a silent upstream', () => {
    before(() => start({ settings: { keepAliveMs: 40 } }));
    after(stop);

    for (const format of WIRE_FORMAT_NAMES) {
      const frame = FORMATS[format].client.keepAliveFrame;
      it(`clients of ${format} are sent ${frame === null ? 'nothing' : 'frames that they ignore'} while the upstream is silent`, async () => {
        // contract 8.3:3
        const prompt = 'Say exactly: at last [sim:delay_ms=150,chunk_ms=100]';
        // The simulator also delays the first byte of its answer; only the time after that byte counts as silence.
        const response = await text.ask(format, modelVia('messages'), prompt, { stream: true });
        const body = await response.text();
        expect(body).to.contain('last');
        expect(frame !== null && body.includes(frame)).to.equal(frame !== null);
        if (frame === null) expect(body).to.not.match(/^:|ping/m);
        const sdk = createDrivers(text.baseUrl, text.apiKey).find((driver) => driver.format === format);
        expect(await sdk?.ask(modelVia('messages'), prompt, { stream: true })).to.contain('last');
      });
    }

    for (const format of ['responses', 'messages'] as const) {
      it(`clients of responses get events of the vendor after the first event, and comments before, over ${format}`, async () => {
        // contract 8.3:17
        const [first = '', rest = ''] = STREAMS[format];
        script = (_request, response) =>
          response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': \n\n');
        const response = await text.ask('responses', `texta-full-${format}`, 'Hi', { stream: true });
        const reader = readerOf(response);
        const silence = await reader.readUntil(': keep-alive');
        answers[0]?.write(first);
        const started = await reader.readUntil('event: keepalive');
        answers[0]?.end(rest);
        const all = silence + started + (await reader.readUntil('response.completed'));
        expect(silence).not.to.contain('event:');
        const events = [...all.matchAll(/^data: (.*)$/gm)].map(([, data = '']): unknown => JSON.parse(data));
        const [created, ...later] = events.map((event) => Object(event));
        expect(created.type).to.equal('response.created');
        const before = later.findIndex(({ type }) => type === 'keepalive');
        const { sequence_number: number } = before === 0 ? created : later[before - 1];
        expect(later[before]).to.deep.equal({ type: 'keepalive', sequence_number: number });
      });
    }
  });

  it('settle every request in progress when they stop', async () => {
    await start();
    script = (_request, response) => response.writeHead(200).write(': still here\n\n');
    const asked = text.ask('messages', 'texta-messages', 'Hi', { stream: true }).catch(() => null);
    await eventually(() => answers.length === 1);
    const { outcomes } = text;
    await stop();
    await asked;
    expect(outcomes).to.have.length(1);
  });
});

/** Reads a stream until it has sent some text. */
async function readUntil(response: Response, sign: string): Promise<void> {
  await readerOf(response).readUntil(sign);
}

/** Reads a stream piece by piece: each call returns what the stream has sent since the call before. */
function readerOf(response: Response) {
  const reader = response.body?.getReader();
  return {
    readUntil: async (sign: string): Promise<string> => {
      let told = '';
      while (!told.includes(sign)) {
        const { done = true, value } = (await reader?.read()) ?? {};
        if (done) throw new Error(`the stream ended before ${sign}: ${told}`);
        told += Buffer.from(value ?? []).toString();
      }
      return told;
    },
  };
}

/** A streaming request on a socket that the test reads, after its answer has started. */
async function ask(text: TestText, format: WireFormatName): Promise<Socket> {
  const { path, body } = ASK[format]('texta-chat-completions', 'Hi', true);
  const payload = JSON.stringify(body);
  const socket = await rawRequest(text, path, payload, { 'content-length': String(payload.length) });
  await once(socket, 'data');
  return socket;
}

async function rawRequest(
  text: TestText,
  path: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<Socket> {
  const { port, hostname } = new URL(text.baseUrl);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(requestText(text, path, body, headers));
  return socket;
}

function requestText(text: TestText, path: string, body: string, headers: Readonly<Record<string, string>>): string {
  const { hostname } = new URL(text.baseUrl);
  const lines = Object.entries({
    host: hostname,
    authorization: `Bearer ${text.apiKey}`,
    'content-type': 'application/json',
    'msgfmt-version': '2023-06-01',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}
