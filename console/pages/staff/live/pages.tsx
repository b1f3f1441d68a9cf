/** The operators' home: current problems, the dependencies of the gateway, and pending and late work. */
import { type Problem, readState, type State } from '../../../../services/operations/current-problems.ts';
import type { Backlog } from '../../../../db/queries/backlog.ts';
import { formatDollars } from '../../../../domain/money.ts';
import { Badge, Card, Empty, Facts, Polled, type Tone } from '../../../html/components.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { soldWhat } from '../../../html/terms.tsx';
import { showPage, showPart, staff, type UserVisit } from '../../../page.ts';
import { type Texts, wordFor } from '../../../texts/texts.ts';

const TONES: Readonly<Record<State['readiness']['status'], Tone>> = {
  ready: 'good',
  degraded: 'busy',
  not_ready: 'bad',
};
/** If work waits longer than this, a relay is down or behind: see docs/on-call.md. */
const LATE_SECONDS = 30;

export const staffLivePages = [
  staff.page('/staff/live', 'read', async ({ texts }: UserVisit, services) =>
    showPage(texts.titles.live, <Live state={await readState(services)} />),
  ),
  staff.page('/staff/live/state', 'read', async (_visit, services) =>
    showPart(<Live state={await readState(services)} />),
  ),
];

/** The state, which the browser polls while the page is open. */
function Live({ state: { backlog, readiness, problems } }: { state: State }) {
  const texts = useTexts();
  const messages = texts.staffLive;
  const { status, database, temporal } = readiness;
  return (
    <Polled path="/console/staff/live/state" seconds={3}>
      <Card title={messages.wrong}>
        {problems.length === 0 ? <Empty>{messages.nothingWrong}</Empty> : null}
        <ul class="plain">
          {problems.map((problem) => {
            const page = pageOf(problem);
            const line = wordsOf(problem, texts);
            return (
              <li>
                <Badge tone={problem.kind === 'disabled' ? 'calm' : 'bad'}>{messages.problems[problem.kind]}</Badge>{' '}
                {page === null ? line : <a href={page}>{line}</a>}
              </li>
            );
          })}
        </ul>
      </Card>
      <div class="grid">
        <Card title={messages.ready}>
          <Facts
            facts={[
              [messages.gateway, <Badge tone={TONES[status]}>{messages.statuses[status]}</Badge>],
              [
                messages.database,
                <Badge tone={database === 'ok' ? 'good' : 'bad'}>{messages.databases[database]}</Badge>,
              ],
              [
                messages.temporal,
                <Badge tone={temporal === 'ok' ? 'good' : 'bad'}>{messages.temporals[temporal]}</Badge>,
              ],
            ]}
          />
        </Card>
        {backlog === null ? null : <Work backlog={backlog} />}
      </div>
    </Polled>
  );
}

const OVERDUE_TASKS = '/console/staff/tasks?status=overdue';

/** The page with more about a problem, or with a remedy. */
const PAGES: Readonly<Record<Exclude<Problem['kind'], 'belowCost' | 'disabled' | 'acknowledgements'>, string | null>> =
  {
    database: null,
    temporal: null,
    circuit: '/console/staff/upstreams',
    failing: '/console/staff/failures?period=hour',
    unknownWord: '/console/staff/tasks?status=processing',
    failedPolls: '/console/staff/tasks?status=processing',
    refusedPayment: null,
    overdue: OVERDUE_TASKS,
    lateTasks: '/console/staff/tasks?status=queued',
    lateDeliveries: '/console/staff/webhooks?show=all',
    endpoints: '/console/staff/webhooks',
    approvals: '/console/staff/corrections',
    findings: '/console/staff/reconciliations',
    files: '/console/staff/models',
    moderation: null,
  };

function pageOf(problem: Problem): string | null {
  if (problem.kind === 'disabled') return `/console/staff/models/${encodeURIComponent(problem.model)}`;
  if (problem.kind === 'acknowledgements') return `/console/staff/reconciliations/${problem.reconciliationId}`;
  if (problem.kind !== 'belowCost') return PAGES[problem.kind];
  if (problem.list === null) return '/console/staff/models';
  const [name, version] = problem.list.split('@');
  return `/console/staff/price-lists/${name}?version=${version}`;
}

function wordsOf(problem: Problem, texts: Texts): string {
  const { staffLive: messages } = texts;
  switch (problem.kind) {
    case 'database':
    case 'temporal':
      return messages[problem.kind];
    case 'circuit':
      return `${problem.upstream}, ${modelsOf(problem, texts)}: ${wordFor('cause', problem.cause, texts)}`;
    case 'failing':
      return `${problem.upstream}, ${problem.model}: ${messages.failed(problem.calls)}`;
    case 'unknownWord':
      return `${problem.upstream}, ${problem.model}: ${messages.unknownWord(problem.words)}`;
    case 'failedPolls':
      return `${problem.upstream}, ${problem.model}: ${messages.failedPolls(problem.words)}`;
    case 'refusedPayment':
      return `${problem.subject}: ${problem.reason}`;
    case 'lateTasks':
    case 'lateDeliveries':
      return `${problem.count}, ${messages.oldest(problem.seconds)}`;
    case 'belowCost':
      return `${problem.list ?? texts.priceLists.catalogue}: ${lossesText(problem, texts)}`;
    case 'moderation':
      return messages.moderation(problem.reason);
    case 'files':
      return problem.reason;
    case 'disabled':
      return `${problem.model}: ${texts.staff.by(problem.author, problem.reason)}`;
    default:
      return String(problem.count);
  }
}

function lossesText({ count, first }: Extract<Problem, { kind: 'belowCost' }>, texts: Texts): string {
  const { model, price, cost } = first;
  const sold = `${model} ${soldWhat(first, texts)}`;
  return texts.priceLists.losses(count, sold, formatDollars(price), formatDollars(cost));
}

/** The name of the only model, or the number of models. */
function modelsOf({ models }: Extract<Problem, { kind: 'circuit' }>, { staffLive: messages }: Texts): string {
  return models.size === 1 ? [...models].join() : messages.models(models.size);
}

function Work({ backlog }: { backlog: Backlog }) {
  const { staffLive: messages } = useTexts();
  const isDrained = backlog.running === 0 && backlog.pendingDeliveries === 0;
  const { overdue, unstarted, oldestUnstartedSeconds, unstartedDeliveries, oldestUnstartedDeliverySeconds } = backlog;
  return (
    <>
      <Card title={messages.tasks}>
        <p class="big number">{backlog.running}</p>
        <p class="soft">{messages.held(backlog.reservedUsd)}</p>
        <Facts
          facts={[
            [<a href={OVERDUE_TASKS}>{messages.overdue}</a>, <Count count={overdue} isBad={overdue > 0} />],
            [messages.drained, isDrained ? messages.nothingLeft : messages.workLeft],
          ]}
        />
      </Card>
      <Card title={messages.relay}>
        <p class="soft">{messages.relayHint}</p>
        <Facts
          facts={[
            [messages.tasksToStart, <Waiting count={unstarted} seconds={oldestUnstartedSeconds} />],
            [
              messages.deliveriesToStart,
              <Waiting count={unstartedDeliveries} seconds={oldestUnstartedDeliverySeconds} />,
            ],
          ]}
        />
      </Card>
      <Card title={messages.deliveries}>
        <p class="big number">{backlog.pendingDeliveries}</p>
        <p>
          <a href="/console/staff/webhooks">{messages.failing}</a>
        </p>
      </Card>
    </>
  );
}

/** @param seconds the waiting time of the oldest entry */
function Waiting({ count, seconds }: { count: number; seconds: number }) {
  const { staffLive: messages } = useTexts();
  return (
    <>
      <Count count={count} isBad={seconds > LATE_SECONDS} />
      {count === 0 ? null : ` ${messages.oldest(Math.round(seconds))}`}
    </>
  );
}

function Count({ count, isBad }: { count: number; isBad: boolean }) {
  return <Badge tone={isBad ? 'bad' : 'calm'}>{count}</Badge>;
}
