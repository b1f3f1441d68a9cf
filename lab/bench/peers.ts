/**
 * Compares Genway with other gateways and a bare Node proxy, on one upstream and the same requests: whole and streamed,
 * with 1, 32 and 256 clients, at steady rates, the first byte, and memory. Installs missing peers into the cache folder.
 * Prints three Markdown tables. `--rounds` and `--seconds` set the duration: 2 minutes per round at 2 seconds.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { findFreePort } from '../../bin/stack/ports.ts';
import { type RunningProcess, startProcess } from '../../bin/stack/child-process.ts';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { childEnvironment } from '../../config.ts';
import { nodeWith, pythonWith } from '../stack/packages.ts';
import { firstBytesMs } from './load/first-bytes.ts';
import { cpuTimeUs, residentMegabytesOf } from './load/processes.ts';
import { arriveAt } from './load/steady.ts';
import type { Load } from './load/wrk.ts';
import { mean, percentile, rounded } from './statistics.ts';
import { load, loadAtAnyRate, MODEL, startTextStack, type Target } from './text-stack.ts';

const CLIENTS = [1, 32, 256] as const;
/** Requests per second: one for every gateway, and one for those that can answer it. */
const STEADY_RATES = [40, 400] as const;
/** A gateway is measured at a rate if it has answered this many times as many requests per second. */
const STEADY_ROOM = 1.3;
/** Each round at a steady rate takes this many times as long as the others, because fewer requests come. */
const STEADY_ROUNDS_LONGER = 5;
/** Between the chunks of a stream; there are 200. */
const STREAM_PAUSE_MS = 1;
const FIRST_BYTES = 100;
const WARM_UP_SECONDS = 2;
/** For requests that the clients left unfinished. */
const PAUSE_MS = 500;
const START_TIMEOUT_MS = 120_000;
const STOP_GRACE_MS = 5_000;
const PORTKEY_VERSION = '1.15.2';
const LITELLM_VERSION = '1.106.2';

/** A measured gateway. */
interface Peer {
  readonly name: string;
  readonly target: Target;
  /** The ids of the processes whose CPU time counts. */
  readonly pids: readonly number[];
  /** The process among them that serves requests. */
  readonly serverPid: number;
}

interface Row extends Load {
  readonly peer: string;
  readonly streamed: boolean;
  readonly clients: number;
  /** CPU time per request. */
  readonly cpuUs: number;
}

/** A round at a steady rate. */
interface SteadyRow {
  readonly peer: string;
  readonly perSecond: number;
  readonly latenciesMs: readonly number[];
  /** CPU time per request. */
  readonly cpuUs: number;
}

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '2' }, seconds: { type: 'string', default: '4' } },
});
const rounds = Number(options.rounds);
const seconds = Number(options.seconds);
const started: RunningProcess[] = [];
const stack = await startTextStack();
try {
  const peers = await startPeers();
  const rows: Row[] = [];
  for (const peer of peers) await load(peer.target, CLIENTS[1], WARM_UP_SECONDS);
  for (const streamed of [false, true]) {
    for (const clients of CLIENTS) {
      for (let round = 0; round < rounds; round += 1) {
        for (const peer of peers) rows.push(await measure(peer, clients, streamed));
      }
    }
  }
  printTable(rows, peers);
  printSteadyTable(await measureSteadily(rows, peers));
  await printFirstBytes(peers);
} finally {
  await Promise.all(started.map((server) => server.stop(STOP_GRACE_MS)));
  await stack.stop();
}

async function startPeers(): Promise<readonly Peer[]> {
  const { proxy, gateway, pids } = stack;
  const others = await Promise.all([startPortkey(), startLiteLlm()].map((start) => start.catch(explainAbsence)));
  return [
    { name: 'bare Node proxy', target: proxy, pids: [pids.proxy], serverPid: pids.proxy },
    { name: 'Genway', target: gateway, pids: [pids.gateway, pids.postgres], serverPid: pids.gateway },
    ...others.filter((peer) => peer !== null),
  ];
}

function explainAbsence(error: unknown): null {
  console.error(`left out: ${error instanceof Error ? error.message : String(error)}`);
  return null;
}

async function measure({ name, target, pids }: Peer, clients: number, streamed: boolean): Promise<Row> {
  await sleep(PAUSE_MS);
  const beforeUs = cpuUsOf(pids);
  const done = await loadAtAnyRate(target, clients, seconds, streamed ? STREAM_PAUSE_MS : undefined);
  return { peer: name, streamed, clients, ...done, cpuUs: (cpuUsOf(pids) - beforeUs) / Math.max(done.requests, 1) };
}

function cpuUsOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuTimeUs(pid), 0);
}

async function startPortkey(): Promise<Peer> {
  const folder = await nodeWith([`@portkey-ai/gateway@${PORTKEY_VERSION}`]);
  const server = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  const port = await findFreePort();
  const pid = await serve(process.execPath, [server, `--port=${port}`, '--headless'], port, { NODE_ENV: 'production' });
  const headers = {
    ...stack.upstream.headers,
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': stack.upstream.url.replace(/\/chat\/completions$/, ''),
  };
  return { name: `Portkey ${PORTKEY_VERSION}`, target: { url: chatUrl(port), headers }, pids: [pid], serverPid: pid };
}

async function startLiteLlm(): Promise<Peer> {
  const program = join(await pythonWith([`litellm[proxy]==${LITELLM_VERSION}`]), 'litellm');
  const key = 'sk-litellm';
  const config = join(stack.home, 'litellm.yaml');
  const upstream = {
    model: `openai/${MODEL}`,
    api_base: stack.upstream.url.replace(/\/chat\/completions$/, ''),
    api_key: key,
  };
  await writeFile(
    config,
    JSON.stringify({
      model_list: [{ model_name: MODEL, litellm_params: upstream }],
      general_settings: { master_key: key },
    }),
  );
  const port = await findFreePort();
  const args = ['--config', config, '--port', String(port), '--host', '127.0.0.1'];
  const pid = await serve(program, args, port, { LITELLM_LOG: 'ERROR', PYTHONUNBUFFERED: '1' });
  const headers = { authorization: `Bearer ${key}` };
  return { name: `LiteLLM ${LITELLM_VERSION}`, target: { url: chatUrl(port), headers }, pids: [pid], serverPid: pid };
}

/** @returns its pid, once it answers */
async function serve(
  command: string,
  args: readonly string[],
  port: number,
  settings: Readonly<Record<string, string>>,
): Promise<number> {
  const env = { ...childEnvironment({}), ...settings };
  const server = await startProcess({ command, args, env, output: join(stack.home, 'peers.log') });
  started.push(server);
  await waitUntil(() => fetch(`http://127.0.0.1:${port}/`), { timeoutMs: START_TIMEOUT_MS });
  return server.pid;
}

function chatUrl(port: number): string {
  return `http://127.0.0.1:${port}/v1/chat/completions`;
}

/** A line for each kind of answer, number of clients and peer, with the means over the rounds. */
function printTable(rows: readonly Row[], peers: readonly Peer[]): void {
  console.log('| answers | clients | gateway | requests/s | failed | p50 ms | p99 ms | CPU µs a request |');
  console.log('|---|---|---|---|---|---|---|---|');
  for (const streamed of [false, true]) {
    for (const clients of CLIENTS) {
      for (const { name } of peers) {
        const own = rows.filter((row) => row.streamed === streamed && row.clients === clients && row.peer === name);
        const isSlow = own.some(({ requests }) => requests === 0);
        const meanOf = (figure: (row: Row) => number, digits = 1): number | string =>
          isSlow ? 'none' : rounded(mean(own.map(figure)), digits);
        const cells = [
          streamed ? 'streamed' : 'whole',
          clients,
          name,
          meanOf(({ requestsPerSecond }) => requestsPerSecond),
          own.reduce((sum, { failed }) => sum + failed, 0),
          meanOf(({ p50Ms }) => p50Ms),
          meanOf(({ p99Ms }) => p99Ms),
          meanOf(({ cpuUs }) => cpuUs, 0),
        ];
        console.log(`| ${cells.join(' | ')} |`);
      }
    }
  }
}

/** Whole answers to requests that arrive at a steady rate, by turns. */
async function measureSteadily(rows: readonly Row[], peers: readonly Peer[]): Promise<readonly SteadyRow[]> {
  const fastest = ({ name }: Peer): number =>
    Math.max(...rows.filter((row) => row.peer === name && !row.streamed).map((row) => row.requestsPerSecond));
  const steady: SteadyRow[] = [];
  for (const perSecond of STEADY_RATES) {
    for (let round = 0; round < rounds; round += 1) {
      for (const peer of peers.filter((one) => fastest(one) > perSecond * STEADY_ROOM)) {
        await sleep(PAUSE_MS);
        const beforeUs = cpuUsOf(peer.pids);
        const answers = await arriveAt(perSecond, seconds * STEADY_ROUNDS_LONGER, () => askWhole(peer));
        const cpuUs = (cpuUsOf(peer.pids) - beforeUs) / answers.length;
        steady.push({ peer: peer.name, perSecond, latenciesMs: answers.map(({ latencyMs }) => latencyMs), cpuUs });
      }
    }
  }
  return steady;
}

/** A line for each rate and peer. */
function printSteadyTable(rows: readonly SteadyRow[]): void {
  console.log('\n| requests per second | gateway | p50 ms | p99 ms | slowest ms | CPU µs per request |');
  console.log('|---|---|---|---|---|---|');
  for (const perSecond of STEADY_RATES) {
    const atRate = rows.filter((row) => row.perSecond === perSecond);
    for (const name of new Set(atRate.map(({ peer }) => peer))) {
      const own = atRate.filter(({ peer }) => peer === name);
      const latenciesMs = own.flatMap((row) => row.latenciesMs);
      const msAt = (share: number): number => rounded(percentile(latenciesMs, share));
      const cells = [perSecond, name, msAt(0.5), msAt(0.99), msAt(1), rounded(mean(own.map(({ cpuUs }) => cpuUs)), 0)];
      console.log(`| ${cells.join(' | ')} |`);
    }
  }
}

async function askWhole({ name, target }: Peer): Promise<void> {
  const { statusCode, body } = await stack.ask(target);
  await body.dump();
  if (statusCode !== 200) throw new Error(`${name} answered ${statusCode}`);
}

/** Measured after the load. */
async function printFirstBytes(peers: readonly Peer[]): Promise<void> {
  console.log('\n| gateway | first byte, p50 ms, one client | memory after the load, MB |');
  console.log('|---|---|---|');
  for (const { name, target, serverPid } of peers) {
    const durations = await firstBytesMs(() => stack.ask(target, 0), FIRST_BYTES);
    const firstByteMs = durations.length > 0 ? rounded(percentile(durations, 0.5), 2) : 'none';
    console.log(`| ${name} | ${firstByteMs} | ${rounded(residentMegabytesOf(serverPid), 0)} |`);
  }
}
