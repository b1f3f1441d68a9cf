/** Attacks on realtime sessions: stolen secrets, forged origins, smuggled requests, floods, and responses without money. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { formatUsd, parseUsd } from '../../domain/money.ts';
import { REALTIME } from '../../domain/policy.ts';
import { openRealtime, type OpenOptions, RefusedSession, userMessage } from '../../test/support/realtime.ts';
import { openAccount } from '../stack/accounts.ts';
import { priceResponses, REALTIME_MODEL } from '../drill/realtime-prices.ts';
import { call, settledCharge, tolerance, type Victim } from './attacker.ts';
import { type AttackCase, holds } from './case.ts';
import { openSocket, residentBytes, staysQuick } from './stall.ts';

const MIB = 2 ** 20;
const PATH = `/v1/realtime?model=${REALTIME_MODEL}`;
const ORIGIN = 'https://app.example.com';

async function createSecret({ apiUrl }: Victim, apiKey: string, more: object = {}): Promise<string> {
  const body = { session: { type: 'realtime', model: REALTIME_MODEL }, ...more };
  const { text } = await call(`${apiUrl}/v1/realtime/client_secrets`, apiKey, { body });
  return /"value":"([^"]+)"/.exec(text)?.[1] ?? '';
}

/** The code with which a session is refused; `opened` for none. */
async function refusalOf({ apiUrl }: Victim, options: OpenOptions): Promise<string> {
  try {
    (await openRealtime(apiUrl + PATH, options)).close();
    return 'opened';
  } catch (error) {
    // A header that no client can send is no attack.
    if (error instanceof RefusedSession) return error.body.error.code;
    throw error;
  }
}

async function refusedWith(victim: Victim, code: string, attempts: readonly OpenOptions[]): Promise<string> {
  const codes = await Promise.all(attempts.map((options) => refusalOf(victim, options)));
  const others = codes.flatMap((got, index) => (got === code ? [] : [`${JSON.stringify(attempts[index])}: ${got}`]));
  return holds(others.length === 0, others[0] ?? `${codes.length} refused with ${code}`);
}

const guessedSecrets: AttackCase = {
  name: 'realtime: secrets that are guessed or changed',
  run: async (victim) => {
    const secret = await createSecret(victim, (await openAccount(victim, 1)).apiKey);
    const flipped = secret.slice(0, -1) + (secret.endsWith('A') ? 'B' : 'A');
    const changed = [
      secret.slice(0, -1),
      `${secret}A`,
      flipped,
      secret.toUpperCase().replace('EK_', 'ek_'),
      'ek_',
      'ek_%00',
    ];
    const guessed = Array.from({ length: 300 }, () => `ek_${randomBytes(32).toString('base64url')}`);
    return refusedWith(
      victim,
      'invalid_client_secret',
      [...changed, ...guessed].map((bearer) => ({ bearer })),
    );
  },
};

const foreignSecrets: AttackCase = {
  name: 'realtime: the secret of another account, elsewhere and beside a key',
  run: async (victim) => {
    const owner = await openAccount(victim, 1);
    const other = await openAccount(victim, 1);
    const secret = await createSecret(victim, owner.apiKey);
    const elsewhere: readonly [path: string, body?: object][] = [
      ['/v1/balance'],
      ['/v1/models'],
      ['/v1/tasks'],
      ['/admin/v1/accounts'],
      ['/v1/chat/completions', { model: 'textf3.8-max', messages: [{ role: 'user', content: 'x' }] }],
      ['/v1/realtime/client_secrets', { session: { type: 'realtime', model: REALTIME_MODEL } }],
    ];
    const answers = await Promise.all(
      elsewhere.map(([path, body]) => call(victim.apiUrl + path, secret, body === undefined ? {} : { body })),
    );
    const statuses = answers.map(({ status }) => status);
    if (statuses.some((status) => status !== 401)) throw new Error(`elsewhere answered ${statuses.join(', ')}`);
    // The bearer token counts, and not the other credentials.
    const session = await openRealtime(victim.apiUrl + PATH, {
      bearer: other.apiKey,
      protocols: ['realtime', `openai-insecure-api-key.${secret}`],
      headers: { 'x-api-key': owner.apiKey },
    });
    await session.ask('[sim:tokens=20,prompt=20]', { output_modalities: ['text'] });
    session.close();
    const [paid, charged] = [await settledCharge(victim, other), await settledCharge(victim, owner)];
    return holds(
      paid > 0n && charged === 0n,
      `refused elsewhere; the session cost the caller ${formatUsd(paid)} and the owner ${formatUsd(charged)} USD`,
    );
  },
};

const expiredSecrets: AttackCase = {
  name: 'realtime: a secret after its expiry, and of a deleted key',
  run: async (victim) => {
    const { apiKey, keyId } = await openAccount(victim, 1);
    const short = await createSecret(victim, apiKey, { expires_after: { anchor: 'created_at', seconds: 10 } });
    const long = await createSecret(victim, apiKey);
    const session = await openRealtime(victim.apiUrl + PATH, { bearer: long });
    const closed = session.closed.then(() => performance.now());
    if ((await refusalOf(victim, { bearer: short })) !== 'opened') throw new Error('the secret does not work');
    await sleep(11_000);
    await refusedWith(
      victim,
      'invalid_client_secret',
      Array.from({ length: 50 }, () => ({ bearer: short })),
    );
    const deletion = await request(`${victim.apiUrl}/admin/v1/keys/${keyId}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${victim.adminToken}` },
    });
    await deletion.body.dump();
    const deletedAt = performance.now();
    await refusedWith(victim, 'invalid_client_secret', [{ bearer: long }, { bearer: short }]);
    const livedMs = (await closed) - deletedAt;
    return holds(livedMs < 2_000, `refused; the session of the deleted key lived on for ${livedMs.toFixed(0)} ms`);
  },
};

const FORGED_ORIGINS: readonly (string | undefined)[] = [
  undefined,
  '',
  'null',
  'http://app.example.com',
  'https://app.example.com:8443',
  'https://app.example.com:443.evil.example',
  'https://sub.app.example.com',
  'https://app.example.com.evil.example',
  'https://evil-app.example.com',
  'https://appxexample.com',
  'https://app.example.com.',
  'https://app.example.com/',
  'https://app.example.com/path',
  'https://app.example.com@evil.example',
  'https://user@app.example.com',
  'https://app.example.com#https://evil.example',
  'https://app.example.com, https://evil.example',
  'https://evil.example, https://app.example.com',
  'https://app.example.com https://evil.example',
  'https://app%2eexample.com',
  'wss://app.example.com',
  'file://app.example.com',
  '*',
];

const forgedOrigins: AttackCase = {
  name: 'realtime: forged origins, and a key in a browser',
  run: async (victim) => {
    const { apiKey } = await openAccount(victim, 1);
    const bearer = await createSecret(victim, apiKey, { allowed_origins: [ORIGIN] });
    const accepted = [ORIGIN, 'HTTPS://APP.EXAMPLE.COM', 'https://app.example.com:443'];
    const codes = await Promise.all(accepted.map((origin) => refusalOf(victim, { bearer, origin })));
    if (codes.some((code) => code !== 'opened')) throw new Error(`the allowed origin: ${codes.join(', ')}`);
    const forged = FORGED_ORIGINS.map((origin) => ({ bearer, ...(origin !== undefined && { headers: { origin } }) }));
    const hidden = ['sec-websocket-origin', 'referer', 'x-forwarded-host'].map((name) => ({
      bearer,
      headers: { [name]: ORIGIN },
    }));
    const keys = ['null', ORIGIN, '', victim.apiUrl].map((origin) => ({ bearer: apiKey, headers: { origin } }));
    return refusedWith(victim, 'origin_not_allowed', [...forged, ...hidden, ...keys]);
  },
};

/** Requests beside an upgrade on one connection, with the statuses that they may have. */
async function smuggle({ apiUrl }: Victim, data: string): Promise<readonly string[]> {
  const socket = await openSocket(apiUrl);
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  socket.write(data);
  await Promise.race([once(socket, 'close'), sleep(1_500)]);
  socket.destroy();
  return [...received.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => status ?? '');
}

function head(line: string, key: string, more: string): string {
  return `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${more}\r\n`;
}

const smuggledRequests: AttackCase = {
  name: 'realtime: requests smuggled beside upgrades',
  run: async (victim) => {
    const { apiKey } = await openAccount(victim, 1);
    const other = await openAccount(victim, 1);
    const ws =
      'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
    const second = head('GET /v1/balance', other.apiKey, '');
    const open = `GET ${PATH}`;
    /** Each with the statuses that may be answered at most; the smuggled request never is. */
    const attempts: readonly [name: string, data: string, allowed: readonly string[]][] = [
      ['after an upgrade', head(open, apiKey, ws) + second, ['101']],
      ['as the body of an upgrade', head(open, apiKey, `${ws}Content-Length: ${second.length}\r\n`) + second, ['101']],
      ['in chunks', `${head(open, apiKey, `${ws}Transfer-Encoding: chunked\r\n`)}0\r\n\r\n${second}`, ['101']],
      ['after a refused upgrade', head(open, 'sk-wrong', ws) + second, ['401']],
      [
        'after an upgrade without a key',
        head(open, apiKey, ws.replace(/Sec-WebSocket-Key.*\r\n/, '')) + second,
        ['400'],
      ],
      ['after an old version', head(open, apiKey, ws.replace('13', '99')) + second, ['400', '426']],
      ['after an upgrade by POST', head(`POST ${PATH}`, apiKey, `${ws}Content-Length: 0\r\n`) + second, ['405', '200']],
      ['before an upgrade', second + head(open, apiKey, ws), ['200']],
      ['after an upgrade elsewhere', head('GET /v1/models', apiKey, ws) + second, ['200', '404', '426']],
    ];
    for (const [name, data, allowed] of attempts) {
      const statuses = await smuggle(victim, data);
      const isSafe =
        statuses.every((status) => allowed.includes(status)) && (name.includes('POST') || statuses.length <= 1);
      if (!isSafe) throw new Error(`${name}: answered ${statuses.join(', ')}`);
    }
    return `${attempts.length} connections, none with an answer too many`;
  },
};

/** Opens as many sessions as an account may have. @throws the first refusal */
async function openAllPlaces(base: string, apiKey: string): Promise<number> {
  const all = Array.from({ length: REALTIME.sessions.ofAccount }, () => openRealtime(base + PATH, { bearer: apiKey }));
  const settled = await Promise.allSettled(all);
  for (const one of settled) if (one.status === 'fulfilled') one.value.close();
  await Promise.all(all);
  return all.length;
}

const HALF_OPEN = 1_000;

const halfOpenUpgrades: AttackCase = {
  name: `realtime: ${HALF_OPEN} half-open upgrades, and ${HALF_OPEN / 10} whose client leaves at once`,
  run: async (victim) => {
    const { apiKey } = await openAccount(victim, 10);
    const base = victim.apiUrl;
    const upgrade = `GET ${PATH} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer ${apiKey}\r\n`;
    const sockets = await Promise.all(Array.from({ length: HALF_OPEN }, () => openSocket(base)));
    try {
      const quick = await staysQuick(victim, base, async () => {
        for (const socket of sockets) socket.write(upgrade);
        const leaving = await Promise.all(Array.from({ length: HALF_OPEN / 10 }, () => openSocket(base)));
        for (const socket of leaving) socket.end(`${upgrade}\r\n`, () => socket.destroy());
        await Promise.all(sockets.filter(({ destroyed }) => !destroyed).map((socket) => once(socket, 'close')));
        return `all were closed`;
      });
      // The places of clients that left are free again.
      const opened = await waitUntil(() => openAllPlaces(base, apiKey), { timeoutMs: 60_000, pauseMs: 2_000 });
      return `${quick}; then ${opened} sessions opened`;
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  },
};

const BOMBERS = 20;
const MEMORY_BUDGET_BYTES = 500 * MIB;

function bombCase(name: string, bomb: () => string): AttackCase {
  return {
    name: `realtime: ${BOMBERS} sessions that send ${name}`,
    run: async (victim) => {
      const { apiKey } = await openAccount(victim, 10);
      const base = victim.apiUrl;
      const before = await residentBytes(base, victim);
      const sessions = await Promise.all(
        Array.from({ length: BOMBERS }, () => openRealtime(base + PATH, { bearer: apiKey })),
      );
      try {
        return await staysQuick(victim, base, async () => {
          const message = bomb();
          for (const { socket } of sessions) for (let count = 0; count < 3; count += 1) socket.send(message);
          await sleep(6_000);
          const grown = (await residentBytes(base, victim)) - before;
          return holds(grown < MEMORY_BUDGET_BYTES, `(memory + ${(grown / MIB).toFixed(0)} MiB)`);
        });
      } finally {
        for (const { socket } of sessions) socket.terminate();
      }
    },
  };
}

const AUDIO_BYTES = 14 * MIB;

const BOMBS: readonly AttackCase[] = [
  bombCase('14 MB of audio at once', () =>
    JSON.stringify({ type: 'input_audio_buffer.append', audio: 'A'.repeat(AUDIO_BYTES) }),
  ),
  bombCase('items of 14 MB of audio', () => {
    const content = [{ type: 'input_audio', audio: 'A'.repeat(AUDIO_BYTES) }];
    return JSON.stringify({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
  }),
  bombCase(
    '14 MB of empty objects',
    () => `{"type":"session.update","session":{"tools":[${'{},'.repeat(4_500_000)}{}]}}`,
  ),
];

const unfinishedMessages: AttackCase = {
  name: 'realtime: 90 unfinished messages of 14 MB',
  run: async (victim) => {
    const { apiKey } = await openAccount(victim, 10);
    const base = victim.apiUrl;
    const before = await residentBytes(base, victim);
    const sessions = await Promise.all(Array.from({ length: 90 }, () => openRealtime(base + PATH, { bearer: apiKey })));
    try {
      return await staysQuick(victim, base, async () => {
        const part = Buffer.alloc(AUDIO_BYTES, ' ');
        for (const { socket } of sessions) socket.send(part, { fin: false });
        await sleep(8_000);
        const grown = (await residentBytes(base, victim)) - before;
        return holds(grown < MEMORY_BUDGET_BYTES, `(memory + ${(grown / MIB).toFixed(0)} MiB)`);
      });
    } finally {
      for (const { socket } of sessions) socket.terminate();
    }
  },
};

const TRICKS: readonly object[] = [
  { type: 'session.update', session: { model: 'gpt-realtime' } },
  { type: 'session.update', session: { model: [REALTIME_MODEL, 'gpt-realtime'] } },
  { type: 'session.update', session: { session: { model: 'gpt-realtime' } } },
  { type: 'session.update', model: 'gpt-realtime', session: { type: 'transcription' } },
  { type: 'Session.update', session: { model: 'gpt-realtime' } },
  { type: 'session.update\u0000', session: {} },
  { type: 'transcription_session.update', session: {} },
  ...[4_097, 1e9, -1, 0, 0.5, '4096', 'INF', [1], {}, true].map((bound) => ({
    type: 'session.update',
    session: { max_output_tokens: bound },
  })),
  { type: 'session.update', session: { max_response_output_tokens: 9 } },
  ...['mcp', 'MCP', 'web_search', ['function'], null, 1].map((type) => ({
    type: 'session.update',
    session: {
      tools: [
        { type: 'function', name: 'f' },
        { type, server_url: 'https://evil.example' },
      ],
    },
  })),
  { type: 'session.update', session: { tools: { 0: { type: 'mcp' } } } },
  { type: 'session.update', session: { prompt: { id: 'pmpt_1' } } },
  { type: 'session.update', session: { audio: { model: 'x' } } },
  { type: 'session.update', session: { audio: { output: { voice: { id: 'voice_1', name: 'alloy' } } } } },
  { type: 'response.create', response: { model: 'gpt-realtime' } },
  { type: 'response.create', response: { max_output_tokens: 99_999 } },
  { type: 'response.create', response: { tools: [{ type: 'mcp', server_url: 'https://evil.example' }] } },
  { type: 'response.create', response: { prompt: { id: 'pmpt_1' } } },
  { type: 'response.create', response: { input: [{ type: 'mcp_approval_response', approve: true }] } },
  { type: 'response.create', response: { input: { type: 'mcp_call' } } },
  { type: 'conversation.item.create', item: { type: 'mcp_approval_response', approve: true } },
  { type: 'conversation.item.create', item: [{ type: 'message' }] },
];

/** Texts that parsers read in different ways. */
const RAW_TRICKS: readonly string[] = [
  `{"type":"session.update","type":"session.update","session":{"model":"${REALTIME_MODEL}","model":"gpt-realtime"}}`,
  `{"type":"input_audio_buffer.clear","type":"session.update","session":{"model":"gpt-realtime"}}`,
  `{"type":"session.update","session":{"__proto__":{"model":"gpt-realtime"}}}`,
  `{"type":"session.update","session":{"mod\\u0065l":"gpt-realtime"}}`,
  '[]',
  'null',
  '"session.update"',
  '{"type":"session.update","session":',
];

const sessionTricks: AttackCase = {
  name: 'realtime: updates of the model, the tools and the bound, in many forms',
  run: async (victim) => {
    const { apiKey } = await openAccount(victim, 10);
    const session = await openRealtime(victim.apiUrl + PATH, { bearer: apiKey });
    await session.next('session.created');
    const texts = [...TRICKS.map((trick) => JSON.stringify(trick)), ...RAW_TRICKS];
    for (const text of texts) {
      session.socket.send(text);
      const answer = await Promise.race([session.next('error'), session.next('response.created')]).catch(() => null);
      if (answer?.type !== 'error') throw new Error(`${text} was not refused: ${JSON.stringify(answer)}`);
    }
    session.send({ type: 'session.update', session: { tools: [], max_output_tokens: 'inf' } });
    const { session: shown } = await session.next('session.updated');
    const done = await session.ask('[sim:tokens=9,prompt=9]', { output_modalities: ['text'] });
    session.close();
    const fields = JSON.stringify([shown, done]);
    return holds(!/gpt-realtime|evil|mcp/.test(fields), `${texts.length} refused, and the session went on`);
  },
};

interface Theft {
  readonly name: string;
  readonly balanceUsd: number;
  readonly sessions: number;
  /** What a session does for its response. */
  readonly steal: (session: Awaited<ReturnType<typeof openRealtime>>) => Promise<unknown>;
}

const THEFTS: readonly Theft[] = [
  {
    name: '40 responses of 4,096 tokens at once on 0.3 USD',
    balanceUsd: 0.3,
    sessions: 40,
    steal: (session) => session.ask('[sim:tokens=4096,prompt=100,cached=0]', { output_modalities: ['text'] }),
  },
  {
    name: '40 spoken responses that the client leaves on 0.5 USD',
    balanceUsd: 0.5,
    sessions: 40,
    steal: async (session) => {
      session.send(userMessage('[sim:tokens=300,prompt=100,cached=0,chunk_ms=5]'));
      session.send({ type: 'response.create' });
      await session.next('response.output_audio.delta');
      session.socket.terminate();
    },
  },
  {
    name: 'speech after a long conversation, 40 times on 0.001 USD',
    balanceUsd: 0.001,
    sessions: 40,
    steal: async (session) => {
      session.send(userMessage(`${'word '.repeat(2_000)}[sim:prompt=20000,tokens=500,cached=0,chunk_ms=1]`));
      const loud = Buffer.alloc(24_000, 'ab').toString('base64');
      const silent = Buffer.alloc(24_000).toString('base64');
      for (const audio of [loud, silent]) session.send({ type: 'input_audio_buffer.append', audio });
      await session.closed;
    },
  },
];

/**
 * Watches what the vendor generates in sessions and calls from now on.
 *
 * @param balanceUsd what the account has
 * @returns tells the vendor's bill so far; `isBounded` if it exceeds the balance by no more than the tolerance
 */
export function watchSessions(victim: Victim, balanceUsd: number) {
  const before = victim.vendor.realtime.finished.length;
  return (where = ''): { readonly isBounded: boolean; readonly told: string } => {
    const generated = priceResponses(victim.catalogue, victim.vendor.realtime.finished.slice(before));
    const bill = generated.reduce((sum, { price }) => sum + price, 0n);
    const balance = parseUsd(String(balanceUsd));
    const loss = bill > balance ? bill - balance : 0n;
    const told = `the vendor's bill for ${generated.length} responses${where} is ${formatUsd(bill)} USD, ${formatUsd(loss)} beyond what there was`;
    return { isBounded: loss <= tolerance(victim, REALTIME_MODEL), told };
  };
}

function theftCase({ name, balanceUsd, sessions, steal }: Theft): AttackCase {
  return {
    name: `realtime: ${name}`,
    run: async (victim) => {
      const account = await openAccount(victim, balanceUsd);
      const lossOf = watchSessions(victim, balanceUsd);
      let opened = 0;
      const theft = async (): Promise<void> => {
        const session = await openRealtime(victim.apiUrl + PATH, { bearer: account.apiKey }).catch(() => null);
        if (session === null) return;
        opened += 1;
        await steal(session).catch(() => undefined);
        session.close();
      };
      await Promise.all(Array.from({ length: sessions }, theft));
      await settledCharge(victim, account);
      const { isBounded, told } = lossOf(` in ${opened} sessions`);
      return holds(isBounded, told);
    },
  };
}

export const REALTIME_CASES: readonly AttackCase[] = [
  guessedSecrets,
  foreignSecrets,
  expiredSecrets,
  forgedOrigins,
  smuggledRequests,
  halfOpenUpgrades,
  ...BOMBS,
  unfinishedMessages,
  sessionTricks,
  ...THEFTS.map(theftCase),
];
