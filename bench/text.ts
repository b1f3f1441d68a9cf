/**
 * What serving text costs, with every request held, settled and written down: requests a second beside a bare Node proxy in
 * the same run, the time that is added to the first byte, and 500 streams at once with the memory they take. Prints one JSON
 * line. All requests are of one account, with one key.
 */
import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { mean, percentile, rounded } from './statistics.ts';
import { load, startTextStack, type Target } from './text-stack.ts';

const CLIENTS = 64;
const ROUNDS = 3;
const ROUND_MS = 5_000;
const FIRST_BYTES = 200;
const STREAMS = 500;
const STREAM_PAUSE_MS = 20;
const CHUNKS = 200;

// What is cut short must not leave its servers behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const stack = await startTextStack();
try {
  const { proxy, gateway } = stack;
  await Promise.all([proxy, gateway].map((target) => load(stack, target, CLIENTS, ROUND_MS)));
  const rounds = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    rounds.push({
      proxy: (await load(stack, proxy, CLIENTS, ROUND_MS)).requestsPerSecond,
      gateway: (await load(stack, gateway, CLIENTS, ROUND_MS)).requestsPerSecond,
    });
  }
  const direct = await firstBytes(stack.upstream);
  const added = await firstBytes(gateway);
  const streams = await streamAll(gateway, stack.gatewayPid);
  report({ rounds, direct, added, streams });
} finally {
  await stack.stop();
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
