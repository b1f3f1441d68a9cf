/** Tasks of all accounts. */
import { cancelTask } from '../../../../api/services/cancel-task.ts';
import { existingTask } from '../../../../api/services/existing-task.ts';
import { explainTask } from '../../../../api/services/explain-task.ts';
import { redeliverTask } from '../../../../api/services/redeliver-task.ts';
import type { ApiServices } from '../../../../api/services/services.ts';
import { recordPromptsRead } from '../../../../db/queries/operator-actions.ts';
import { listTasks } from '../../../../db/queries/tasks.ts';
import type { ServiceError } from '../../../../domain/errors.ts';
import { TASK_KINDS, TASK_STATUSES } from '../../../../domain/task.ts';
import { carryOut, problemOf } from '../../../form-problem.ts';
import { readListPage } from '../../../list-page.ts';
import { accountIn, modelIn, unlessOpen } from '../../../part-filter.ts';
import { type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { periodOf } from '../../../period.ts';
import { authorshipOf } from '../reason.ts';
import { TaskList } from './list.tsx';
import { TaskContent, TaskTimeline } from './task.tsx';

const TASK_LIST = { kind: 'task', size: 50 } as const;

export const staffTaskPages = [
  staff.page('/staff/tasks', 'read', list),
  staff.page('/staff/tasks/{task_id}', 'read', (visit, services) => showTask(visit, services)),
  staff.page('/staff/tasks/{task_id}/story', 'read', async ({ params }, services) => {
    const explanation = await explainTask(services, await existingTask(services.database, params['task_id'] ?? ''));
    return { kind: 'part', content: <TaskTimeline explanation={explanation} /> };
  }),
  staff.form('/staff/tasks/{task_id}/cancel', 'operate', (visit, services) =>
    act(visit, services, async (taskId) =>
      cancelTask(services, await existingTask(services.database, taskId), authorshipOf(visit)),
    ),
  ),
  staff.form('/staff/tasks/{task_id}/redeliver', 'operate', (visit, services) =>
    act(visit, services, (taskId) => redeliverTask(services.database, taskId, authorshipOf(visit))),
  ),
  staff.form('/staff/tasks/{task_id}/prompt', 'operate', async (visit, services) => {
    const { id } = await existingTask(services.database, visit.params['task_id'] ?? '');
    const problem = await problemOf(async () => recordPromptsRead(services.database, [id], authorshipOf(visit)));
    return showTask(visit, services, { problem, prompt: problem === null });
  }),
];

async function list({ query, texts }: UserVisit, services: ApiServices): Promise<PageResult> {
  const { database, catalogue } = services;
  const [account, model] = [await accountIn(query, services), modelIn(query, catalogue)];
  const filter = {
    accountId: account.value ?? undefined,
    model: model.value ?? undefined,
    status: TASK_STATUSES.find((known) => known === query.get('status')),
    kind: TASK_KINDS.find((known) => known === query.get('kind')),
    ...periodOf(query),
  };
  const page = await readListPage(query, TASK_LIST, (slice) =>
    unlessOpen([account, model], () => listTasks(database, { ...filter, ...slice })),
  );
  return showPage('allTasks', texts.staffTasks.title, <TaskList page={page} filters={[account, model]} />);
}

interface Shown {
  readonly problem?: ServiceError | null;
  /** Whether the page shows the prompt; reading a prompt is recorded. */
  readonly prompt?: boolean;
}

async function showTask(visit: UserVisit, services: ApiServices, shown: Shown = {}): Promise<PageResult> {
  const task = await existingTask(services.database, visit.params['task_id'] ?? '');
  const explanation = await explainTask(services, task);
  return showPage(
    'allTasks',
    visit.texts.staffTasks.task,
    <TaskContent {...{ explanation, visit }} temporal={services.temporal} isPromptShown={shown.prompt ?? false} />,
    shown.problem,
  );
}

/** Carries an action out, and shows the task afterwards. */
async function act(
  visit: UserVisit,
  services: ApiServices,
  work: (taskId: string) => Promise<unknown>,
): Promise<PageResult> {
  const { id } = await existingTask(services.database, visit.params['task_id'] ?? '');
  return carryOut(
    () => work(id),
    `/staff/tasks/${id}`,
    (problem) => showTask(visit, services, { problem }),
  );
}
