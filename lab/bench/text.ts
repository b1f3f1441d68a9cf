/**
 * Measures the cost of text, with every request held, settled and recorded, beside two bare Node proxies in the same
 * run. Each part prints one JSON line as it ends, with the machine's speed before and after it:
 *
 * - `throughput`: requests a second and CPU time per request, for 1, 32 and 128 clients
 * - `steady`: the added latency at half of the rate of 32 clients, over a minute
 * - `first-bytes`: the added time to the first byte of a stream
 * - `streams`: 1,000 streams with their memory and the added time of each chunk, started within three seconds and at once
 * - `start`: the CPU time per request of a new process in its first two seconds
 *
 * `--parts throughput,steady` runs these parts alone. All requests are of one account, with one key. With `--cluster`,
 * PostgreSQL has a synchronous standby, and two idle nodes of Temporal run beside it.
 */
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile, rounded } from './statistics.ts';
import { firstBytesMs } from './load/first-bytes.ts';
import { createPlainClient } from './load/plain-client.ts';
import { cpuTimeUs, residentMegabytesOf } from './load/processes.ts';
import { arriveAt } from './load/steady.ts';
import { reportPart } from './report-part.ts';
import { chatRequest, load, startTextStack, type Target } from './text-stack.ts';

const CLIENTS = [1, 32, 128] as const;
const ROUNDS = 3;
const ROUND_SECONDS = 5;
/** The steady rate is this share of the rate at which 32 clients saturate the gateway. */
const STEADY_SHARE = 0.5;
const STEADY_SECONDS = 20;
/** The time in which clients open their connections and both servers warm up; its answers do not count. */
const STEADY_WARM_UP_SECONDS = 15;
const SLOW_MS = 100;
const FIRST_BYTES = 200;
const STREAMS = 1_000;
/** A rate that keeps about half of two cores busy, with the clients and the upstream. */
const STREAM_PAUSE_MS = 100;
const CHUNKS = 200;
/** The time over which streams start; at once, a second's worth of requests delays the first chunks. */
const STARTS_MS = { spread: 3_000, atOnce: 0 } as const;
const START_SECONDS = 2;

const PARTS: Readonly<Record<string, () => Promise<object>>> = {
  throughput: compareThroughput,
  steady: arriveSteadily,
  'first-bytes': compareFirstBytes,
  streams: compareAllStreams,
  start: measureStart,
};

const { values } = parseArgs({
  options: {
    cluster: { type: 'boolean', default: false },
    parts: { type: 'string', default: Object.keys(PARTS).join() },
  },
});
const parts = values.parts.split(',').map((name) => {
  const measure = PARTS[name];
  if (!measure) throw new Error(`there is no part ${name}: choose from ${Object.keys(PARTS).join(', ')}`);
  return { name, measure };
});
const stack = await startTextStack({ isCluster: values.cluster });
try {
  for (const { name, measure } of parts) await reportPart(name, measure);
} finally {
  await stack.stop();
}

/** Figures by name. */
type Figures = Readonly<Record<string, number>>;

/** One round of each. */
interface Round {
  /** Requests a second. */
  readonly proxy: number;
  readonly leanProxy: number;
  readonly gateway: number;
  readonly shareOfProxy: number;
  readonly shareOfLeanProxy: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Above the bare proxy's. */
  readonly addedP50Ms: number;
  readonly addedP99Ms: number;
  /** CPU time per request. */
  readonly textUs: number;
  readonly postgresUs: number;
}

async function compareThroughput(): Promise<object> {
  const throughput: object[] = [];
  for (const clients of CLIENTS) throughput.push(await compare(clients));
  return { throughput };
}

/** Loads the proxies and the gateway in turn. @returns the median of each figure, and the least and most of shares */
async function compare(clients: number): Promise<object> {
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
      shareOfProxy: served.requestsPerSecond / bare.requestsPerSecond,
      shareOfLeanProxy: served.requestsPerSecond / lean.requestsPerSecond,
      p50Ms: served.p50Ms,
      p99Ms: served.p99Ms,
      addedP50Ms: served.p50Ms - bare.p50Ms,
      addedP99Ms: served.p99Ms - bare.p99Ms,
      textUs: (cpuTimeUs(pids.gateway) - textUs) / served.requests,
      postgresUs: (cpuTimeUs(pids.postgres) - postgresUs) / served.requests,
    });
  }
  const at = (share: number, name: keyof Round, digits?: number): number =>
    rounded(
      percentile(
        rounds.map((round) => round[name]),
        share,
      ),
      digits,
    );
  const median = (name: keyof Round, digits?: number): number => at(0.5, name, digits);
  const spread = (name: keyof Round): readonly number[] => [at(0, name, 2), at(1, name, 2)];
  return {
    clients,
    requests_per_second: median('gateway'),
    bare_proxy_requests_per_second: median('proxy'),
    lean_proxy_requests_per_second: median('leanProxy'),
    share_of_bare_proxy: median('shareOfProxy', 2),
    share_of_bare_proxy_spread: spread('shareOfProxy'),
    share_of_lean_proxy: median('shareOfLeanProxy', 2),
    share_of_lean_proxy_spread: spread('shareOfLeanProxy'),
    p50_ms: median('p50Ms', 2),
    p99_ms: median('p99Ms', 2),
    added_p50_ms: median('addedP50Ms', 2),
    added_p99_ms: median('addedP99Ms', 2),
    text_cpu_us_per_request: median('textUs', 0),
    postgres_cpu_us_per_request: median('postgresUs', 0),
  };
}

/** The latency of the proxy and of the gateway, by turns, when requests arrive at the same steady rate. */
async function arriveSteadily(): Promise<Figures> {
  const { proxy, gateway, pids } = stack;
  await load(gateway, 32, ROUND_SECONDS);
  const { requestsPerSecond } = await load(gateway, 32, ROUND_SECONDS);
  const perSecond = Math.round(requestsPerSecond * STEADY_SHARE);
  const latenciesOf = async (target: Target, seconds: number): Promise<number[]> => {
    const client = createPlainClient(chatRequest(target));
    const answers = await arriveAt(perSecond, seconds, async () => {
      const status = await client.send();
      if (status !== 200) throw new Error(`a request was answered ${status}`);
    }).finally(() => client.close());
    // Clients open their connections in the first second.
    return answers.slice(perSecond).map(({ latencyMs }) => latencyMs);
  };
  for (const target of [proxy, gateway]) await latenciesOf(target, STEADY_WARM_UP_SECONDS);
  const bare: number[] = [];
  const served: number[] = [];
  let textUs = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    bare.push(...(await latenciesOf(proxy, STEADY_SECONDS)));
    const beforeUs = cpuTimeUs(pids.gateway);
    served.push(...(await latenciesOf(gateway, STEADY_SECONDS)));
    textUs += cpuTimeUs(pids.gateway) - beforeUs;
  }
  const figuresAt = (share: number, name: string): Figures => ({
    [`${name}_ms`]: rounded(percentile(served, share), 2),
    [`added_${name}_ms`]: rounded(percentile(served, share) - percentile(bare, share), 2),
  });
  return {
    requests_per_second: perSecond,
    text_share_of_core: rounded(textUs / (ROUNDS * STEADY_SECONDS * 1e6), 2),
    ...figuresAt(0.5, 'p50'),
    ...figuresAt(0.99, 'p99'),
    most_ms: rounded(percentile(served, 1)),
    most_ms_of_proxy: rounded(percentile(bare, 1)),
    [`over_${SLOW_MS}_ms`]: served.filter((ms) => ms > SLOW_MS).length,
    [`over_${SLOW_MS}_ms_of_proxy`]: bare.filter((ms) => ms > SLOW_MS).length,
  };
}

async function compareFirstBytes(): Promise<Figures> {
  const direct = await firstBytesMs(() => stack.ask(stack.upstream, 0), FIRST_BYTES);
  const served = await firstBytesMs(() => stack.ask(stack.gateway, 0), FIRST_BYTES);
  const addedAt = (share: number): number => rounded(percentile(served, share) - percentile(direct, share), 2);
  return { first_byte_added_p50_ms: addedAt(0.5), first_byte_added_p95_ms: addedAt(0.95) };
}

/** The first seconds of a process that says that it is ready. */
async function measureStart(): Promise<Figures> {
  const gateway = await stack.startGateway();
  const beforeUs = cpuTimeUs(gateway.pid);
  const { requests, requestsPerSecond } = await load(gateway, 32, START_SECONDS);
  return {
    requests_per_second: rounded(requestsPerSecond),
    text_cpu_us_per_request: rounded((cpuTimeUs(gateway.pid) - beforeUs) / requests, 0),
  };
}

interface Streams {
  readonly residentMegabytesBefore: number;
  readonly residentMegabytes: number;
  /** From the upstream to the client, for each chunk. */
  readonly chunkMs: readonly number[];
}

async function compareAllStreams(): Promise<object> {
  return {
    concurrent_streams: STREAMS,
    chunks_per_stream: CHUNKS,
    streams_that_start_within_3_seconds: await compareStreams(STARTS_MS.spread),
    streams_that_start_at_once: await compareStreams(STARTS_MS.atOnce),
  };
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
