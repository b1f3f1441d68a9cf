/** Temporal workers that run in the process of a test. */
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js';

/** Workflows run in this thread, because a thread of their own takes long to start, and each worker polls with few calls. */
export const LIGHT_WORKERS = {
  debugMode: true,
  maxConcurrentActivityTaskPolls: 2,
  maxConcurrentWorkflowTaskPolls: 2,
} as const;

/**
 * Stops what the SDK records for its stack trace query once such a worker exists: the SDK compiles a function for each
 * promise of the thread, also for those of the tests, and even after the worker has stopped.
 */
export function stopPromiseStacks(): void {
  globalHandlers.uninstall();
}
