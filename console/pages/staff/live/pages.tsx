/** The operators' home: current concerns, the dependencies of the gateway, and pending and late work. */
import { type Concern, readState, type State } from '../../../../services/operations/concerns.ts';
import type { Backlog } from '../../../../db/queries/backlog.ts';
import { formatDollars } from '../../../../domain/money.ts';
import { Badge, Card, Empty, Facts, Polled, type Tone } from '../../../html/components.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { priceName } from '../../../html/terms.tsx';
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
function Live({ state: { backlog, readiness, concerns } }: { state: State }) {
  const texts = useTexts();
  const messages = texts.staffLive;
  const { status, database, temporal } = readiness;
  return (
    <Polled path="/console/staff/live/state" seconds={3}>
      <Card title={messages.wrong}>
        {concerns.length === 0 ? <Empty>{messages.nothingWrong}</Empty> : null}
        <ul class="plain">
          {concerns.map((concern) => {
            const page = pageOf(concern);
            const line = wordsOf(concern, texts);
            return (
              <li>
                <Badge tone={concern.kind === 'disabled' ? 'calm' : 'bad'}>{messages.concerns[concern.kind]}</Badge>{' '}
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

/** The page with more about a concern, or with a remedy. */
const PAGES: Readonly<Record<Exclude<Concern['kind'], 'belowCost' | 'disabled' | 'acknowledgements'>, string | null>> =
  {
    database: null,
    temporal: null,
    circuit: '/console/staff/upstreams',
    failing: '/console/staff/failures?period=hour',
    unknownWord: '/console/staff/tasks?status=processing',
    overdue: '/console/staff/tasks?status=processing',
    lateTasks: '/console/staff/tasks?status=queued',
    lateDeliveries: '/console/staff/webhooks?show=all',
    endpoints: '/console/staff/webhooks',
    approvals: '/console/staff/corrections',
    findings: '/console/staff/reconciliations',
    files: '/console/staff/models',
  };

function pageOf(concern: Concern): string | null {
  if (concern.kind === 'disabled') return `/console/staff/models/${encodeURIComponent(concern.model)}`;
  if (concern.kind === 'acknowledgements') return `/console/staff/reconciliations/${concern.reconciliationId}`;
  if (concern.kind !== 'belowCost') return PAGES[concern.kind];
  if (concern.list === null) return '/console/staff/models';
  const [name, version] = concern.list.split('@');
  return `/console/staff/price-lists/${name}?version=${version}`;
}

function wordsOf(concern: Concern, texts: Texts): string {
  const { staffLive: messages } = texts;
  switch (concern.kind) {
    case 'database':
    case 'temporal':
      return messages[concern.kind];
    case 'circuit':
      return `${concern.upstream}, ${modelsOf(concern, texts)}: ${wordFor('cause', concern.cause, texts)}`;
    case 'failing':
      return `${concern.upstream}, ${concern.model}: ${messages.failed(concern.calls)}`;
    case 'unknownWord':
      return `${concern.upstream}, ${concern.model}: ${messages.unknownWord(concern.word)}`;
    case 'lateTasks':
    case 'lateDeliveries':
      return `${concern.count}, ${messages.oldest(concern.seconds)}`;
    case 'belowCost':
      return `${concern.list ?? texts.priceLists.catalogue}: ${lossesText(concern, texts)}`;
    case 'files':
      return concern.reason;
    case 'disabled':
      return `${concern.model}: ${texts.staff.by(concern.author, concern.reason)}`;
    default:
      return String(concern.count);
  }
}

function lossesText({ count, first }: Extract<Concern, { kind: 'belowCost' }>, texts: Texts): string {
  const { model, what, seconds, price, cost } = first;
  const length = seconds === null ? '' : `, ${texts.tasks.seconds(seconds)}`;
  const sold = `${model} ${priceName(what, texts)}${length}`;
  return texts.priceLists.losses(count, sold, formatDollars(price), formatDollars(cost));
}

/** The name of the only model, or the number of models. */
function modelsOf({ models }: Extract<Concern, { kind: 'circuit' }>, { staffLive: messages }: Texts): string {
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
            [messages.overdue, <Count count={overdue} isBad={overdue > 0} />],
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
