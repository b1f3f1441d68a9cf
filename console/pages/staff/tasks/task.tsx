/** A task with its whole story: what it cost, who rendered it, what was sent of it, and what may be done. */
import { historyUrl, type HistoryLinks } from '../../../../api/history-link.ts';
import type { TaskExplanation } from '../../../../api/services/explain-task.ts';
import type { KeptSubmission } from '../../../../db/queries/submissions.ts';
import { isFinal } from '../../../../domain/task.ts';
import {
  Badge,
  Card,
  Copyable,
  Empty,
  Field,
  Form,
  Money,
  Problem,
  Table,
  Time,
  type Tone,
} from '../../../html/components.tsx';
import { AnyId } from '../../../html/linked-ids.tsx';
import { Timeline } from '../../../html/timeline.tsx';
import { OPERATORS, type UserVisit } from '../../../page.ts';
import type { Texts } from '../../../texts/texts.ts';
import { Deliveries } from '../deliveries.tsx';
import { may } from '../may.ts';
import { Result, TaskStatus } from '../../tasks/gallery.tsx';

interface Props {
  readonly explanation: TaskExplanation;
  readonly temporal: HistoryLinks;
  readonly problem: string | null;
  readonly isPromptShown: boolean;
  readonly visit: UserVisit;
}

export function TaskContent({ explanation, temporal, problem, isPromptShown, visit }: Props) {
  const { texts } = visit;
  const { task, submissions, deliveries } = explanation;
  const words = texts.staffTasks;
  const mayAct = may(visit, OPERATORS);
  return (
    <>
      <Problem message={problem} />
      <TaskStory explanation={explanation} texts={texts} />
      <div class="grid forms">
        <Card title={words.details}>
          <Details explanation={explanation} temporal={temporal} texts={texts} />
        </Card>
        {task.output === null ? null : (
          <Card title={texts.tasks.result}>
            <div class="result">
              <Result task={task} texts={texts} controls description={task.id} />
            </div>
          </Card>
        )}
        {isPromptShown ? (
          <Card title={texts.tasks.prompt}>
            <p class="soft">{words.promptNoted}</p>
            <p class="prose">{task.request.prompt}</p>
          </Card>
        ) : null}
      </div>
      <Card title={words.renders}>
        <Renders submissions={submissions} texts={texts} />
      </Card>
      <Card title={words.deliveries}>
        {deliveries.length === 0 ? (
          <Empty>{words.noDeliveries}</Empty>
        ) : (
          <Deliveries deliveries={deliveries} temporal={temporal} texts={texts} />
        )}
      </Card>
      {mayAct ? <Actions explanation={explanation} visit={visit} isPromptShown={isPromptShown} /> : null}
    </>
  );
}

/** What happened; asks for itself again until the task has ended. */
export function TaskStory({ explanation, texts }: { readonly explanation: TaskExplanation; readonly texts: Texts }) {
  const { task, verdict, events, workflow } = explanation;
  const live = isFinal(task.status)
    ? {}
    : { 'hx-get': `/console/staff/tasks/${task.id}/story`, 'hx-trigger': 'every 3s', 'hx-swap': 'outerHTML' };
  return (
    <div {...live}>
      <Card title={texts.staffTasks.story}>
        <p>
          <TaskStatus task={task} texts={texts} /> {verdict}
        </p>
        <Timeline events={events} pending={workflow?.pending ?? []} texts={texts} />
      </Card>
    </div>
  );
}

function Details({
  explanation: { task, workflow },
  temporal,
  texts,
}: Pick<Props, 'explanation' | 'temporal'> & { readonly texts: Texts }) {
  const { staffTasks: words, staff, common, tasks: taskWords } = texts;
  return (
    <dl>
      <dt>{taskWords.id}</dt>
      <dd>
        <Copyable text={task.id} texts={texts} label={taskWords.id} />
      </dd>
      <dt>{staff.account}</dt>
      <dd>
        <a href={`/console/staff/accounts/${task.accountId}`}>
          <code>{task.accountId}</code>
        </a>
      </dd>
      <dt>{words.key}</dt>
      <dd>
        <AnyId id={task.apiKeyId} />
      </dd>
      <dt>{common.model}</dt>
      <dd>{task.model}</dd>
      <dt>{words.upstream}</dt>
      <dd>{task.provider}</dd>
      <dt>{common.price}</dt>
      <dd>
        <Money amount={task.price} />
      </dd>
      <dt>{common.created}</dt>
      <dd>
        <Time at={task.createdAt} />
      </dd>
      <dt>{words.deadline}</dt>
      <dd>
        <Time at={task.deadlineAt} />
      </dd>
      <dt>{words.workflow}</dt>
      <dd>
        <a href={historyUrl(temporal, task.id)} rel="noreferrer">
          {words.openTemporal}
        </a>{' '}
        {workflow === undefined ? words.noTemporal : null}
        {workflow === null ? words.noWorkflow : null}
      </dd>
    </dl>
  );
}

const OUTCOME_TONES: Readonly<Record<NonNullable<KeptSubmission['outcome']>, Tone>> = {
  accepted: 'good',
  refused: 'bad',
  not_taken: 'calm',
  unknown: 'bad',
};

function Renders({ submissions, texts }: { readonly submissions: readonly KeptSubmission[]; readonly texts: Texts }) {
  const { staffTasks: words } = texts;
  if (submissions.length === 0) return <Empty>{words.noRenders}</Empty>;
  return (
    <Table
      label={words.renders}
      columns={[
        { number: words.attempt },
        words.upstream,
        words.submitted,
        words.outcome,
        words.job,
        { number: words.cost },
        { number: words.possibleLoss },
      ]}
    >
      {submissions.map(
        ({ attempt, provider, model, submittedAt, outcome, detail, jobId, cost, vendorCost, possibleLoss }) => (
          <tr>
            <td class="right number">{attempt}</td>
            <th scope="row">
              {provider}
              <div class="soft">{model}</div>
            </th>
            <td>
              <Time at={submittedAt} />
            </td>
            <td>
              {outcome === null ? (
                <Badge tone="busy">{words.open}</Badge>
              ) : (
                <Badge tone={OUTCOME_TONES[outcome]}>{words.outcomes[outcome]}</Badge>
              )}
              {detail === null ? null : <div class="soft">{detail}</div>}
            </td>
            <td>{jobId === null ? null : <code>{jobId}</code>}</td>
            <td class="right">
              {cost === null ? words.notKnown : <Money amount={cost} />}
              {vendorCost === null ? null : <div class="soft">{`${vendorCost.amount} ${vendorCost.unit}`}</div>}
            </td>
            <td class="right">{possibleLoss === null ? null : <Money amount={possibleLoss} />}</td>
          </tr>
        ),
      )}
    </Table>
  );
}

function Actions({
  explanation: { task, deliveries },
  visit: { texts, session },
  isPromptShown,
}: Pick<Props, 'explanation' | 'visit' | 'isPromptShown'>) {
  const { staffTasks: words, staff } = texts;
  const actions = [
    ...(isFinal(task.status) ? [] : [{ name: 'cancel', title: words.cancel, hint: words.cancelHint, danger: true }]),
    ...(deliveries.length === 0
      ? []
      : [{ name: 'redeliver', title: words.redeliver, hint: words.redeliverHint, danger: false }]),
    ...(isPromptShown ? [] : [{ name: 'prompt', title: words.showPrompt, hint: words.promptHint, danger: false }]),
  ];
  return (
    <div class="grid">
      {actions.map(({ name, title, hint, danger }) => (
        <Card title={title}>
          <p class="soft">{hint}</p>
          <Form token={session.formToken} action={`/console/staff/tasks/${task.id}/${name}`}>
            <Field name="reason" id={`${name}-reason`} label={staff.reason} required />
            <button type="submit" class={danger ? 'danger' : 'quiet'}>
              {title}
            </button>
          </Form>
        </Card>
      ))}
    </div>
  );
}
