/**
 * The servers of the text benchmarks, all on this machine: an upstream that costs almost nothing, a bare and a lean
 * Node proxy and the text process, each in front of it, and PostgreSQL with its usual durability.
 */
import { randomBytes } from 'node:crypto';
import { copyFile, cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, type Dispatcher, request } from 'undici';
import { digestApiKey, newApiKey } from '../../services/people/api-key-digest.ts';
import type { RunningProcess } from '../../bin/stack/child-process.ts';
import { findFreePort } from '../../bin/stack/ports.ts';
import { DEFAULT_CATALOGUE } from '../../catalogue/load.ts';
import { childEnvironment } from '../../config.ts';
import { createDatabase, type Database } from '../../db/database.ts';
import { createAccount, createKey } from '../../test/support/factories.ts';
import { type Load, type LoadTarget, putLoad } from './load/wrk.ts';
import type { Role } from '../stack/member.ts';
import { expectAnswer, runNode, startUntil } from '../../bin/stack/node-process.ts';
import { type Settings, startStack } from '../stack/stack.ts';

export const MODEL = 'textd-v2.5';

/** The compiled program, as in production: the loader of development adds code to every function. */
export const BUILD = '.genway/bench';
const GATEWAY = `${BUILD}/bin/text.js`;
const MAX_CONNECTIONS = 500;
const DATABASE_CONNECTIONS = 10;
const STOP_GRACE_MS = 20_000;

/** The target of requests, and their key. */
export interface Target {
  /** The address of chat completions. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface TextStack {
  /** The folder for state and logs. */
  readonly home: string;
  readonly database: Database;
  readonly databaseUrl: string;
  readonly upstream: Target;
  readonly proxy: Target;
  readonly leanProxy: Target;
  readonly gateway: Target;
  readonly pids: { readonly proxy: number; readonly gateway: number; readonly postgres: number };
  /** Creates an account with a key. */
  createApiKey(): Promise<string>;
  /** The digest of a key in the database. */
  digest(apiKey: string): Buffer;
  /**
   * Another text process on the same database.
   *
   * @param name a file of `text-servers` that replaces `bin/text.ts`
   * @param settings variables of its environment
   */
  startGateway(name?: string, settings?: Settings): Promise<Target & { readonly pid: number }>;
  /** @param pauseMs makes it a stream with that pause between its chunks */
  ask(target: Target, pauseMs?: number, model?: string): Promise<Dispatcher.ResponseData>;
  stop(): Promise<void>;
}

interface TextStackOptions {
  /** Beside the answering upstream, which is called `simulator`. */
  readonly moreUpstreams?: (answeringUrl: string) => readonly object[];
  /** A catalogue that replaces the one of Genway. */
  readonly catalogue?: string;
  /** @see StackOptions */
  readonly isCluster?: boolean;
}

export async function startTextStack(options: TextStackOptions = {}): Promise<TextStack> {
  await build();
  const keyPepper = randomBytes(32).toString('hex');
  const upstreamPort = await findFreePort();
  const stack = await startMembers(keyPepper, upstreamPort, options);
  const database = createDatabase(stack.databaseUrl, DATABASE_CONNECTIONS);
  const agent = new Agent({ connections: MAX_CONNECTIONS });
  const servers: RunningProcess[] = [];

  async function serve(file: string, port: number, args: readonly string[]): Promise<string> {
    const url = urlOf(port);
    const options = { env: childEnvironment({}), logFile: join(stack.home, 'servers.log') };
    const program = `${BUILD}/lab/bench/text-servers/${file}`;
    servers.push(await startUntil(() => expectAnswer(url), program, [String(port), ...args], options));
    return url;
  }

  function digest(apiKey: string): Buffer {
    return digestApiKey(apiKey, Buffer.from(keyPepper));
  }

  async function createApiKey(): Promise<string> {
    const apiKey = newApiKey();
    const account = await createAccount(database, { fundedUsd: 1_000_000 });
    await createKey(database, account, {}, digest(apiKey));
    return apiKey;
  }

  const upstreamUrl = await serve('upstream.js', upstreamPort, []);
  const proxyUrl = await serve('proxy.js', await findFreePort(), [upstreamUrl]);
  const leanProxyUrl = await serve('lean-proxy.js', await findFreePort(), [upstreamUrl]);
  const { url: gatewayUrl } = await stack.join('text', { file: GATEWAY });
  const apiKey = await createApiKey();
  const target = (url: string): Target => ({
    url: `${url}/v1/chat/completions`,
    headers: { authorization: `Bearer ${apiKey}` },
  });
  const memberPid = (role: Role): number => stack.members.find((member) => member.role === role)?.pid() ?? 0;

  return {
    home: stack.home,
    database,
    databaseUrl: stack.databaseUrl,
    upstream: target(upstreamUrl),
    proxy: target(proxyUrl),
    leanProxy: target(leanProxyUrl),
    gateway: target(gatewayUrl),
    pids: { proxy: servers[1]?.pid ?? 0, gateway: memberPid('text'), postgres: memberPid('postgres') },
    createApiKey,
    digest,
    startGateway: async (name, settings) => {
      const file = name === undefined ? GATEWAY : `${BUILD}/lab/bench/text-servers/${name}`;
      const member = await stack.join('text', { file, ...(settings && { settings }) });
      return { ...target(member.url), pid: member.pid() };
    },
    ask: (to, pauseMs, model) => ask(to, agent, bodyOf(pauseMs, model)),
    stop: async () => {
      await agent.close();
      await Promise.all(servers.map((server) => server.stop(STOP_GRACE_MS)));
      await database.destroy();
      await stack.stop();
    },
  };
}

/** PostgreSQL, and the settings of text processes. */
function startMembers(
  keyPepper: string,
  upstreamPort: number,
  { moreUpstreams = () => [], catalogue, isCluster = false }: TextStackOptions,
): ReturnType<typeof startStack> {
  return startStack({
    processes: { api: 0, text: 0, worker: 0 },
    isCluster,
    upstreams: () => ({
      text: [
        { name: 'simulator', base_url: `${urlOf(upstreamPort)}/v1`, api_key: 'none' },
        ...moreUpstreams(urlOf(upstreamPort)),
      ],
    }),
    settings: {
      // As in the image: a text process warms up.
      NODE_ENV: 'production',
      GENWAY_KEY_PEPPER: keyPepper,
      GENWAY_RATE_LIMIT_RPM: '10000000',
      ...(catalogue !== undefined && { GENWAY_CATALOGUE: catalogue }),
    },
  });
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/** Compiles the measured programs. */
async function build(): Promise<void> {
  const logFile = join(await mkdtemp(join(tmpdir(), 'genway-build-')), 'tsc.log');
  await runNode('node_modules/typescript/bin/tsc', ['-p', 'lab/bench/tsconfig.json'], {
    env: childEnvironment({}),
    logFile,
  });
  const root = join(import.meta.dirname, '../..');
  await copyFile(DEFAULT_CATALOGUE, join(root, BUILD, 'catalogue/catalogue.yaml'));
  for (const folder of ['db/schema', 'db/functions']) {
    await cp(join(root, folder), join(root, BUILD, folder), { recursive: true });
  }
}

function ask({ url, headers }: Target, agent: Agent, body: string): Promise<Dispatcher.ResponseData> {
  return request(url, {
    method: 'POST',
    dispatcher: agent,
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  });
}

/** A chat request. @param pauseMs makes its answer a stream with that pause between the chunks */
function bodyOf(pauseMs?: number, model = MODEL): string {
  return JSON.stringify({
    model,
    messages: [{ role: 'user', content: 'Tell me something about the world. '.repeat(15) }],
    ...(pauseMs !== undefined && { stream: true, user: `pause-${pauseMs}` }),
  });
}

/** A chat request, whole or streamed with that pause. */
export function chatRequest(target: Target, pauseMs?: number, model?: string): LoadTarget {
  return { ...target, body: bodyOf(pauseMs, model) };
}

/** Loads a server with chat requests, whole or streamed with that pause. */
export function loadAtAnyRate(target: Target, clients: number, seconds: number, pauseMs?: number): Promise<Load> {
  return putLoad(chatRequest(target, pauseMs), clients, seconds);
}

/** Loads a server with chat requests. @throws Error when one fails */
export async function load(target: Target, clients: number, seconds: number): Promise<Load> {
  const done = await loadAtAnyRate(target, clients, seconds);
  if (done.failed > 0) throw new Error(`${target.url}: ${done.failed} of ${done.requests} requests failed`);
  return done;
}
