/** The tasks of an account. */
import { claimLateResult } from '../../../services/tasks/claim-late-result.ts';
import type { ApiServices } from '../../../api/services.ts';
import { findApiKey, findKeyNames } from '../../../db/queries/api-keys.ts';
import { type Delivery, listDeliveries } from '../../../db/queries/deliveries.ts';
import { findLateResult } from '../../../db/queries/late-results.ts';
import { findAccountTask, findAccountTasks, listTasks } from '../../../db/queries/tasks.ts';
import { isId, newId } from '../../../domain/ids.ts';
import { hasMemberPermission } from '../../../domain/roles.ts';
import type { LateResult } from '../../../domain/task-object.ts';
import { isFinal, type Task, TASK_KINDS, TASK_STATUSES, reasonOf } from '../../../domain/task.ts';
import { Card, Empty, Facts, Field, Form, Money, Pages, Polled, Time, usd } from '../../html/components.tsx';
import { Candidates, ChoiceFilter, ChoiceLinks, DayFilters, FieldFilter, Filters } from '../../html/filters.tsx';
import { useTexts } from '../../html/page-context.ts';
import { ShortId } from '../../html/linked-ids.tsx';
import { Chosen } from '../../html/resource-table.tsx';
import { readListPage } from '../../list-page.ts';
import { member, type MemberVisit, openPage, showPage, showPart } from '../../page.ts';
import { modelIn, readIfFiltered } from '../../part-filter.ts';
import { periodOf } from '../../period.ts';
import { wordFor } from '../../texts/texts.ts';
import { findOwnTask } from '../own-account.ts';
import { SentEvents } from '../webhooks/deliveries.tsx';
import { DownloadLinks, durationOf, Gallery, Result, RunningTasks, settingsOf, TaskTile } from './gallery.tsx';

const PAGE_SIZE = 24;

export const taskPages = [
  member.page(
    '/accounts/{account_id}/tasks',
    'see',
    async ({ account: { accountId }, query, texts }, { database, catalogue }) => {
      const status = TASK_STATUSES.find((known) => known === query.get('status'));
      const kind = TASK_KINDS.find((known) => known === query.get('kind'));
      const id = (query.get('id') ?? '').trim();
      const known = isId('task', id) ? await findAccountTask(database, accountId, id) : null;
      if (known) return { kind: 'redirect', path: `/accounts/${accountId}/tasks/${known.id}` };
      // The list is empty if the account has no task with the given id.
      const model = modelIn(query, catalogue);
      const batch = query.get('batch') ?? '';
      const batchId = isId('batch', batch) ? batch : undefined;
      const filter = { accountId, batchId, status, kind, model: model.value ?? undefined, ...periodOf(query) };
      const { entries: tasks, next } = await readListPage(
        query,
        'task',
        async (slice) => (id === '' ? readIfFiltered([model], () => listTasks(database, { ...filter, ...slice })) : []),
        PAGE_SIZE,
      );
      const messages = texts.tasks;
      return showPage(
        texts.titles.tasks,
        <Filters>
          <ChoiceLinks name="status" all={texts.common.allStatuses} values={TASK_STATUSES} />
          <ChoiceFilter name="kind" label={texts.common.result} all={messages.allKinds} values={TASK_KINDS} />
          <FieldFilter name="model" label={texts.common.partOfModel} />
          <DayFilters />
          <Field name="id" label={messages.id} value={id} />
        </Filters>,
        <Candidates filters={[model]} />,
        tasks.length === 0 ? <Empty>{messages.none}</Empty> : <Gallery tasks={tasks} accountId={accountId} />,
        <Pages next={next} />,
      );
    },
  ),
  member.page('/accounts/{account_id}/tasks/tiles', 'see', async ({ account: { accountId }, query }, { database }) => {
    const shown = new Set((query.get('shown') ?? '').split(',', PAGE_SIZE));
    const ids = Array.from(shown, (tile) => tile.split('.', 1).join()).filter((id) => isId('task', id));
    const tasks = await findAccountTasks(database, accountId, ids);
    const changed = tasks.filter(({ id, status }) => !shown.has(`${id}.${status}`));
    return showPart(
      <>
        <RunningTasks tasks={tasks} accountId={accountId} />
        {changed.map((task) => (
          <TaskTile task={task} accountId={accountId} isUpdate />
        ))}
      </>,
    );
  }),
  member.page('/accounts/{account_id}/tasks/{task_id}', 'see', async (visit, services) => {
    const task = await findOwnTask(visit, services);
    return showPage(visit.texts.fields.task_id, await detailsOf(task, visit, services));
  }),
  member.form('/accounts/{account_id}/tasks/{task_id}/claim', 'develop', async (visit, services) => {
    const task = await findOwnTask(visit, services);
    const key = await findApiKey(services.database, task.apiKeyId);
    if (!key) throw new Error(`task ${task.id} has no key`);
    const claimed = await claimLateResult(services, { task, key, requestId: newId('request') });
    return openPage(`/accounts/${task.accountId}/tasks/${claimed.id}`, `claimed:${claimed.price}`);
  }),
  member.page('/accounts/{account_id}/tasks/{task_id}/details', 'see', async (visit, services) =>
    showPart(await detailsOf(await findOwnTask(visit, services), visit, services)),
  ),
];

/** The task with its deliveries, which the browser polls until both are final. */
async function detailsOf(task: Task, visit: MemberVisit, { database }: ApiServices) {
  const { account, texts } = visit;
  const asked = { accountId: task.accountId, taskId: task.id, limit: PAGE_SIZE };
  const [deliveries, keys, late] = await Promise.all([
    listDeliveries(database, asked),
    findKeyNames(database, account.accountId),
    task.failure?.code === 'processing_timeout'
      ? findLateResult(database, { accountId: account.accountId, taskId: task.id })
      : null,
  ]);
  const apiKey = keys.get(task.apiKeyId);
  const mayRepeat = hasMemberPermission(account.role, 'develop');
  const path = `/console/accounts/${task.accountId}/tasks/${task.id}/details`;
  return (
    <Polled path={path} seconds={2} isFinal={isFinal(task.status)}>
      <Card>
        <div class="result">
          <Result task={task} controls />
        </div>
        <p class="row">
          <DownloadLinks task={task} />
          {mayRepeat ? (
            <a href={`/console/accounts/${task.accountId}/playground?task=${task.id}`}>{texts.tasks.useAgain}</a>
          ) : null}
        </p>
      </Card>
      {late === null ? null : <LateOffer task={task} late={late} mayClaim={mayRepeat} />}
      <RequestCard task={task} keyName={apiKey && (apiKey.name || apiKey.hint)} />
      <TaskEvents task={task} deliveries={deliveries} visit={visit} path={path} />
    </Polled>
  );
}

/** The request of a task, with its status and its price. */
function RequestCard({ task, keyName }: { readonly task: Task; readonly keyName: string | undefined }) {
  const texts = useTexts();
  const { tasks: messages, common, fields } = texts;
  const { images = [], referenceVideos = [], referenceAudios = [] } = task.request;
  const inputs = [...images, ...referenceVideos, ...referenceAudios];
  const settings = settingsOf(task.request, texts);
  return (
    <Card title={messages.request}>
      <Facts
        facts={[
          [
            fields.status,
            <>
              <Chosen name="status" value={task.status} />
              {task.failure === null ? null : (
                <>
                  <p>{wordFor('failure_reason', reasonOf(task.failure), texts)}</p>
                  <p class="soft">{task.failure.message}</p>
                </>
              )}
            </>,
          ],
          [fields.prompt, task.request.prompt],
          [fields.model, task.model],
          settings.length === 0 ? null : [messages.settings, settings.join(', ')],
          inputs.length === 0
            ? null
            : [
                messages.inputs,
                <ul class="plain">
                  {inputs.map((link) => (
                    <li>
                      <code>{link}</code>
                    </li>
                  ))}
                </ul>,
              ],
          keyName === undefined ? null : [fields.key, keyName],
          [common.price, <Money amount={task.price} />],
          task.endUser === null ? null : [fields.end_user, task.endUser],
          task.priceList === null ? null : [fields.price_list, task.priceList],
          [fields.created_at, <Time at={task.createdAt} />],
          isFinal(task.status) ? [common.took, durationOf(task, texts)] : null,
          [messages.id, <ShortId id={task.id} href={null} />],
        ]}
      />
    </Card>
  );
}

interface TaskEventsProps {
  readonly task: Task;
  readonly deliveries: readonly Delivery[];
  readonly visit: MemberVisit;
  /** The path of the details. */
  readonly path: string;
}

/** The deliveries of a task, which the browser polls apart from a result: a video would start to play again. */
function TaskEvents({ task, deliveries, visit, path }: TaskEventsProps) {
  const isSending = isFinal(task.status) && deliveries.some(({ status }) => status === 'pending');
  const live = isSending
    ? { 'hx-get': path, 'hx-select': '#sent', 'hx-trigger': 'every 2s', 'hx-swap': 'outerHTML' }
    : {};
  return (
    <div id="sent" {...live}>
      <SentEvents deliveries={deliveries} visit={visit} />
    </div>
  );
}

function LateOffer({ task, late, mayClaim }: { task: Task; late: LateResult; mayClaim: boolean }) {
  const { tasks: messages } = useTexts();
  const path = `/console/accounts/${task.accountId}/tasks`;
  if (late.claimedTaskId !== null)
    return (
      <Card title={messages.lateResult}>
        <a href={`${path}/${late.claimedTaskId}`}>{messages.claimed}</a>
      </Card>
    );
  return (
    <Card title={messages.lateResult}>
      <p>
        {messages.lateHint} <Time at={late.expiresAt} />
      </p>
      {mayClaim ? <Form action={`${path}/${task.id}/claim`} submit={messages.claim(usd(task.price))} /> : null}
    </Card>
  );
}
