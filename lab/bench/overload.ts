/**
 * Measures what a text process is worth when three times as many requests arrive as it can answer: useful answers a second beside
 * the most that it can answer, their latency, and its memory; first of a process without protection from overload. The process has
 * one core, and everything else the other one. Prints a JSON line for each.
 */
import { percentile, rounded } from './statistics.ts';
import { keepOnCore } from './load/cores.ts';
import { residentMegabytesOf } from './load/memory.ts';
import { arriveAt } from './load/steady.ts';
import { loadAtAnyRate, startTextStack, type Target, type TextStack } from './text-stack.ts';

const CLIENTS = 32;
const SATURATION_SECONDS = 10;
const OVERLOAD_SECONDS = 15;
/** By then the process has noticed. */
const SETTLED_AFTER_SECONDS = 5;
const MEASURED_SECONDS = OVERLOAD_SECONDS - SETTLED_AFTER_SECONDS;
const TIMES = 3;
const [SERVING_CORE, OTHER_CORE] = [0, 1];

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

await keepOnCore(process.pid, OTHER_CORE);
const stack = await startTextStack();
try {
  for (const name of ['unguarded.js', undefined]) {
    const gateway = await stack.startGateway(name);
    await keepOnCore(gateway.pid, SERVING_CORE);
    console.log(JSON.stringify({ is_protected: name === undefined, ...(await overload(stack, gateway)) }));
  }
} finally {
  await stack.stop();
}

async function overload(
  { ask }: Pick<TextStack, 'ask'>,
  gateway: Target & { readonly pid: number },
): Promise<Readonly<Record<string, number>>> {
  await loadAtAnyRate(gateway, CLIENTS, SATURATION_SECONDS);
  const saturation = await loadAtAnyRate(gateway, CLIENTS, SATURATION_SECONDS);
  const perSecond = saturation.requestsPerSecond;
  const memory = residentMegabytesOf(gateway.pid);
  const settledAtMs = performance.now() + SETTLED_AFTER_SECONDS * 1000;
  const answers = await arriveAt(TIMES * perSecond, OVERLOAD_SECONDS, async () => {
    const { statusCode, body } = await ask(gateway);
    await body.dump();
    return statusCode;
  });
  const settled = answers.filter(({ dueAtMs }) => dueAtMs > settledAtMs);
  const useful = settled.filter(({ result }) => result === 200).map(({ latencyMs }) => latencyMs);
  const usefulPerSecond = useful.length / MEASURED_SECONDS;
  return {
    saturation_per_second: rounded(perSecond),
    saturation_p99_ms: rounded(saturation.p99Ms),
    arriving_per_second: rounded(settled.length / MEASURED_SECONDS),
    useful_per_second: rounded(usefulPerSecond),
    useful_share: rounded(usefulPerSecond / perSecond, 2),
    useful_p99_ms: rounded(percentile(useful, 0.99)),
    refused: settled.filter(({ result }) => result === 503).length,
    failed: settled.filter(({ result }) => result !== 200 && result !== 503).length,
    resident_mb_before: rounded(memory),
    resident_mb_after: rounded(residentMegabytesOf(gateway.pid)),
  };
}
