/** Attacks on a whole process. `test/text/json/` and `test/text/linear.test.ts` hold the same rules of its parts in `npm test`. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { expect } from 'chai';
import { type TurnWatch, watchTurns } from '../support/turns.ts';
import { type LocalServer, serveLocally } from '../../lab/stack/local-server.ts';
import { call, startTestStack, type TestStack } from '../support/stack.ts';

/** Garbage collection counts as processor time too, and occurs now and then. */
const ATTEMPTS = 4;
const MIB = 2 ** 20;

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';
/** A model whose upstream speaks chat completions. */
const CHAT_MODEL = 'textd-v2.5';
const MODEL = 'textg-6-sol';
const list = <Item>(size: number, item: (index: number) => Item): Item[] =>
  Array.from({ length: size }, (_, index) => item(index));
const chat = (messages: readonly object[], more: object = {}): object => ({ model: MODEL, messages, ...more });
const calls = (count: number, idOf: (index: number) => string): object => ({
  role: 'assistant',
  tool_calls: list(count, (index) => ({ id: idOf(index), type: 'function', function: { name: 'f', arguments: '{}' } })),
});
const USER = { role: 'user', content: 'Say exactly: hello' };
const LONG_ANSWER = { role: 'user', content: '[long answer]' };
const LONG_TEXT = 'Hello, world. '.repeat((15 * MIB) / 14);
/**
 * The longest processor time for which a process may delay other requests: three times what this machine takes to write
 * and read the long text as JSON, and 100 ms on a fast machine.
 */
const MOST_HELD_UP_MS = Math.max(100, 3 * Math.min(...list(3, timeOfLongText)));

function timeOfLongText(): number {
  const before = performance.now();
  JSON.parse(JSON.stringify([LONG_TEXT]));
  return performance.now() - before;
}

/** Requests that each once blocked the process for seconds. */
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

/** An upstream that returns a very long answer on request, and otherwise forwards to the simulator. */
async function answerAtLength(
  incoming: IncomingMessage,
  response: ServerResponse,
  simulatorUrl: string,
): Promise<void> {
  const body = await readText(incoming);
  if (!body.includes('[long answer]')) return passOn(incoming, body, response, simulatorUrl);
  const isStream = body.includes('"stream":true');
  const message = { role: 'assistant', content: LONG_TEXT };
  const choice = { index: 0, finish_reason: 'stop', [isStream ? 'delta' : 'message']: message };
  const answer = JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: CHAT_MODEL,
    choices: [choice],
  });
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
  await pipeline(inPieces(isStream ? `data: ${answer}\n\ndata: [DONE]\n\n` : answer), response);
}

function* inPieces(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += 1_024) yield text.slice(at, at + 1_024);
}

function passOn({ url, headers }: IncomingMessage, body: string, response: ServerResponse, simulatorUrl: string): void {
  const onward = request(simulatorUrl + (url ?? ''), { method: 'POST', headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy()).end(body);
}

function providersAt(url: string): object {
  const baseUrls = { 'chat-completions': 'v1', responses: 'v1', messages: 'v1', 'generate-content': 'v1beta' };
  return {
    media: [{ name: 'simulator', protocol: 'http-jobs', base_url: url, api_key: 'simulator' }],
    text: [
      {
        name: 'simulator',
        api_key: 'simulator',
        base_urls: Object.fromEntries(Object.entries(baseUrls).map(([format, path]) => [format, `${url}/${path}`])),
      },
    ],
  };
}

describe('a process', () => {
  const metricsToken = randomBytes(16).toString('hex');
  let folder: string;
  let upstream: LocalServer;
  let turns: TurnWatch;
  let stack: TestStack;
  let apiKey: string;
  let poorKey: string;
  let otherKey: string;

  before(async () => {
    [folder, upstream, turns] = await Promise.all([
      mkdtemp(join(tmpdir(), 'genway-stalls-')),
      serveLocally((request, response) => void answerAtLength(request, response, stack.simulatorUrl)),
      watchTurns(),
    ]);
    const providers = join(folder, 'providers.yaml');
    await writeFile(providers, JSON.stringify(providersAt(upstream.url)));
    stack = await startTestStack({
      processes: ['text'],
      env: { GENWAY_METRICS_TOKEN: metricsToken, GENWAY_PROVIDERS: providers },
      textEnv: turns.env,
    });
    await stack.text.start();
    ({ apiKey } = await stack.createAccount({ fundedUsd: 1_000 }));
    ({ apiKey: poorKey } = await stack.createAccount({ fundedUsd: 0 }));
    ({ apiKey: otherKey } = await stack.createAccount({ fundedUsd: 10 }));
  });
  after(async () => {
    await stack.stop();
    await Promise.all([upstream.close(), turns.stop(), rm(folder, { recursive: true })]);
  });

  async function residentBytes(): Promise<number> {
    const response = await fetch(`${stack.textBaseUrl}/metrics`, {
      headers: { authorization: `Bearer ${metricsToken}` },
    });
    return Number(/^process_resident_memory_bytes (.+)$/m.exec(await response.text())?.[1]);
  }

  /** The longest delay of other requests during an attack, in the least disturbed of several attempts. */
  async function heldUpMs(attack: () => Promise<unknown>): Promise<number> {
    let heldUp = Infinity;
    for (let attempt = 0; attempt < ATTEMPTS && heldUp > MOST_HELD_UP_MS; attempt += 1) {
      await turns.longestMs();
      await Promise.all([attack(), serveOthers()]);
      heldUp = Math.min(heldUp, await turns.longestMs());
    }
    return heldUp;
  }

  async function serveOthers(): Promise<void> {
    const { status } = await call(`${stack.textBaseUrl}${CHAT}`, { key: otherKey, body: chat([USER]) });
    expect(status).to.equal(200);
  }

  for (const [what, { path, body }] of Object.entries(ATTACKS)) {
    for (const who of ['an account with money', 'one without'] as const) {
      it(`serves other clients while ${who} sends ${what}`, async () => {
        const made = body();
        const text = typeof made === 'string' ? made : JSON.stringify(made);
        const longestMs = await heldUpMs(async () => {
          const { status } = await call(stack.textBaseUrl + path, {
            key: who === 'one without' ? poorKey : apiKey,
            body: text,
            headers: { 'msgfmt-version': '2023-06-01' },
          });
          expect(status).to.be.oneOf([200, 400, 402, 403, 413]);
        });
        expect(longestMs).to.be.below(MOST_HELD_UP_MS);
      });
    }
  }

  for (const [what, path, body] of [
    ['streams an event of 15 MB, a kilobyte at a time', CHAT, chat([LONG_ANSWER], { model: CHAT_MODEL, stream: true })],
    [
      'streams such an event to a client of another format',
      MESSAGES,
      {
        ...chat([LONG_ANSWER], { model: CHAT_MODEL, stream: true }),
        max_tokens: 100,
      },
    ],
    ['gives a whole answer of 15 MB', CHAT, chat([LONG_ANSWER], { model: CHAT_MODEL })],
    [
      'gives such an answer to a client of another format',
      MESSAGES,
      {
        ...chat([LONG_ANSWER], { model: CHAT_MODEL }),
        max_tokens: 100,
      },
    ],
  ] as const) {
    it(`serves other clients while an upstream ${what}`, async () => {
      const longestMs = await heldUpMs(async () => {
        const response = await fetch(stack.textBaseUrl + path, {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', 'msgfmt-version': '1' },
          body: JSON.stringify(body),
        });
        expect(response.status).to.equal(200);
        expect(await response.text()).to.contain(LONG_TEXT);
      });
      expect(longestMs).to.be.below(MOST_HELD_UP_MS);
    });
  }

  it('serves other clients in bounded memory while 24 bodies of 31 MB wait for their last byte', async () => {
    const before = await residentBytes();
    let most = 0;
    const longestMs = await heldUpMs(async () => {
      const sockets: Socket[] = [];
      await Promise.all(list(24, () => sendAllButTheEnd(sockets)));
      most = Math.max(most, await residentBytes());
      for (const socket of sockets) socket.destroy();
    });
    expect(longestMs).to.be.below(MOST_HELD_UP_MS);
    expect((most - before) / MIB).to.be.below(500);
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
      // The callback receives an error when the connection is gone.
      await new Promise((resolve) => socket.write(Buffer.alloc(MIB, 'x'), resolve));
    }
  }
});
