/** Tasks of the models of catalogue/vendors.yaml, and the records of the simulated vendors about them. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { call, type StackOptions, type TestStack, useTestStack } from './stack.ts';
import { type TaskBody, taskWhenFinal } from './tasks.ts';

const CATALOGUE = join(import.meta.dirname, '../../catalogue/vendors.yaml');

/** A stack that sells the models of catalogue/vendors.yaml, with an api and a worker, for the current suite. */
export function useVendorStack({ env, ...options }: StackOptions = {}): TestStack {
  const stack = useTestStack({ ...options, env: { GENWAY_CATALOGUE: CATALOGUE, ...env } });
  before(() => Promise.all([stack.api.start(), stack.worker.start()]));
  return stack;
}

export interface VendorTask extends TaskBody {
  /** The prompt, by which its renders are counted. */
  readonly mark: string;
}

/**
 * Creates a task.
 *
 * @param directives for the simulator, such as `drop_submit,render_ms=500`
 * @throws Error when it is refused
 */
export async function createVendorTask(
  stack: TestStack,
  key: string,
  { kind = 'video', model, directives = '', ...body }: VendorTaskSettings,
): Promise<VendorTask> {
  const mark = randomUUID();
  const prompt = `A lighthouse [sim:mark=${mark}${directives === '' ? '' : `,${directives}`}]`;
  const { status, body: answer } = await call<{ data: TaskBody }>(`${stack.baseUrl}/v1/${kind}s/tasks`, {
    key,
    body: { model, prompt, ...body },
  });
  if (status !== 201) throw new Error(`the task was refused: ${JSON.stringify(answer)}`);
  return { ...answer.data, mark };
}

export interface VendorTaskSettings {
  readonly kind?: 'image' | 'video';
  readonly model: string;
  readonly directives?: string;
  readonly [field: string]: unknown;
}

/** Creates a task and waits for its end. */
export async function finishedVendorTask(
  stack: TestStack,
  key: string,
  settings: VendorTaskSettings,
): Promise<VendorTask> {
  const { id, mark } = await createVendorTask(stack, key, settings);
  return { ...(await taskWhenFinal(stack, key, id)), mark };
}

export interface VendorRender {
  readonly vendor: string;
  readonly id: string;
  readonly state: string;
  readonly sent: unknown;
  readonly downloads: number;
}

/** The renders of the simulated vendors for a task. */
export async function rendersOf(
  stack: TestStack,
  { mark }: Pick<VendorTask, 'mark'>,
): Promise<readonly VendorRender[]> {
  const { body } = await call<{ data: VendorRender[] }>(`${stack.simulatorUrl}/_sim/renders?mark=${mark}`);
  return body.data;
}

/** The submissions of a task: the outcome of each, and its source. */
export async function attemptsOf(stack: TestStack, { id }: Pick<TaskBody, 'id'>): Promise<readonly string[]> {
  const rows = await stack
    .database<{ task_id: string; provider: string; outcome: string | null; evidence: string | null }>('submissions')
    .where({ task_id: id })
    .orderBy('submitted_at');
  return rows.map(({ provider, outcome, evidence }) => `${provider}: ${outcome}, from ${evidence}`);
}
