/**
 * Proves, on a whole stack of its own, that every media task is told of once and paid for once. Prints what was counted, and a
 * verdict; ends with code 1 when a count is wrong.
 *
 * Usage: npm run soak:webhooks [-- NUMBER_OF_TASKS]
 */
import { startOwnStack } from '../own-stack.ts';
import { type Count, soakWebhooks } from './soak-webhooks.ts';

const TASKS = 1_000;
const ACCOUNTS = 10;
/** Not more than the development server of Temporal digests on a small machine. */
const AT_ONCE = 40;
/** It takes a minute or two where nothing else runs. */
const TIMEOUT_MS = 30 * 60_000;
const QUIET_MS = 5_000;
const PROGRESS_EVERY = 100;

// What is cut short must not leave its stack behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const tasks = Number(process.argv[2] ?? TASKS);
if (!Number.isSafeInteger(tasks) || tasks < 1) throw new Error('the number of tasks must be a whole number above 0');

console.log('starting a stack');
const stack = await startOwnStack();
try {
  const { base_url: baseUrl, admin_token: adminToken } = stack.description;
  console.log(`creating ${tasks} tasks of ${ACCOUNTS} accounts with one webhook endpoint each`);
  const startedAt = performance.now();
  const counts = await soakWebhooks({
    baseUrl,
    adminToken,
    tasks,
    accounts: ACCOUNTS,
    atOnce: AT_ONCE,
    timeoutMs: TIMEOUT_MS,
    quietMs: QUIET_MS,
    onTold: (told) => {
      if (told % PROGRESS_EVERY === 0) console.log(`${told} events have arrived`);
    },
  });
  report(counts, performance.now() - startedAt);
} finally {
  await stack.stop();
}

function report(counts: readonly Count[], tookMs: number): void {
  for (const { what, expected, found } of counts) {
    const isRight = found === expected;
    console.log(
      `${isRight ? 'ok    ' : 'FAILED'} ${what.padEnd(36)} ${found}${isRight ? '' : ` instead of ${expected}`}`,
    );
  }
  const failed = counts.filter(({ found, expected }) => found !== expected).length;
  console.log(`took ${Math.round(tookMs / 1000)} s`);
  console.log(`${counts.length} checks, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
