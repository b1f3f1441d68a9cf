/** Attacks on other clients: whatever one client sends, the gateway answers others as usual. */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { FORM_HEADERS, formOf } from '../../test/support/forms.ts';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { serveLocally } from '../stack/local-server.ts';
import { make, openAccount, type OpenedAccount } from '../stack/accounts.ts';
import { type Answer, type Call, call, type Probe, probeDuring, type Victim } from './attacker.ts';
import { type AttackCase, holds } from './case.ts';

const MODEL = 'textd-v2.5';
const FREE_MODEL = 'textl-v4.1-flash-free';
const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
const NATIVE = '/v1beta/models/texth-3.8-flash:generateContent';
const MIB = 2 ** 20;
/**
 * On an idle machine. On a busy one, others may wait this much longer than clients of a process without an attack.
 */
const MOST_P99_MS = 250;

const longStops = (): string[] => Array.from({ length: 60 }, (_, index) => ' word'.repeat(8_000) + String(index));
const LONG_ANSWER = '[vendor:tokens=20000,chunk=10]';

/** A body that is expensive to read. Built on demand: some are large. */
interface Bomb {
  readonly name: string;
  readonly path: string;
  readonly body: () => object | string;
}

const BOMBS: readonly Bomb[] = [
  {
    name: 'a link of 120 KB that a pattern chokes on',
    path: NATIVE,
    body: () => ({
      contents: [
        {
          role: 'user',
          parts: [{ fileData: { fileUri: `https://x/${'.a?'.repeat(40_000)}\n` } }],
        },
      ],
    }),
  },
  {
    name: '16,000 tool calls whose ids share 61 characters',
    path: CHAT,
    body: () => {
      const ids = Array.from({ length: 16_000 }, (_, index) => `${'c'.repeat(61)}${index}`);
      return {
        model: MODEL,
        messages: [
          { role: 'user', content: 'go' },
          {
            role: 'assistant',
            tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
          },
          ...ids.map((id) => ({ role: 'tool', tool_call_id: id, content: 'x' })),
        ],
      };
    },
  },
  {
    name: '60 stop sequences of 40 KB',
    path: RESPONSES,
    body: () => ({ model: 'textg-6-luna', input: LONG_ANSWER, stop: longStops() }),
  },
  {
    name: '60 stop sequences of 40 KB, for a model without such a parameter',
    path: CHAT,
    body: () => ({
      model: 'textg-6-luna',
      messages: [{ role: 'user', content: LONG_ANSWER }],
      stop: longStops(),
    }),
  },
  {
    name: '100,000 tool results of one id',
    path: CHAT,
    body: () => ({
      model: MODEL,
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] },
        ...Array.from({ length: 100_000 }, () => ({ role: 'tool', tool_call_id: 'a', content: 'x' })),
      ],
    }),
  },
  { name: '32 MB of empty objects as metadata', path: RESPONSES, body: () => withMetadata(MODEL) },
  {
    name: '32 MB of empty objects as metadata, for a free model',
    path: RESPONSES,
    body: () => withMetadata(FREE_MODEL),
  },
  {
    name: '1 MB of empty objects as a media request',
    path: '/v1/videos/tasks',
    body: () => `{"model":"vidone-3.0","prompt":"x","images":[${'{},'.repeat(330_000)}{}]}`,
  },
  {
    name: '100,000 messages',
    path: '/v1/messages',
    body: () => ({
      model: MODEL,
      max_tokens: 16,
      messages: Array.from({ length: 100_000 }, (_, index) => ({
        role: index % 2 === 0 ? 'user' : 'assistant',
        content: 'x',
      })),
    }),
  },
  {
    name: 'brackets without end',
    path: CHAT,
    body: () => `{"model":"${MODEL}","messages":${'['.repeat(16 * MIB)}`,
  },
];

function withMetadata(model: string): string {
  return `{"model":"${model}","input":"x","metadata":[${'{},'.repeat(10 * MIB)}{}]}`;
}

function bombCase({ name, path, body }: Bomb): AttackCase {
  return {
    name,
    run: async (victim) => {
      const attacker = await openAccount(victim, 100);
      const bytes = body();
      const payload = Buffer.from(typeof bytes === 'string' ? bytes : JSON.stringify(bytes));
      const base = path.startsWith('/v1/videos') ? victim.apiUrl : victim.textUrl;
      return staysQuick(victim, base, async () =>
        String((await call(base + path, attacker.apiKey, { body: payload })).status),
      );
    },
  };
}

/** Meanwhile another client of the process lists its models in a loop, and so does a client of the other process. */
export async function staysQuick(victim: Victim, base: string, attack: () => Promise<string>): Promise<string> {
  const { apiUrl: api, textUrl: text } = victim;
  const { apiKey } = await openAccount(victim, 1);
  const besideIt = base === api ? text : api;
  // A request that the process answers on its own: the vendor shares the attacker's process, and is slow when that
  // process is busy.
  const probe = (url: string): Probe => ({ url: `${url}/v1/models`, apiKey });
  const beside = await probeDuring(probe(besideIt), () =>
    probeDuring(probe(base), async () => {
      const answered = await attack();
      await sleep(300);
      return answered;
    }),
  );
  const { p99Ms, worstMs, result } = beside.result;
  return holds(
    p99Ms <= MOST_P99_MS + beside.p99Ms,
    `answered ${result}; others: p99 ${p99Ms.toFixed(0)} ms, worst ${worstMs.toFixed(0)} ms (of the process beside it: ` +
      `p99 ${beside.p99Ms.toFixed(0)} ms)`,
  );
}

/** Resident memory of a process, in bytes. */
export async function residentBytes(base: string, { adminToken }: Victim): Promise<number> {
  const { text } = await call(`${base}/metrics`, adminToken, {});
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]);
}

export function openSocket(base: string): Promise<Socket> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => resolve(socket));
    socket.once('error', reject);
    socket.on('error', () => {});
    socket.resume();
  });
}

const QUERIES = 50;

/** Clients without a key send queries whose reading once took quadratic time. */
const largeQueries: AttackCase = {
  name: `${QUERIES} queries of 7,500 parameters`,
  run: (victim) =>
    staysQuick(victim, victim.textUrl, async () => {
      const address = `${victim.textUrl}/v1/models?${'a&'.repeat(7_500)}`;
      const answers = await Promise.all(Array.from({ length: QUERIES }, () => call(address, 'none', {})));
      return [...new Set(answers.map(({ status }) => status))].join(', ');
    }),
};

const UNFINISHED = 24;
const UNFINISHED_BYTES = 31 * MIB;
const BODY_BUDGET_BYTES = 500 * MIB;

const unfinishedBodies: AttackCase = {
  name: `${UNFINISHED} unfinished bodies of 31 MB`,
  run: async (victim) => {
    const { apiKey } = await openAccount(victim, 100);
    const base = victim.textUrl;
    const before = await residentBytes(base, victim);
    const head =
      `POST ${CHAT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${UNFINISHED_BYTES + 1000}\r\n\r\n`;
    const sockets = await Promise.all(Array.from({ length: UNFINISHED }, () => openSocket(base)));
    try {
      const body = Buffer.alloc(UNFINISHED_BYTES, ' ');
      return await staysQuick(victim, base, async () => {
        for (const socket of sockets) {
          socket.write(head);
          socket.write(body);
        }
        await sleep(6_000);
        const grown = (await residentBytes(base, victim)) - before;
        return holds(grown < BODY_BUDGET_BYTES, `(memory + ${(grown / MIB).toFixed(0)} MiB)`);
      });
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  },
};

const UNREAD = 30;
const UNREAD_BUDGET_BYTES = 400 * MIB;

/** One picture is paid once: each repetition of its request with the same key answers with it again. */
const unreadPictures: AttackCase = {
  name: `${UNREAD} unread answers of one picture`,
  run: async (victim) => {
    const { apiKey } = await openAccount(victim, 1);
    const base = victim.apiUrl;
    const body = JSON.stringify({ model: 'imagea-2.5-sunburst', prompt: 'A kite' });
    const head =
      `POST /v1/images/generations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${apiKey}\r\nIdempotency-Key: one\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const before = await residentBytes(base, victim);
    const sockets = await Promise.all(Array.from({ length: UNREAD }, () => openSocket(base)));
    try {
      return await staysQuick(victim, base, async () => {
        for (const socket of sockets) socket.pause().write(head.repeat(16));
        await sleep(10_000);
        const grown = (await residentBytes(base, victim)) - before;
        return holds(grown < UNREAD_BUDGET_BYTES, `(memory + ${(grown / MIB).toFixed(0)} MiB)`);
      });
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  },
};

const hugeEvent: AttackCase = {
  name: "an upstream's event of 15 MB in pieces of 1 KB",
  run: async (victim) => {
    const { apiKey } = await openAccount(victim, 1000);
    const question: Call = {
      body: { model: MODEL, stream: true, messages: [{ role: 'user', content: '[vendor:tokens=10,pieces=15000]' }] },
    };
    const base = victim.textUrl;
    return staysQuick(victim, base, async () => String((await call(base + CHAT, apiKey, question)).status));
  },
};

const poisonedConnection: AttackCase = {
  name: 'a connection on which an upload was refused',
  run: async (victim) => {
    const base = victim.apiUrl;
    const attacker = await openAccount(victim, 1);
    const other = await openAccount(victim, 1);
    const agent = new Agent({ connections: 1, pipelining: 1 });
    try {
      const body = formOf({ filename: 'a.html', type: 'text/html', content: `<html>${'a'.repeat(3 * MIB)}</html>` });
      const headers = { authorization: `Bearer ${attacker.apiKey}`, ...FORM_HEADERS };
      const refused = await request(`${base}/v1/files`, { method: 'POST', dispatcher: agent, headers, body });
      await refused.body.dump();
      const startedAt = performance.now();
      const next = await request(`${base}/v1/balance`, {
        dispatcher: agent,
        headers: { authorization: `Bearer ${other.apiKey}` },
      });
      await next.body.dump();
      const tookMs = performance.now() - startedAt;
      return holds(
        refused.statusCode === 400 && next.statusCode === 200 && tookMs < 2_000,
        `refused with ${refused.statusCode}; the next request: ${next.statusCode} after ${tookMs.toFixed(0)} ms`,
      );
    } finally {
      await agent.destroy();
    }
  },
};

const QUICK_TASK = { model: 'vidone-3.0', prompt: 'A kite [sim:render_ms=10]' };

/** The duration of an account's task from its creation to its end, as the median of three. */
async function taskMs(victim: Victim, account: OpenedAccount): Promise<number> {
  const tookMs: number[] = [];
  for (let count = 0; count < 3; count += 1) {
    const startedAt = performance.now();
    const { id } = await make(`${victim.apiUrl}/v1/videos/tasks`, account.apiKey, QUICK_TASK);
    await waitUntil(
      async () => {
        const task = await call(`${victim.apiUrl}/v1/tasks/${id}`, account.apiKey, {});
        if (!task.text.includes('"status":"succeeded"'))
          throw new Error(`the bystander's task is not done: ${task.text}`);
      },
      { timeoutMs: 120_000 },
    );
    tookMs.push(performance.now() - startedAt);
  }
  return tookMs.toSorted((a, b) => a - b)[1] ?? 0;
}

/** Added to twice the quiet time, for the noise of one machine under load. */
const NOISE_MS = 3_000;

function floodCase(name: string, flood: (victim: Victim) => Promise<string>): AttackCase {
  return {
    name,
    run: async (victim) => {
      const bystander = await openAccount(victim, 100);
      const quietMs = await taskMs(victim, bystander);
      const flooded = await flood(victim);
      const busyMs = await taskMs(victim, bystander);
      return holds(
        busyMs <= 2 * quietMs + NOISE_MS,
        `flooded with ${flooded}; another's task took ${(busyMs / 1000).toFixed(1)} s (quiet: ${(quietMs / 1000).toFixed(1)} s)`,
      );
    },
  };
}

const floodOfTests = floodCase(
  '288 webhook tests of an account without money, to a silent receiver',
  async (victim) => {
    const receiver = await serveLocally(() => {});
    setTimeout(() => void receiver.close(), 60_000);
    const account = await openAccount(victim, 0);
    const { id } = await make(`${victim.apiUrl}/v1/webhooks`, account.apiKey, { url: receiver.url });
    const test = (): Promise<Answer> =>
      call(`${victim.apiUrl}/v1/webhooks/${id}/test`, account.apiKey, { method: 'POST', body: {} });
    const answers = await Promise.all(Array.from({ length: 288 }, test));
    const taken = answers.filter(({ status }) => status < 300).length;
    const limited = answers.filter(({ status }) => status === 429).length;
    return `${taken} taken, ${limited} answered 429`;
  },
);

const floodOfTasks = floodCase('300 tasks of one account', async (victim) => {
  const account = await openAccount(victim, 1000);
  const create = (): Promise<Answer> => call(`${victim.apiUrl}/v1/videos/tasks`, account.apiKey, { body: QUICK_TASK });
  const answers = await Promise.all(Array.from({ length: 300 }, create));
  return `${answers.filter(({ status }) => status === 201).length} taken`;
});

const redirectStorm: AttackCase = {
  name: '16 links that redirect, of an account without money',
  run: async (victim) => {
    let requests = 0;
    const thirdParty = await serveLocally((incoming, response) => {
      requests += 1;
      response.writeHead(302, { location: `${incoming.url ?? ''}x` }).end();
    });
    try {
      const account = await openAccount(victim, 0);
      const { status } = await call(`${victim.apiUrl}/v1/images/tasks`, account.apiKey, {
        body: {
          model: 'imagea-2.5-sunburst',
          prompt: 'x',
          images: Array.from({ length: 16 }, (_, index) => `${thirdParty.url}/${index}`),
        },
      });
      return holds(requests === 0, `answered ${status}, ${requests} requests to a third party`);
    } finally {
      await thirdParty.close();
    }
  },
};

const UPLOAD_BYTES = 16 * MIB;

const freeStorage: AttackCase = {
  name: '32 uploads of 16 MB, of an account that never paid',
  run: async (victim) => {
    const { apiKey } = await openAccount(victim, 0);
    const png = Buffer.concat([
      Buffer.from('89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de', 'hex'),
      randomBytes(UPLOAD_BYTES),
    ]);
    const body = formOf({ filename: 'a.png', type: 'image/png', content: png });
    const upload = (): Promise<Answer> => call(`${victim.apiUrl}/v1/files`, apiKey, { body, headers: FORM_HEADERS });
    const answers: Answer[] = [];
    for (let count = 0; count < 8; count += 1)
      answers.push(...(await Promise.all([upload(), upload(), upload(), upload()])));
    const stored = answers.filter(({ status }) => status === 201).length;
    return holds(stored * UPLOAD_BYTES < 256 * MIB, `${stored} of ${answers.length} were stored`);
  },
};

export const STALL_CASES: readonly AttackCase[] = [
  ...BOMBS.map(bombCase),
  largeQueries,
  unfinishedBodies,
  unreadPictures,
  hugeEvent,
  poisonedConnection,
  redirectStorm,
  freeStorage,
  floodOfTests,
  floodOfTasks,
];
