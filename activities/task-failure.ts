import { ApplicationFailure } from '@temporalio/common';
import type { TaskErrorCode } from '../domain/errors.ts';
import { JobRefusedError } from '../providers/media-provider.ts';

/** A verdict on the task: no retry of the step can change it. */
export function taskFailure(code: TaskErrorCode, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, code);
}

/** @throws the verdict of a provider that refused, and any other error as it is */
export async function withVerdict<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof JobRefusedError) throw taskFailure(error.code, error.message);
    throw error;
  }
}
