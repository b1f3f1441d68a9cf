/** A task with its timeline, submissions, costs, deliveries and actions. */
import { SUBMISSION } from '../../../../api/routes/admin/present-submissions.ts';
import { historyUrl, type HistoryLinks } from '../../../../api/history-link.ts';
import type { TaskExplanation } from '../../../../api/services/explain-task.ts';
import type { KeptSubmission } from '../../../../db/queries/submissions.ts';
import { noteOf } from '../../../../domain/media-route.ts';
import { isFinal } from '../../../../domain/task.ts';
import { Badge, Card, Copyable, Money, Noted, Time } from '../../../html/components.tsx';
import { Facts } from '../../../html/facts.tsx';
import { AnyId } from '../../../html/linked-ids.tsx';
import { ReasonCard } from '../../../html/reason-card.tsx';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import { Timeline } from '../../../html/timeline.tsx';
import { may, type UserVisit } from '../../../page.ts';
import { Deliveries } from '../deliveries.tsx';
import { Result } from '../../tasks/gallery.tsx';
import { useTexts } from '../../../html/page-context.ts';

interface Props {
  readonly explanation: TaskExplanation;
  readonly temporal: HistoryLinks;
  readonly isPromptShown: boolean;
  readonly visit: UserVisit;
}

export function TaskContent({ explanation, temporal, isPromptShown, visit }: Props) {
  const { texts } = visit;
  const { task, submissions, deliveries } = explanation;
  const words = texts.staffTasks;
  const mayAct = may(visit, 'operate');
  return (
    <>
      <TaskTimeline explanation={explanation} />
      <div class="grid forms">
        <Card title={words.details}>
          <Details explanation={explanation} temporal={temporal} />
        </Card>
        {task.output === null ? null : (
          <Card title={texts.tasks.result}>
            <div class="result">
              <Result task={task} controls description={task.id} />
            </div>
          </Card>
        )}
        {isPromptShown ? (
          <Card title={texts.fields.prompt}>
            <p class="soft">{words.promptNoted}</p>
            <p class="prose">{task.request.prompt}</p>
          </Card>
        ) : null}
      </div>
      <Renders submissions={submissions} />
      <Deliveries deliveries={deliveries} none={words.noDeliveries} temporal={temporal} />
      {mayAct ? <Actions explanation={explanation} visit={visit} isPromptShown={isPromptShown} /> : null}
    </>
  );
}

/** The timeline of a task. The browser fetches the timeline again until the task is final. */
export function TaskTimeline({ explanation }: { readonly explanation: TaskExplanation }) {
  const texts = useTexts();
  const { task, verdict, events, workflow } = explanation;
  const live = isFinal(task.status)
    ? {}
    : { 'hx-get': `/console/staff/tasks/${task.id}/story`, 'hx-trigger': 'every 3s', 'hx-swap': 'outerHTML' };
  return (
    <div {...live}>
      <Card title={texts.staffTasks.timeline}>
        <p>
          <Chosen name="status" value={task.status} /> {verdict}
        </p>
        <Timeline events={events} pending={workflow?.pending ?? []} />
      </Card>
    </div>
  );
}

function Details({ explanation: { task, workflow }, temporal }: Pick<Props, 'explanation' | 'temporal'> & {}) {
  const texts = useTexts();
  const { staffTasks: words, staff, common, tasks: taskWords, fields } = texts;
  return (
    <Facts
      facts={[
        [taskWords.id, <Copyable text={task.id} label={taskWords.id} />],
        [staff.account, <AnyId id={task.accountId} />],
        [words.key, <AnyId id={task.apiKeyId} />],
        [fields.model, task.model],
        [texts.fields.upstream, task.provider],
        [common.price, <Money amount={task.price} />],
        task.endUser === null ? null : [fields.end_user, task.endUser],
        task.priceList === null ? null : [fields.price_list, task.priceList],
        [fields.created_at, <Time at={task.createdAt} />],
        [words.deadline, <Time at={task.deadlineAt} />],
        [
          words.workflow,
          <>
            <a href={historyUrl(temporal, task.id)} rel="noreferrer">
              {words.openTemporal}
            </a>{' '}
            {workflow === undefined ? words.noTemporal : null}
            {workflow === null ? words.noWorkflow : null}
          </>,
        ],
      ]}
    />
  );
}

function Renders({ submissions }: { readonly submissions: readonly KeptSubmission[] }) {
  const { staffTasks: words, fields } = useTexts();
  return (
    <TableCard
      of={SUBMISSION}
      title={words.renders}
      rows={submissions}
      none={words.noRenders}
      notes={{ upstream: 'upstream_model' }}
      columns={[
        'attempt',
        'upstream',
        'submitted_at',
        [
          fields.outcome,
          (submission) => (
            <Noted note={noteOf(submission)}>
              {submission.outcome === null ? (
                <Badge tone="busy">{words.open}</Badge>
              ) : (
                <Chosen name="outcome" value={submission.outcome} />
              )}
            </Noted>
          ),
        ],
        'job_id',
        [
          fields.cost_usd,
          ({ cost, vendorCost }) => (
            <Noted note={vendorCost && `${vendorCost.amount} ${vendorCost.unit}`}>
              {cost === null ? words.notKnown : <Money amount={cost} />}
            </Noted>
          ),
          'number',
        ],
        'possible_loss_usd',
      ]}
    />
  );
}

function Actions({
  explanation: { task, deliveries },
  visit,
  isPromptShown,
}: Pick<Props, 'explanation' | 'visit' | 'isPromptShown'>) {
  const { staffTasks: words } = visit.texts;
  const actions = [
    ...(isFinal(task.status) ? [] : [['cancel', words.cancel, words.cancelHint] as const]),
    ...(deliveries.length === 0 ? [] : [['redeliver', words.redeliver, words.redeliverHint] as const]),
    ...(isPromptShown ? [] : [['prompt', words.showPrompt, words.promptHint] as const]),
  ];
  return (
    <div class="grid">
      {actions.map(([name, title, hint]) => (
        <ReasonCard
          title={title}
          hint={hint}
          action={`tasks/${task.id}/${name}`}
          look={name === 'cancel' ? 'danger' : 'quiet'}
        />
      ))}
    </div>
  );
}
