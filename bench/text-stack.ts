/**
 * What the benchmarks of text run against, all on this machine: an upstream that costs next to nothing, a bare Node proxy in
 * front of it, the text process in front of it, and PostgreSQL with its usual durability.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Agent, type Dispatcher, request } from 'undici';
import { digestApiKey, newApiKey } from '../api/services/api-key-digest.ts';
import type { RunningProcess } from '../bin/stack/child-process.ts';
import { findFreePort } from '../bin/stack/ports.ts';
import { childEnvironment } from '../config.ts';
import { createDatabase, type Database } from '../db/database.ts';
import { insertApiKey } from '../db/queries/api-keys.ts';
import { newId } from '../domain/ids.ts';
import { createAccount } from '../test/support/factories.ts';
import { startServer } from './stack/node-process.ts';
import { startStack } from './stack/stack.ts';

export const MODEL = 'textd-v2.5';

const MAX_CONNECTIONS = 500;
const DATABASE_CONNECTIONS = 10;
const STOP_GRACE_MS = 20_000;

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
  const keyPepper = randomBytes(32).toString('hex');
  const upstreamPort = await findFreePort();
  const stack = await startStack({
    processes: { api: 0, text: 1, worker: 0 },
    upstreams: () => ({ text: [{ name: 'simulator', base_url: `${urlOf(upstreamPort)}/v1`, api_key: 'none' }] }),
    settings: { GENWAY_KEY_PEPPER: keyPepper, GENWAY_RATE_LIMIT_RPM: '10000000' },
  });
  const database = createDatabase(stack.databaseUrl, DATABASE_CONNECTIONS);
  const agent = new Agent({ connections: MAX_CONNECTIONS });
  const servers: RunningProcess[] = [];

  async function serve(file: string, port: number, args: readonly string[]): Promise<string> {
    const options = { env: childEnvironment({}), logFile: join(stack.home, 'servers.log'), url: urlOf(port) };
    servers.push(await startServer(file, [String(port), ...args], options));
    return options.url;
  }

  function digest(apiKey: string): Buffer {
    return digestApiKey(apiKey, Buffer.from(keyPepper));
  }

  async function createApiKey(): Promise<string> {
    const apiKey = newApiKey();
    const account = await createAccount(database, { fundedUsd: 1_000_000 });
    await insertApiKey(database, {
      id: newId('apiKey'),
      accountId: account.id,
      digest: digest(apiKey),
      pepperMark: '',
      hint: 'bench',
      settings: {},
    });
    return apiKey;
  }

  const upstreamUrl = await serve('bench/text-servers/upstream.ts', upstreamPort, []);
  const proxyUrl = await serve('bench/text-servers/proxy.ts', await findFreePort(), [upstreamUrl]);
  const apiKey = await createApiKey();
  const target = (url = ''): Target => ({ url: `${url}/v1/chat/completions`, apiKey });

  return {
    database,
    databaseUrl: stack.databaseUrl,
    upstream: target(upstreamUrl),
    proxy: target(proxyUrl),
    gateway: target(stack.textUrls.get('text-1')),
    gatewayPid: stack.members.find(({ role }) => role === 'text')?.pid() ?? 0,
    createApiKey,
    digest,
    startGateway: async (file) => target(await stack.join('text', file)),
    ask: (to, pauseMs) => ask(to, agent, pauseMs),
    stop: async () => {
      await agent.close();
      await Promise.all(servers.map((server) => server.stop(STOP_GRACE_MS)));
      await database.destroy();
      await stack.stop();
    },
  };
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
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
