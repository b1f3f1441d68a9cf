/** Tasks of all accounts. */
import { HistoryLink } from '../../../html/history-link.tsx';
import { SUBMISSION } from '../../../../services/resources/submissions.ts';
import { cancelTask } from '../../../../services/tasks/cancel-task.ts';
import { existingTask } from '../../../../services/tasks/existing-task.ts';
import { explainTask, outcomeWords, type TaskExplanation } from '../../../../services/tasks/explain-task.ts';
import { redeliverTask } from '../../../../services/webhooks/redeliver-task.ts';
import type { ApiServices } from '../../../../api/services.ts';
import { recordPromptsRead } from '../../../../db/queries/operator-actions.ts';
import type { StoredSubmission } from '../../../../db/queries/submissions.ts';
import { listTasks } from '../../../../db/queries/tasks.ts';
import { TASK_ERROR_CODES } from '../../../../domain/errors.ts';
import type { JsonObject } from '../../../../domain/json.ts';
import { NOT_TAKEN_CAUSES } from '../../../../domain/media-route.ts';
import { isFinal, type Task, TASK_KINDS, TASK_STATUSES, reasonOf } from '../../../../domain/task.ts';
import { withAccountNames } from '../../../account-names.ts';
import { Badge, ButtonLink, Card, Facts, Money, WithNote, Pages, Polled, Time } from '../../../html/components.tsx';
import {
  AttemptFilters,
  attemptsIn,
  batchIn,
  Candidates,
  ChoiceFilter,
  ChoiceLinks,
  DayFilters,
  FieldFilter,
  Filters,
} from '../../../html/filters.tsx';
import { AnyId, ShortId } from '../../../html/linked-ids.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { ReasonCards } from '../../../html/reason-card.tsx';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import { Timeline } from '../../../html/timeline.tsx';
import { readListPage } from '../../../list-page.ts';
import { formsOver, hasPermission, type PageResult, showPage, showPart, staff, type UserVisit } from '../../../page.ts';
import { findFilteredAccount, modelIn, readIfFiltered } from '../../../part-filter.ts';
import { periodOf } from '../../../period.ts';
import { wordFor } from '../../../texts/texts.ts';
import { durationOf, Result, settingsOf } from '../../tasks/gallery.tsx';
import { Deliveries } from '../deliveries.tsx';
import { authorshipOf } from '../reason.ts';
import { TaskTable } from './list.tsx';

/** The filter by status for tasks that are past their deadline without being final. */
const OVERDUE = 'overdue';

const page = staff.page('/staff/tasks/{task_id}', 'read', showTask);
const act = formsOver(page, 'operate', taskOf);

export const staffTaskPages = [
  staff.page('/staff/tasks', 'read', list),
  page,
  staff.page('/staff/tasks/{task_id}/story', 'read', async (visit, services) => {
    const explanation = await explainTask(services, await taskOf(visit, services), visit.texts.timeline);
    return showPart(<TaskTimeline explanation={explanation} />);
  }),
  act('/cancel', (visit, services, task) => cancelTask(services, task, authorshipOf(visit)), 'cancelling'),
  act('/redeliver', (visit, { database }, { id }) => redeliverTask(database, id, authorshipOf(visit)), 'redelivering'),
  page.form(
    '/prompt',
    'operate',
    async (visit, services) => {
      const task = await taskOf(visit, services);
      await recordPromptsRead(services.database, [task.id], authorshipOf(visit));
      return { ...showPrompt(visit, task), contentOf: task.accountId };
    },
    (_visit, shown) => shown,
  ),
];

function taskOf({ params }: UserVisit, { database }: ApiServices): Promise<Task> {
  return existingTask(database, params['task_id'] ?? '');
}

async function list({ query, texts }: UserVisit, services: ApiServices): Promise<PageResult> {
  const { database, catalogue } = services;
  const [account, model] = [await findFilteredAccount(query, services), modelIn(query, catalogue)];
  const filter = {
    accountId: account.value ?? undefined,
    model: model.value ?? undefined,
    status: TASK_STATUSES.find((known) => known === query.get('status')),
    isOverdue: query.get('status') === OVERDUE,
    kind: TASK_KINDS.find((known) => known === query.get('kind')),
    errorCode: TASK_ERROR_CODES.find((known) => known === query.get('error_code')),
    batchId: batchIn(query),
    ...attemptsIn(query),
    ...periodOf(query),
  };
  const { entries: tasks, next } = await readListPage(query, 'task', (slice) =>
    readIfFiltered([account, model], () => listTasks(database, { ...filter, ...slice })),
  );
  const { staffTasks: messages, tasks: taskMessages, common, titles } = texts;
  return withAccountNames(
    database,
    tasks.map(({ accountId }) => accountId),
    showPage(
      titles.allTasks,
      <Filters>
        <ChoiceLinks name="status" all={common.allStatuses} values={[...TASK_STATUSES, OVERDUE]} />
        <FieldFilter name="account" label={common.partOfAccount} />
        <FieldFilter name="model" label={common.partOfModel} />
        <ChoiceFilter name="kind" all={taskMessages.allKinds} values={TASK_KINDS} />
        <ChoiceFilter name="error_code" all={common.allErrors} values={TASK_ERROR_CODES} />
        <AttemptFilters faults={NOT_TAKEN_CAUSES} />
        <FieldFilter name="batch_id" />
        <DayFilters />
      </Filters>,
      <Candidates filters={[account, model]} />,
      <Card>
        <TaskTable tasks={tasks} none={messages.none} hasColumnMenu />
      </Card>,
      <Pages next={next} />,
    ),
  );
}

/** Shows a prompt, after the access was recorded. */
function showPrompt({ texts }: UserVisit, { id, request }: Task) {
  const { staffTasks: messages, fields } = texts;
  return showPage(
    fields.prompt,
    <Card>
      <p class="soft">{messages.promptNoted}</p>
      <p class="prose">{request.prompt}</p>
      <p>
        <ButtonLink href={`/console/staff/tasks/${id}`} label={messages.backToTask} look="quiet" />
      </p>
    </Card>,
  );
}

async function showTask(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const task = await taskOf(visit, services);
  const explanation = await explainTask(services, task, visit.texts.timeline);
  const { staffTasks: messages, tasks: taskMessages, fields, common } = visit.texts;
  const { submissions, deliveries, workflow } = explanation;
  const settings = settingsOf({ ...task.request, parameters: knownParameters(task) }, visit.texts);
  const { temporal } = services.operations;
  return withAccountNames(
    services.database,
    [task.accountId],
    showPage(
      fields.task_id,
      <TaskTimeline explanation={explanation} />,
      <div class="grid forms">
        <Card title={common.details}>
          <Facts
            facts={[
              [taskMessages.id, <ShortId id={task.id} href={null} />],
              [fields.account_id, <AnyId id={task.accountId} />],
              [fields.key, <AnyId id={task.apiKeyId} />],
              [fields.model, task.model],
              [fields.upstream, task.provider],
              settings.length === 0 ? null : [taskMessages.settings, settings.join(', ')],
              [common.price, <Money amount={task.price} />],
              task.endUser === null ? null : [fields.end_user, task.endUser],
              task.priceList === null ? null : [fields.price_list, task.priceList],
              task.failure === null ? null : [fields.error_code, <code>{task.failure.code}</code>],
              task.batchId === null ? null : [fields.batch_id, <AnyId id={task.batchId} />],
              [fields.request_id, <AnyId id={task.requestId} />],
              [fields.created_at, <Time at={task.createdAt} />],
              isFinal(task.status) ? [common.took, durationOf(task, visit.texts)] : null,
              [messages.deadline, <Time at={task.deadlineAt} />],
              [
                messages.workflow,
                <>
                  <HistoryLink temporal={temporal} workflowId={task.id} />{' '}
                  {workflow === undefined ? messages.noTemporal : null}
                  {workflow === null ? messages.noWorkflow : null}
                </>,
              ],
            ]}
          />
        </Card>
        {task.output === null ? null : (
          <Card title={common.result}>
            <div class="result">
              <Result task={task} controls description={task.id} />
            </div>
          </Card>
        )}
      </div>,
      <Renders task={task} submissions={submissions} />,
      <Deliveries deliveries={deliveries} none={messages.noDeliveries} temporal={temporal} />,
      hasPermission(visit, 'operate') ? <Actions explanation={explanation} /> : null,
    ),
  );
}

/** The parameters of the model, except texts and lists: these can have words of the customer, like the prompt. */
function knownParameters({ request: { parameters = {} } }: Task): JsonObject {
  return Object.fromEntries(
    Object.entries(parameters).filter(([, value]) => typeof value === 'number' || typeof value === 'boolean'),
  );
}

/** The timeline of a task, which the browser polls until the task is final. */
function TaskTimeline({ explanation }: { explanation: TaskExplanation }) {
  const texts = useTexts();
  const { task, verdict, events, pending } = explanation;
  return (
    <Polled path={`/console/staff/tasks/${task.id}/story`} seconds={3} isFinal={isFinal(task.status)}>
      <Card title={texts.staffTasks.timeline}>
        <p>
          <Chosen name="status" value={task.status} />{' '}
          {task.failure === null ? null : <strong>{wordFor('failure_reason', reasonOf(task.failure), texts)}</strong>}
        </p>
        <p class="verdict">{verdict}</p>
        <Timeline events={events} pending={pending} />
      </Card>
    </Polled>
  );
}

function Renders({ task, submissions }: { task: Task; submissions: readonly StoredSubmission[] }) {
  const { staffTasks: messages, fields, timeline, values } = useTexts();
  return (
    <TableCard
      of={SUBMISSION}
      title={messages.renders}
      rows={submissions}
      none={messages.noRenders}
      notes={{ upstream: 'upstream_model' }}
      columns={[
        'attempt',
        'upstream',
        'submitted_at',
        [
          messages.submission,
          (submission) => (
            <WithNote
              note={(submission.code ?? submission.detail) === null ? null : outcomeWords(submission, timeline)}
            >
              {submission.outcome === null ? (
                <Badge tone="busy">{messages.open}</Badge>
              ) : submission.outcome === 'accepted' && task.status === 'failed' ? (
                // The upstream accepted the job, but the task has no result.
                <Badge tone="calm">{values.outcome.accepted}</Badge>
              ) : (
                <Chosen name="outcome" value={submission.outcome} />
              )}
            </WithNote>
          ),
        ],
        'job_id',
        [
          fields.cost_usd,
          ({ cost, vendorCost, outcome }) =>
            // A vendor charges for no job that it did not accept.
            outcome === 'not_taken' ? null : (
              <WithNote note={vendorCost && `${vendorCost.amount} ${vendorCost.unit}`}>
                {cost === null ? messages.notKnown : <Money amount={cost} />}
              </WithNote>
            ),
          'number',
        ],
        'possible_loss_usd',
      ]}
    />
  );
}

function Actions({ explanation: { task, deliveries } }: { explanation: TaskExplanation }) {
  const { staffTasks: messages } = useTexts();
  const actions = [
    ...(isFinal(task.status) ? [] : [['cancel', messages.cancel, messages.cancelHint] as const]),
    ...(deliveries.length === 0 ? [] : [['redeliver', messages.redeliver, messages.redeliverHint] as const]),
    ['prompt', messages.showPrompt, messages.promptHint] as const,
  ];
  return <ReasonCards path={`tasks/${task.id}`} actions={actions} />;
}
