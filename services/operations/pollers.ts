/** The workers that poll Temporal. */
import type { Connection } from '@temporalio/client';

/**
 * @returns the identities (`pid@host`) of the workers that have polled the task queue in the last few minutes
 * @throws Error when Temporal does not answer within `timeoutMs`
 */
export async function listPollers(
  connection: Connection,
  { namespace, taskQueue, timeoutMs }: { namespace: string; taskQueue: string; timeoutMs: number },
): Promise<readonly string[]> {
  const { pollers } = await connection.withDeadline(Date.now() + timeoutMs, () =>
    connection.workflowService.describeTaskQueue({ namespace, taskQueue: { name: taskQueue } }),
  );
  return (pollers ?? []).map(({ identity }) => identity ?? '');
}
