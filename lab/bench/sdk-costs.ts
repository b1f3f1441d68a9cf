/**
 * Shows, with Node alone, the two costs of the Temporal SDK that workers cannot switch off. For each call into the sandbox of a
 * workflow (`reusable-vm.js` of `@temporalio/worker`), Node starts a thread, with its own event loop, that would stop the call after a timeout. For each promise
 * in the sandbox (`vm-shared.js`), a hook formats a stack, for the stack trace query. Prints a JSON line with the CPU time of each,
 * in microseconds.
 */
import { promiseHooks } from 'node:v8';
import { createContext, Script } from 'node:vm';
import { rounded } from './statistics.ts';

const CALLS = 5_000;
const PROMISES = 20_000;
const TIMEOUT_MS = 5_000;

const sandbox = createContext({});
const call = new Script('0');
const createPromises = new Script(`for (let count = 0; count < ${PROMISES}; count += 1) new Promise(() => {})`);

/** The CPU time, of the threads as well, by the number of repetitions. */
function microsecondsEach(count: number, run: () => void): number {
  run();
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return rounded((user + system) / count, 2);
}

function callOften(options: { readonly timeout?: number }): void {
  for (let count = 0; count < CALLS; count += 1) call.runInContext(sandbox, options);
}

const promiseUs = microsecondsEach(PROMISES, () => createPromises.runInContext(sandbox));
const stop: unknown = promiseHooks.onInit(() => void new Error('the stack of a promise').stack);
const promiseWithStackUs = microsecondsEach(PROMISES, () => createPromises.runInContext(sandbox));
if (typeof stop === 'function') stop();
console.log(
  JSON.stringify({
    call_us: microsecondsEach(CALLS, () => callOften({})),
    call_with_timeout_us: microsecondsEach(CALLS, () => callOften({ timeout: TIMEOUT_MS })),
    promise_us: promiseUs,
    promise_with_stack_us: promiseWithStackUs,
  }),
);
