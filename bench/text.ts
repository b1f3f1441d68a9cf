/**
 * What serving text costs, with every request held, settled and written down: requests a second beside a bare Node proxy in
 * the same run, CPU time a request, the time that is added to the first byte, and 500 streams at once with the memory they
 * take. Prints one JSON line. All requests are of one account, with one key.
 */
import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { mean, percentile, rounded } from './statistics.ts';
import { cpuTimeUs } from './load/cpu-time.ts';
import { load, startTextStack, type Target } from './text-stack.ts';

const CLIENTS = [32, 128] as const;
const ROUNDS = 3;
const ROUND_SECONDS = 5;
const FIRST_BYTES = 200;
const STREAMS = 500;
const STREAM_PAUSE_MS = 20;
const CHUNKS = 200;

// What is cut short must not leave its servers behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const stack = await startTextStack();
try {
  const { gateway } = stack;
  const throughput = [];
  for (const clients of CLIENTS) throughput.push(await compare(clients));
  const direct = await firstBytes(stack.upstream);
  const added = await firstBytes(gateway);
  const streams = await streamAll(gateway, stack.pids.gateway);
  report({ throughput, direct, added, streams });
} finally {
  await stack.stop();
}

/** Figures by name. */
type Figures = Readonly<Record<string, number>>;

/** One turn of each. */
interface Round {
  /** Requests a second. */
  readonly proxy: number;
  readonly gateway: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time a request. */
  readonly textUs: number;
  readonly postgresUs: number;
}

/** Loads the bare proxy and the gateway by turns. */
async function compare(clients: number): Promise<Figures> {
  const { proxy, gateway, pids } = stack;
  for (const target of [proxy, gateway]) await load(target, clients, ROUND_SECONDS);
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const bare = await load(proxy, clients, ROUND_SECONDS);
    const [textUs, postgresUs] = [cpuTimeUs(pids.gateway), cpuTimeUs(pids.postgres)];
    const served = await load(gateway, clients, ROUND_SECONDS);
    rounds.push({
      proxy: bare.requestsPerSecond,
      gateway: served.requestsPerSecond,
      p50Ms: served.p50Ms,
      p99Ms: served.p99Ms,
      textUs: (cpuTimeUs(pids.gateway) - textUs) / served.requests,
      postgresUs: (cpuTimeUs(pids.postgres) - postgresUs) / served.requests,
    });
  }
  const meanOf = (name: keyof Round): number => mean(rounds.map((round) => round[name]));
  return {
    clients,
    requests_per_second: rounded(meanOf('gateway')),
    bare_proxy_requests_per_second: rounded(meanOf('proxy')),
    share_of_bare_proxy: rounded(meanOf('gateway') / meanOf('proxy'), 2),
    p50_ms: rounded(meanOf('p50Ms')),
    p99_ms: rounded(meanOf('p99Ms')),
    text_cpu_us_per_request: rounded(meanOf('textUs'), 0),
    postgres_cpu_us_per_request: rounded(meanOf('postgresUs'), 0),
  };
}

/** @returns how long the first byte of each of some streams took, one stream after the other */
async function firstBytes(target: Target): Promise<number[]> {
  const durations: number[] = [];
  for (let count = 0; count < FIRST_BYTES; count += 1) {
    const startedAt = performance.now();
    const { body } = await stack.ask(target, 0);
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

/** Many concurrent streams, each of which must arrive complete. */
async function streamAll(target: Target, pid: number): Promise<Streams> {
  const residentMegabytesBefore = residentMegabytesOf(pid);
  let residentMegabytes = residentMegabytesBefore;
  const watch = setInterval(() => {
    residentMegabytes = Math.max(residentMegabytes, residentMegabytesOf(pid));
  }, 500);
  const startedAt = performance.now();
  const one = async (): Promise<void> => {
    const { statusCode, body } = await stack.ask(target, STREAM_PAUSE_MS);
    const text = await body.text();
    const chunks = text.split('"content":"word "').length - 1;
    if (statusCode !== 200 || chunks !== CHUNKS || !text.endsWith('data: [DONE]\n\n')) {
      throw new Error(`a stream is not whole: ${statusCode}, ${chunks} chunks`);
    }
  };
  await Promise.all(Array.from({ length: STREAMS }, one));
  clearInterval(watch);
  return { seconds: (performance.now() - startedAt) / 1000, residentMegabytesBefore, residentMegabytes };
}

function residentMegabytesOf(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)])) / 1024;
}

interface Measured {
  readonly throughput: readonly Figures[];
  readonly direct: readonly number[];
  readonly added: readonly number[];
  readonly streams: Streams;
}

function report({ throughput, direct, added, streams }: Measured): void {
  const addedAt = (share: number): number => rounded(percentile(added, share) - percentile(direct, share), 2);
  console.log(
    JSON.stringify({
      throughput,
      first_byte_added_p50_ms: addedAt(0.5),
      first_byte_added_p95_ms: addedAt(0.95),
      concurrent_streams: STREAMS,
      chunks_per_stream: CHUNKS,
      streams_seconds: rounded(streams.seconds),
      resident_mb_before_streams: rounded(streams.residentMegabytesBefore),
      resident_mb_with_streams: rounded(streams.residentMegabytes),
      cores: cpus().length,
    }),
  );
}
