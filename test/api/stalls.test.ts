import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { call, startTestStack, type TestStack } from '../support/stack.ts';

/**
 * Ten times what an idle machine needs, and a tenth of what each of these once took. The process under attack measures its
 * own event loop (`monitorEventLoopDelay`, by way of its metrics).
 */
const MOST_DELAY_MS = 1_500;
const MIB = 2 ** 20;

const CHAT = '/v1/chat/completions';
const MODEL = 'textg-6-sol';
const list = <Item>(size: number, item: (index: number) => Item): Item[] =>
  Array.from({ length: size }, (_, index) => item(index));
const chat = (messages: readonly object[], more: object = {}): object => ({ model: MODEL, messages, ...more });
const calls = (count: number, idOf: (index: number) => string): object => ({
  role: 'assistant',
  tool_calls: list(count, (index) => ({ id: idOf(index), type: 'function', function: { name: 'f', arguments: '{}' } })),
});
const USER = { role: 'user', content: 'Say exactly: hello' };

/** Requests that each held the process up for seconds. */
const ATTACKS: Readonly<Record<string, { readonly path: string; readonly body: () => object | string }>> = {
  'a link that a regular expression chokes on': {
    path: '/v1beta/models/texth-4-argon:generateContent',
    body: () => ({
      contents: [{ role: 'user', parts: [{ fileData: { fileUri: `https://x/${'.a?'.repeat(40_000)}\n` } }] }],
    }),
  },
  'tool calls whose ids share 61 characters': {
    path: CHAT,
    body: () => chat([USER, calls(4_000, (index) => `${'x'.repeat(61)}${index}.`)]),
  },
  '16,000 of them': { path: CHAT, body: () => chat([USER, calls(16_000, (index) => `${'x'.repeat(61)}${index}.`)]) },
  '60 stop sequences of 40 KB': {
    path: '/v1/messages',
    body: () => ({
      model: MODEL,
      max_tokens: 100,
      messages: [USER],
      stop_sequences: list(60, (index) => 'hel'.repeat(13_000) + String(index)),
    }),
  },
  'tool results of one id': {
    path: CHAT,
    body: () =>
      chat([USER, calls(1, () => 'a'), ...list(8_000, () => ({ role: 'tool', tool_call_id: 'a', content: 'x' }))]),
  },
  '100,000 of them': {
    path: CHAT,
    body: () => chat([USER, ...list(100_000, () => ({ role: 'tool', tool_call_id: 'a', content: 'x' }))]),
  },
  '32 MB of empty objects': {
    path: CHAT,
    body: () => `{"model":"${MODEL}","messages":[],"metadata":[${'{},'.repeat(11 * MIB - 100)}{}]}`,
  },
  '32 MB of text': {
    path: CHAT,
    body: () => chat([{ role: 'user', content: 'Hello, world. '.repeat((31 * MIB) / 14) }]),
  },
  'tool arguments that hold a million values': {
    path: CHAT,
    body: () => {
      const called = { name: 'f', arguments: JSON.stringify({ a: list(1_000_000, () => ({})) }) };
      const call = { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: called }] };
      return { model: 'texth-3.8-flash', messages: [USER, call, { role: 'tool', tool_call_id: 'a', content: 'x' }] };
    },
  },
};

describe('other clients of a process are served', function () {
  this.timeout(300_000);
  const metricsToken = randomBytes(16).toString('hex');
  let stack: TestStack;
  let apiKey: string;
  let poorKey: string;
  let otherKey: string;

  before(async () => {
    stack = await startTestStack({ env: { GENWAY_METRICS_TOKEN: metricsToken } });
    await Promise.all([stack.api.start(), stack.text.start()]);
    ({ apiKey } = await stack.createAccount({ fundedUsd: 1_000 }));
    ({ apiKey: poorKey } = await stack.createAccount({ fundedUsd: 0 }));
    ({ apiKey: otherKey } = await stack.createAccount({ fundedUsd: 10 }));
  });
  after(() => stack.stop());

  async function metric(name: string): Promise<number> {
    const response = await fetch(`${stack.textBaseUrl}/metrics`, {
      headers: { authorization: `Bearer ${metricsToken}` },
    });
    const value = new RegExp(`^${name} (.+)$`, 'm').exec(await response.text())?.[1];
    return Number(value);
  }

  /** The longest that the process was held up while `attack` went on, and other clients' longest wait. */
  async function delayDuring(attack: () => Promise<unknown>): Promise<number> {
    // Each reading begins a new measurement.
    await metric('nodejs_eventloop_lag_max_seconds');
    const attacked = new AbortController();
    const others = (async () => {
      while (!attacked.signal.aborted) {
        const answer = await call(`${stack.textBaseUrl}${CHAT}`, { key: otherKey, body: chat([USER]) });
        expect(answer.status).to.equal(200);
        await sleep(20);
      }
    })();
    await attack().finally(() => attacked.abort());
    await others;
    return (await metric('nodejs_eventloop_lag_max_seconds')) * 1000;
  }

  for (const [what, { path, body }] of Object.entries(ATTACKS)) {
    for (const who of ['an account with money', 'one without'] as const) {
      it(`while ${who} sends ${what}`, async () => {
        const made = body();
        const text = typeof made === 'string' ? made : JSON.stringify(made);
        const delayMs = await delayDuring(async () => {
          const { status } = await call(stack.textBaseUrl + path, {
            key: who === 'one without' ? poorKey : apiKey,
            body: text,
            headers: { 'msgfmt-version': '2023-06-01' },
          });
          expect(status).to.be.oneOf([200, 400, 402, 403, 413]);
        });
        expect(delayMs).to.be.below(MOST_DELAY_MS);
      });
    }
  }

  it('while 24 bodies of 31 MB wait for their last byte, in bounded memory', async () => {
    const before = await metric('process_resident_memory_bytes');
    const sockets: Socket[] = [];
    const delayMs = await delayDuring(async () => {
      await Promise.all(list(24, () => sendAllButTheEnd(sockets)));
      await sleep(1_000);
    });
    const grown = (await metric('process_resident_memory_bytes')) - before;
    for (const socket of sockets) socket.destroy();
    expect(delayMs).to.be.below(MOST_DELAY_MS);
    expect(grown / MIB).to.be.below(500);
  });

  async function sendAllButTheEnd(sockets: Socket[]): Promise<void> {
    const socket = connect(Number(new URL(stack.textBaseUrl).port), '127.0.0.1').on('error', () => {});
    sockets.push(socket);
    await once(socket, 'connect');
    socket.resume();
    socket.write(
      `POST ${CHAT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${apiKey}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${32 * MIB}\r\n\r\n"`,
    );
    for (let sent = 0; sent < 31 && socket.writable; sent += 1) {
      // The callback comes with an error when the connection is gone.
      await new Promise((resolve) => socket.write(Buffer.alloc(MIB, 'x'), resolve));
    }
  }
});
