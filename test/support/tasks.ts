/** Media tasks as a client sees them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE_MS } from './eventually.ts';
import { expect } from 'chai';
import { call, type TestStack } from './stack.ts';

export interface TaskBody {
  readonly id: string;
  readonly status: string;
  readonly stage: string;
  readonly output: {
    readonly media: { readonly url: string; readonly mime_type: string }[];
    readonly r2_url: string;
  } | null;
  readonly usage: Readonly<Record<string, number>>;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly retryable?: boolean;
  readonly poll_after_seconds?: number;
}

const POLL_MS = 100;

/** Creates a task of the cheapest video model. @throws Error when it is refused */
export async function createTask(stack: TestStack, key: string, prompt: string): Promise<TaskBody> {
  const { status, body } = await call<{ data: TaskBody }>(`${stack.baseUrl}/v1/videos/tasks`, {
    key,
    body: { model: 'vidone-3.0', prompt, duration: 5 },
  });
  if (status !== 201) throw new Error(`the task was refused: ${JSON.stringify(body)}`);
  return body.data;
}

/** Polls until the task is final. */
export async function taskWhenFinal(stack: TestStack, key: string, taskId: string): Promise<TaskBody> {
  return pollUntil(stack, key, taskId, ({ status }) => status === 'succeeded' || status === 'failed');
}

/** Polls until the task has that status. */
export async function taskWhen(stack: TestStack, key: string, taskId: string, status: string): Promise<TaskBody> {
  return pollUntil(stack, key, taskId, (task) => task.status === status);
}

async function pollUntil(
  stack: TestStack,
  key: string,
  taskId: string,
  isReached: (task: TaskBody) => boolean,
): Promise<TaskBody> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const { status, body } = await call<{ data: TaskBody }>(`${stack.baseUrl}/v1/tasks/${taskId}`, { key });
    if (status === 200 && isReached(body.data)) return body.data;
    // On a busy machine, a poll may get 503.
    const mayFollow = (status === 200 || status === 503) && Date.now() <= deadline;
    if (!mayFollow) throw new Error(`task ${taskId} has not got there: ${status} ${JSON.stringify(body)}`);
    await sleep(POLL_MS);
  }
}

/** The kinds of a task's transfers, oldest first. */
export async function transfersOf(stack: TestStack, taskId: string): Promise<string[]> {
  const rows = await stack
    .database<{ kind: string; task_id: string }>('transfers')
    .where({ task_id: taskId })
    // A resolution may have the same millisecond as its reservation.
    .orderByRaw('created_at, pending_id NULLS FIRST');
  return rows.map(({ kind }) => kind);
}

/** The jobs that the simulator received for a task. */
export async function simulatorJobs(stack: TestStack, taskId: string): Promise<unknown[]> {
  const { body } = await call<{ data: unknown[] }>(`${stack.simulatorUrl}/_sim/jobs?key=${taskId}`);
  return body.data;
}

/** Expects each task to succeed with one job and one charge. */
export async function expectRenderedOnce(stack: TestStack, apiKey: string, tasks: readonly TaskBody[]): Promise<void> {
  for (const { id } of tasks) {
    expect((await taskWhenFinal(stack, apiKey, id)).status).to.equal('succeeded');
    expect(await simulatorJobs(stack, id)).to.have.length(1);
    expect(await transfersOf(stack, id)).to.deep.equal(['reservation', 'settlement']);
  }
}
