/**
 * Measures the cost of text, with every request held, settled and recorded, beside two bare Node proxies in the same
 * run: requests a second, CPU time per request, latency at a steady rate, the added time to the first byte, and 1,000
 * streams with their memory and the added time of each chunk, started within three seconds and all at once. Prints
 * one JSON line. All requests are of one account, with one key.
 * With `--cluster`, PostgreSQL has a synchronous standby, and two idle nodes of Temporal run beside it.
 */
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { mean, percentile, rounded } from './statistics.ts';
import { firstBytesMs } from './load/first-bytes.ts';
import { createPlainClient } from './load/plain-client.ts';
import { cpuTimeUs, residentMegabytesOf } from './load/processes.ts';
import { arriveAt } from './load/steady.ts';
import { chatRequest, load, startTextStack, type Target } from './text-stack.ts';

const CLIENTS = [1, 32, 128] as const;
const ROUNDS = 3;
const ROUND_SECONDS = 5;
/** The steady rate is this share of the rate at which 32 clients saturate the gateway. */
const STEADY_SHARE = 0.6;
const STEADY_SECONDS = 6;
/** The time in which clients open their connections; its answers do not count. */
const STEADY_WARM_UP_SECONDS = 1;
const FIRST_BYTES = 200;
const STREAMS = 1_000;
/** A rate that keeps about half of two cores busy, with the clients and the upstream. */
const STREAM_PAUSE_MS = 100;
const CHUNKS = 200;
/** The time over which streams start; at once, a second's worth of requests delays the first chunks. */
const STARTS_MS = { spread: 3_000, atOnce: 0 } as const;

const { values } = parseArgs({ options: { cluster: { type: 'boolean', default: false } } });
const stack = await startTextStack({ isCluster: values.cluster });
try {
  const { gateway } = stack;
  const throughput: Throughput[] = [];
  for (const clients of CLIENTS) throughput.push(await compare(clients));
  const steady = await arriveSteadily(throughput.find(({ clients }) => clients === 32)?.requests_per_second ?? 0);
  const direct = await firstBytesMs(() => stack.ask(stack.upstream, 0), FIRST_BYTES);
  const added = await firstBytesMs(() => stack.ask(gateway, 0), FIRST_BYTES);
  const spread = await compareStreams(STARTS_MS.spread);
  const atOnce = await compareStreams(STARTS_MS.atOnce);
  report({ throughput, steady, direct, added, spread, atOnce });
} finally {
  await stack.stop();
}

/** Figures by name. */
type Figures = Readonly<Record<string, number>>;

interface Throughput extends Figures {
  readonly clients: number;
  readonly requests_per_second: number;
}

/** One round of each. */
interface Round {
  /** Requests a second. */
  readonly proxy: number;
  readonly leanProxy: number;
  readonly gateway: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Above the bare proxy's. */
  readonly addedP50Ms: number;
  readonly addedP99Ms: number;
  /** CPU time per request. */
  readonly textUs: number;
  readonly postgresUs: number;
}

/** Loads the proxies and the gateway in turn. */
async function compare(clients: number): Promise<Throughput> {
  const { proxy, leanProxy, gateway, pids } = stack;
  for (const target of [proxy, leanProxy, gateway]) await load(target, clients, ROUND_SECONDS);
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const bare = await load(proxy, clients, ROUND_SECONDS);
    const lean = await load(leanProxy, clients, ROUND_SECONDS);
    const [textUs, postgresUs] = [cpuTimeUs(pids.gateway), cpuTimeUs(pids.postgres)];
    const served = await load(gateway, clients, ROUND_SECONDS);
    rounds.push({
      proxy: bare.requestsPerSecond,
      leanProxy: lean.requestsPerSecond,
      gateway: served.requestsPerSecond,
      p50Ms: served.p50Ms,
      p99Ms: served.p99Ms,
      addedP50Ms: served.p50Ms - bare.p50Ms,
      addedP99Ms: served.p99Ms - bare.p99Ms,
      textUs: (cpuTimeUs(pids.gateway) - textUs) / served.requests,
      postgresUs: (cpuTimeUs(pids.postgres) - postgresUs) / served.requests,
    });
  }
  const meanOf = (name: keyof Round): number => mean(rounds.map((round) => round[name]));
  return {
    clients,
    requests_per_second: rounded(meanOf('gateway')),
    bare_proxy_requests_per_second: rounded(meanOf('proxy')),
    lean_proxy_requests_per_second: rounded(meanOf('leanProxy')),
    share_of_bare_proxy: rounded(meanOf('gateway') / meanOf('proxy'), 2),
    share_of_lean_proxy: rounded(meanOf('gateway') / meanOf('leanProxy'), 2),
    p50_ms: rounded(meanOf('p50Ms'), 2),
    p99_ms: rounded(meanOf('p99Ms'), 2),
    added_p50_ms: rounded(meanOf('addedP50Ms'), 2),
    added_p99_ms: rounded(meanOf('addedP99Ms'), 2),
    text_cpu_us_per_request: rounded(meanOf('textUs'), 0),
    postgres_cpu_us_per_request: rounded(meanOf('postgresUs'), 0),
  };
}

/** The latency of the proxy and of the gateway, by turns, when requests arrive at the same steady rate. */
async function arriveSteadily(saturationPerSecond: number): Promise<Figures> {
  const perSecond = Math.round(saturationPerSecond * STEADY_SHARE);
  const latenciesOf = async (target: Target): Promise<number[]> => {
    const client = createPlainClient(chatRequest(target));
    const answers = await arriveAt(perSecond, STEADY_SECONDS, async () => {
      const status = await client.send();
      if (status !== 200) throw new Error(`a request was answered ${status}`);
    }).finally(() => client.close());
    return answers.slice(perSecond * STEADY_WARM_UP_SECONDS).map(({ latencyMs }) => latencyMs);
  };
  const proxy: number[] = [];
  const gateway: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    proxy.push(...(await latenciesOf(stack.proxy)));
    gateway.push(...(await latenciesOf(stack.gateway)));
  }
  const figuresAt = (share: number, name: string): Figures => ({
    [`${name}_ms`]: rounded(percentile(gateway, share), 2),
    [`added_${name}_ms`]: rounded(percentile(gateway, share) - percentile(proxy, share), 2),
  });
  return { requests_per_second: perSecond, ...figuresAt(0.5, 'p50'), ...figuresAt(0.99, 'p99') };
}

interface Streams {
  readonly residentMegabytesBefore: number;
  readonly residentMegabytes: number;
  /** From the upstream to the client, for each chunk. */
  readonly chunkMs: readonly number[];
}

/** Streams of the upstream itself, and then of the gateway. */
async function compareStreams(startsMs: number): Promise<Figures> {
  const direct = await streamAll(stack.upstream, startsMs);
  const streams = await streamAll(stack.gateway, startsMs);
  const addedAt = (share: number): number =>
    rounded(percentile(streams.chunkMs, share) - percentile(direct.chunkMs, share), 2);
  return {
    chunk_added_p50_ms: addedAt(0.5),
    chunk_added_p99_ms: addedAt(0.99),
    resident_mb_before: rounded(streams.residentMegabytesBefore),
    resident_mb: rounded(streams.residentMegabytes),
  };
}

/** Many concurrent streams, each of which must arrive complete. */
async function streamAll(target: Target, startsMs: number): Promise<Streams> {
  const { gateway: pid } = stack.pids;
  const residentMegabytesBefore = residentMegabytesOf(pid);
  let residentMegabytes = residentMegabytesBefore;
  const chunkMs: number[] = [];
  const watch = setInterval(() => {
    residentMegabytes = Math.max(residentMegabytes, residentMegabytesOf(pid));
  }, 500);
  const one = async (index: number): Promise<void> => {
    await sleep((index * startsMs) / STREAMS);
    const { statusCode, body } = await stack.ask(target, STREAM_PAUSE_MS);
    let chunks = 0;
    let rest = '';
    let isWhole = false;
    for await (const part of body.setEncoding('utf8')) {
      const now = performance.timeOrigin + performance.now();
      const text = rest + String(part);
      const lines = text.slice(0, text.lastIndexOf('\n') + 1);
      rest = text.slice(lines.length);
      for (const [, sentAt] of lines.matchAll(/sent at ([\d.]+)/g)) {
        chunks += 1;
        chunkMs.push(now - Number(sentAt));
      }
      if (lines.endsWith('data: [DONE]\n\n')) isWhole = true;
    }
    if (statusCode !== 200 || chunks !== CHUNKS || !isWhole) {
      throw new Error(`a stream is not whole: ${statusCode}, ${chunks} chunks`);
    }
  };
  await Promise.all(Array.from({ length: STREAMS }, (_, index) => one(index)));
  clearInterval(watch);
  return { residentMegabytesBefore, residentMegabytes, chunkMs };
}

interface Measured {
  readonly throughput: readonly Figures[];
  readonly steady: Figures;
  readonly direct: readonly number[];
  readonly added: readonly number[];
  readonly spread: Figures;
  readonly atOnce: Figures;
}

function report({ throughput, steady, direct, added, spread, atOnce }: Measured): void {
  const addedAt = (share: number): number => rounded(percentile(added, share) - percentile(direct, share), 2);
  console.log(
    JSON.stringify({
      throughput,
      steady,
      first_byte_added_p50_ms: addedAt(0.5),
      first_byte_added_p95_ms: addedAt(0.95),
      concurrent_streams: STREAMS,
      chunks_per_stream: CHUNKS,
      streams_that_start_within_3_seconds: spread,
      streams_that_start_at_once: atOnce,
      cores: cpus().length,
    }),
  );
}
