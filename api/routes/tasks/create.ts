/** Shared parts of creating videos and images: contract 4.1 to 4.3. */
import { TASK } from '../../../domain/task-object.ts';
import { dataOf } from '../../endpoint/answers.ts';
import type { CreateRequest } from '../../endpoint/idempotent.ts';
import type { CreateTaskRequest } from '../../../services/tasks/create-task.ts';
import type { CreatedResponse } from '../../../services/tasks/idempotency.ts';
import { type CheckLinks, acceptTask } from '../../../services/tasks/accept-task.ts';
import type { ApiServices } from '../../services.ts';
import { EXAMPLE_REQUEST_ID } from '../../openapi/shared.ts';

const QUEUED_TASK = {
  data: {
    id: 'task_0mc9x1k2v0q5x8w2n7b4t6y1z3a9s8d7',
    object: 'task',
    task_kind: 'video',
    capability_id: 'vidone-3.0',
    capability_version: 1,
    media_type: 'video',
    model: 'vidone-3.0',
    status: 'queued',
    stage: 'queued',
    created_at: 1_790_000_000,
    updated_at: 1_790_000_000,
    completed_at: null,
    poll_after_seconds: 8,
    output: null,
    usage: {
      credits_reserved: 0.5,
      credits_charged: 0.5,
      credits_settled: 0,
      credits_refunded: 0,
      billable_duration_seconds: 5,
    },
    request_id: EXAMPLE_REQUEST_ID,
    error_code: null,
    error_message: null,
  },
};

export const CREATED_TASK = dataOf(TASK.schema, 'The queued task. The account’s balance holds the price.', {
  queued: { value: QUEUED_TASK },
});

/** Creates a task for a valid request. @param checkLinks checks the content behind the request's links */
export async function createTask(
  { caller, body: request, claim, context }: CreateRequest<CreateTaskRequest>,
  services: ApiServices,
  checkLinks?: CheckLinks,
): Promise<CreatedResponse> {
  const { requestId } = context.state;
  const created = await acceptTask({ caller, request, claim, requestId }, services, checkLinks);
  context.state.createdTaskId = created.taskId;
  return created;
}
