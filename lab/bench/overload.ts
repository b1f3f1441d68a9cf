/**
 * Measures what a text process is worth when three times as many requests arrive as it can answer: useful answers a second beside
 * the most that it can answer, their latency, and its memory. Prints one JSON line.
 */
import { percentile, rounded } from './statistics.ts';
import { residentMegabytesOf } from './load/memory.ts';
import { arriveAt } from './load/steady.ts';
import { loadAtAnyRate, startTextStack } from './text-stack.ts';

const CLIENTS = 32;
const SATURATION_SECONDS = 10;
const OVERLOAD_SECONDS = 15;
/** By then the process has noticed. */
const SETTLED_AFTER_SECONDS = 5;
const TIMES = 3;

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const stack = await startTextStack();
try {
  const { gateway, pids } = stack;
  await loadAtAnyRate(gateway, CLIENTS, SATURATION_SECONDS);
  const saturation = await loadAtAnyRate(gateway, CLIENTS, SATURATION_SECONDS);
  const perSecond = saturation.requestsPerSecond;
  const memory = residentMegabytesOf(pids.gateway);
  const settledAtMs = performance.now() + SETTLED_AFTER_SECONDS * 1000;
  const answers = await arriveAt(TIMES * perSecond, OVERLOAD_SECONDS, async () => {
    const { statusCode, body } = await stack.ask(gateway);
    await body.dump();
    return statusCode;
  });
  const settled = answers.filter(({ dueAtMs }) => dueAtMs > settledAtMs);
  const useful = settled.filter(({ result }) => result === 200).map(({ latencyMs }) => latencyMs);
  const usefulPerSecond = useful.length / (OVERLOAD_SECONDS - SETTLED_AFTER_SECONDS);
  console.log(
    JSON.stringify({
      saturation_per_second: rounded(perSecond),
      saturation_p99_ms: rounded(saturation.p99Ms),
      arriving_per_second: rounded(settled.length / (OVERLOAD_SECONDS - SETTLED_AFTER_SECONDS)),
      useful_per_second: rounded(usefulPerSecond),
      useful_share: rounded(usefulPerSecond / perSecond),
      useful_p99_ms: rounded(percentile(useful, 0.99)),
      refused: settled.filter(({ result }) => result === 503).length,
      failed: settled.filter(({ result }) => result !== 200 && result !== 503).length,
      resident_mb_before: rounded(memory),
      resident_mb_after: rounded(residentMegabytesOf(pids.gateway)),
    }),
  );
} finally {
  await stack.stop();
}
