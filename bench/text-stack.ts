/**
 * What the benchmarks of text run against, all on this machine: an upstream that costs next to nothing, a bare Node proxy in
 * front of it, the text process in front of it, and PostgreSQL with its usual durability.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Agent, type Dispatcher, request } from 'undici';
import { digestApiKey, newApiKey } from '../api/services/api-key-digest.ts';
import { type RunningProcess, startProcess } from '../bin/stack/child-process.ts';
import { findFreePort } from '../bin/stack/ports.ts';
import { startPostgres } from '../bin/stack/postgres.ts';
import { waitUntil } from '../bin/stack/wait-until.ts';
import type { Database } from '../db/database.ts';
import { insertApiKey } from '../db/queries/api-keys.ts';
import { newId } from '../domain/ids.ts';
import { createTestDatabase } from '../test/support/database.ts';
import { createAccount } from '../test/support/factories.ts';

export const MODEL = 'textd-v2.5';

const MAX_CONNECTIONS = 500;
const READY_TIMEOUT_MS = 60_000;
const STOP_GRACE_MS = 20_000;
const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Where requests go, and as whom. */
export interface Target {
  /** Of chat completions. */
  readonly url: string;
  readonly apiKey: string;
}

export interface TextStack {
  readonly database: Database;
  readonly databaseUrl: string;
  readonly upstream: Target;
  readonly proxy: Target;
  readonly gateway: Target;
  /** Of the text process. */
  readonly gatewayPid: number;
  /** Makes an account with a key. */
  createApiKey(): Promise<string>;
  /** The digest by which the database knows a key. */
  digest(apiKey: string): Buffer;
  /** Another text process on the same database, from a file that takes the place of `bin/text.ts`. */
  startGateway(file: string): Promise<Target>;
  /** @param pauseMs makes it a stream with that pause between its chunks */
  ask(target: Target, pauseMs?: number): Promise<Dispatcher.ResponseData>;
  stop(): Promise<void>;
}

export async function startTextStack(): Promise<TextStack> {
  const folder = await mkdtemp(join(tmpdir(), 'genway-bench-'));
  const postgres = await startPostgres({
    dataDir: join(folder, 'postgres'),
    port: await findFreePort(),
    password: 'bench',
  });
  process.env['GENWAY_TEST_DATABASE_URL'] = postgres.url;
  const testDatabase = await createTestDatabase();
  const { url: databaseUrl, database } = testDatabase;
  const agent = new Agent({ connections: MAX_CONNECTIONS });
  const started: RunningProcess[] = [];
  const keyPepper = randomBytes(32).toString('hex');

  /** Starts a server of the given file. */
  async function start(file: string, port: number, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const child = await startProcess({
      command: process.execPath,
      args: ['--import', 'tsx', join(ROOT, file), String(port), ...args],
      env: { ...process.env, ...env },
      output: join(folder, 'servers.log'),
    });
    started.push(child);
    const url = `http://127.0.0.1:${port}`;
    await waitUntil(async () => (await request(url)).body.dump(), { timeoutMs: READY_TIMEOUT_MS });
    return { url, pid: child.pid };
  }

  async function createApiKey(): Promise<string> {
    const apiKey = newApiKey();
    const account = await createAccount(database, { fundedUsd: 1_000_000 });
    await insertApiKey(database, {
      id: newId('apiKey'),
      accountId: account.id,
      digest: digest(apiKey),
      hint: 'bench',
      settings: {},
    });
    return apiKey;
  }

  function digest(apiKey: string): Buffer {
    return digestApiKey(apiKey, Buffer.from(keyPepper));
  }

  const upstream = await start('bench/text-servers/upstream.ts', await findFreePort(), []);
  const proxy = await start('bench/text-servers/proxy.ts', await findFreePort(), [upstream.url]);
  const upstreams = join(folder, 'upstreams.yaml');
  await writeFile(
    upstreams,
    JSON.stringify({ text: [{ name: 'simulator', base_url: `${upstream.url}/v1`, api_key: 'none' }] }),
  );

  async function startTextProcess(file: string) {
    const port = await findFreePort();
    return start(file, port, [], {
      DATABASE_URL: databaseUrl,
      GENWAY_HOME: folder,
      GENWAY_TEXT_PORT: String(port),
      GENWAY_PROVIDERS: upstreams,
      GENWAY_ADMIN_TOKEN: randomBytes(32).toString('hex'),
      GENWAY_KEY_PEPPER: keyPepper,
      GENWAY_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
      GENWAY_RATE_LIMIT_RPM: '10000000',
      GENWAY_SHUTDOWN_GRACE_S: '10',
    });
  }

  const apiKey = await createApiKey();
  const target = ({ url }: { url: string }): Target => ({ url: `${url}/v1/chat/completions`, apiKey });
  const gateway = await startTextProcess('bin/text.ts');

  return {
    database,
    databaseUrl,
    upstream: target(upstream),
    proxy: target(proxy),
    gateway: target(gateway),
    gatewayPid: gateway.pid,
    createApiKey,
    digest,
    startGateway: async (file) => target(await startTextProcess(file)),
    ask: (to, pauseMs) => ask(to, agent, pauseMs),
    stop: async () => {
      await agent.close();
      await Promise.all(started.map((child) => child.stop(STOP_GRACE_MS)));
      await testDatabase.drop();
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function ask({ url, apiKey }: Target, agent: Agent, pauseMs?: number): Promise<Dispatcher.ResponseData> {
  return request(url, {
    method: 'POST',
    dispatcher: agent,
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: MODEL,
      messages: [{ role: 'user', content: 'Tell me something about the world. '.repeat(15) }],
      ...(pauseMs !== undefined && { stream: true, user: `pause-${pauseMs}` }),
    }),
  });
}

/** How long each of the requests took of clients that each wait for their answer, for so long. */
export interface Load {
  readonly requestsPerSecond: number;
  readonly requestMs: readonly number[];
}

/** @throws when a request is refused */
export async function load(stack: TextStack, target: Target, clients: number, durationMs: number): Promise<Load> {
  const startedAt = performance.now();
  const requestMs: number[] = [];
  const client = async (): Promise<void> => {
    while (performance.now() - startedAt < durationMs) {
      const askedAt = performance.now();
      const { statusCode, body } = await stack.ask(target);
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`a request was refused: ${text}`);
      requestMs.push(performance.now() - askedAt);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return { requestsPerSecond: requestMs.length / ((performance.now() - startedAt) / 1000), requestMs };
}
