/**
 * What serving text costs, with every request held, settled and written down: requests a second beside a bare Node proxy in
 * the same run, the time that is added to the first byte, and 500 streams at once with the memory they take. Prints one JSON
 * line. Everything runs on this machine: the clients, one text process, an upstream that costs next to nothing, and
 * PostgreSQL with its usual durability. All requests are of one account, with one key.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { digestApiKey, newApiKey } from '../api/services/api-key-digest.ts';
import { type RunningProcess, startProcess } from '../bin/stack/child-process.ts';
import { findFreePort } from '../bin/stack/ports.ts';
import { startPostgres } from '../bin/stack/postgres.ts';
import { waitUntil } from '../bin/stack/wait-until.ts';
import { insertApiKey } from '../db/queries/api-keys.ts';
import { newId } from '../domain/ids.ts';
import { createTestDatabase } from '../test/support/database.ts';
import { createAccount } from '../test/support/factories.ts';
import { mean, percentile, rounded } from './statistics.ts';

const CLIENTS = 64;
const ROUNDS = 3;
const ROUND_MS = 5_000;
const FIRST_BYTES = 200;
const STREAMS = 500;
const STREAM_PAUSE_MS = 20;
const CHUNKS = 200;
const READY_TIMEOUT_MS = 60_000;
const STOP_GRACE_MS = 20_000;
const ROOT = fileURLToPath(new URL('..', import.meta.url));

// What is cut short must not leave its servers behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const folder = await mkdtemp(join(tmpdir(), 'genway-bench-'));
const postgres = await startPostgres({
  dataDir: join(folder, 'postgres'),
  port: await findFreePort(),
  password: 'bench',
});
process.env['GENWAY_TEST_DATABASE_URL'] = postgres.url;
const testDatabase = await createTestDatabase();
const { url: databaseUrl, database } = testDatabase;
const agent = new Agent({ connections: STREAMS });
const started: RunningProcess[] = [];
const keyPepper = randomBytes(32).toString('hex');

try {
  const upstreamUrl = await start('bench/text-servers/upstream.ts');
  const proxyUrl = await start('bench/text-servers/proxy.ts', { args: [upstreamUrl] });
  const gatewayUrl = await startGateway(upstreamUrl);
  const apiKey = await createApiKey();
  const target = (url: string): Target => ({ url: `${url}/v1/chat/completions`, apiKey });
  await Promise.all([proxyUrl, gatewayUrl].map((url) => load(target(url), ROUND_MS)));
  const rounds = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const proxy = await load(target(proxyUrl), ROUND_MS);
    rounds.push({ proxy, gateway: await load(target(gatewayUrl), ROUND_MS) });
  }
  const direct = await firstBytes(target(upstreamUrl));
  const added = await firstBytes(target(gatewayUrl));
  const streams = await streamAll(target(gatewayUrl), gatewayProcess().pid);
  report({ rounds, direct, added, streams });
} finally {
  await agent.close();
  await Promise.all(started.map((process) => process.stop(STOP_GRACE_MS)));
  await testDatabase.drop();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}

interface Target {
  readonly url: string;
  readonly apiKey: string;
}

/** Starts a server of the given file on a free port. @returns its address */
async function start(
  file: string,
  { args = [], env = {} }: { args?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
  port?: number,
): Promise<string> {
  const free = port ?? (await findFreePort());
  const child = await startProcess({
    command: process.execPath,
    args: ['--import', 'tsx', join(ROOT, file), String(free), ...args],
    env: { ...process.env, ...env },
    output: join(folder, 'servers.log'),
  });
  started.push(child);
  const url = `http://127.0.0.1:${free}`;
  await waitUntil(async () => (await request(url)).body.dump(), { timeoutMs: READY_TIMEOUT_MS });
  return url;
}

async function startGateway(upstreamUrl: string): Promise<string> {
  const upstreams = join(folder, 'upstreams.yaml');
  const baseUrl = `${upstreamUrl}/v1`;
  await writeFile(upstreams, JSON.stringify({ text: [{ name: 'simulator', base_url: baseUrl, api_key: 'none' }] }));
  const port = await findFreePort();
  const env = {
    DATABASE_URL: databaseUrl,
    GENWAY_HOME: folder,
    GENWAY_TEXT_PORT: String(port),
    GENWAY_PROVIDERS: upstreams,
    GENWAY_ADMIN_TOKEN: randomBytes(32).toString('hex'),
    GENWAY_KEY_PEPPER: keyPepper,
    GENWAY_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    GENWAY_RATE_LIMIT_RPM: '10000000',
  };
  return start('bin/text.ts', { env }, port);
}

function gatewayProcess(): RunningProcess {
  const gateway = started.at(-1);
  if (gateway === undefined) throw new Error('the gateway is started last');
  return gateway;
}

async function createApiKey(): Promise<string> {
  const apiKey = newApiKey();
  const account = await createAccount(database, { fundedUsd: 1_000_000 });
  await insertApiKey(database, {
    id: newId('apiKey'),
    accountId: account.id,
    digest: digestApiKey(apiKey, Buffer.from(keyPepper)),
    hint: 'bench',
    settings: {},
  });
  return apiKey;
}

/** @param pauseMs makes it a stream with that pause between its chunks */
function ask({ url, apiKey }: Target, pauseMs?: number) {
  return request(url, {
    method: 'POST',
    dispatcher: agent,
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'textd-v2.5',
      messages: [{ role: 'user', content: 'Tell me something about the world. '.repeat(15) }],
      ...(pauseMs !== undefined && { stream: true, user: `pause-${pauseMs}` }),
    }),
  });
}

/** @returns requests a second of clients that each wait for their answer */
async function load(target: Target, durationMs: number): Promise<number> {
  const startedAt = performance.now();
  let answered = 0;
  const client = async (): Promise<void> => {
    while (performance.now() - startedAt < durationMs) {
      const { statusCode, body } = await ask(target);
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`a request was refused: ${text}`);
      answered += 1;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return answered / seconds(startedAt);
}

/** @returns how long the first byte of each of some streams took, one stream after the other */
async function firstBytes(target: Target): Promise<number[]> {
  const durations: number[] = [];
  for (let count = 0; count < FIRST_BYTES; count += 1) {
    const startedAt = performance.now();
    const { body } = await ask(target, 0);
    let isFirst = true;
    for await (const chunk of body) {
      if (!(chunk instanceof Uint8Array)) throw new TypeError('a body gives bytes');
      if (isFirst) durations.push(performance.now() - startedAt);
      isFirst = false;
    }
  }
  return durations;
}

interface Streams {
  readonly seconds: number;
  readonly residentMegabytesBefore: number;
  readonly residentMegabytes: number;
}

/** Many streams at once, each of which has to arrive whole. */
async function streamAll(target: Target, pid: number): Promise<Streams> {
  const residentMegabytesBefore = residentMegabytesOf(pid);
  let residentMegabytes = residentMegabytesBefore;
  const watch = setInterval(() => {
    residentMegabytes = Math.max(residentMegabytes, residentMegabytesOf(pid));
  }, 500);
  const startedAt = performance.now();
  const one = async (): Promise<void> => {
    const { statusCode, body } = await ask(target, STREAM_PAUSE_MS);
    const text = await body.text();
    const chunks = text.split('"content":"word "').length - 1;
    if (statusCode !== 200 || chunks !== CHUNKS || !text.endsWith('data: [DONE]\n\n')) {
      throw new Error(`a stream is not whole: ${statusCode}, ${chunks} chunks`);
    }
  };
  await Promise.all(Array.from({ length: STREAMS }, one));
  clearInterval(watch);
  return { seconds: seconds(startedAt), residentMegabytesBefore, residentMegabytes };
}

function residentMegabytesOf(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)])) / 1024;
}

interface Measured {
  readonly rounds: readonly { readonly proxy: number; readonly gateway: number }[];
  readonly direct: readonly number[];
  readonly added: readonly number[];
  readonly streams: Streams;
}

function report({ rounds, direct, added, streams }: Measured): void {
  const gateway = mean(rounds.map((round) => round.gateway));
  const proxy = mean(rounds.map((round) => round.proxy));
  const addedAt = (share: number): number => rounded(percentile(added, share) - percentile(direct, share), 2);
  console.log(
    JSON.stringify({
      requests_per_second: rounded(gateway),
      bare_proxy_requests_per_second: rounded(proxy),
      share_of_bare_proxy: rounded(gateway / proxy, 2),
      first_byte_added_p50_ms: addedAt(0.5),
      first_byte_added_p95_ms: addedAt(0.95),
      concurrent_streams: STREAMS,
      chunks_per_stream: CHUNKS,
      streams_seconds: rounded(streams.seconds),
      resident_mb_before_streams: rounded(streams.residentMegabytesBefore),
      resident_mb_with_streams: rounded(streams.residentMegabytes),
      clients: CLIENTS,
      cores: cpus().length,
    }),
  );
}

function seconds(since: number): number {
  return (performance.now() - since) / 1000;
}
