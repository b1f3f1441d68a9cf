/** Upstreams of text and media: their health, and overrides that take an upstream out of service. */
import { UPSTREAM } from '../../../../services/resources/upstreams.ts';
import { failingCallsOf } from '../../../../services/operations/current-problems.ts';
import { overrideUpstream } from '../../../../services/operations/override-upstream.ts';
import type { ApiServices } from '../../../../api/services.ts';
import { listUpstreamOverrides, type UpstreamOverride } from '../../../../db/queries/upstream-overrides.ts';
import { type CallSum, durationAtMs } from '../../../../domain/upstream-calls.ts';
import { overrideOf } from '../../../../domain/upstream-override.ts';
import { FormError } from '../../../form-problem.ts';
import { Badge, Choice, Empty, Field, Polled, WithNote, Time } from '../../../html/components.tsx';
import { usePage, useTexts } from '../../../html/page-context.ts';
import { ReasonCard } from '../../../html/reason-card.tsx';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import { hasPermission, type PageResult, showPage, showPart, staff, type UserVisit } from '../../../page.ts';
import { faultWords } from '../../../texts/texts.ts';
import { authorshipOf } from '../reason.ts';

const MINUTE_SECONDS = 60;

const MAX_MINUTES = 43_200;

const page = staff.page('/staff/upstreams', 'read', showUpstreams);

export const staffUpstreamPages = [
  page,
  staff.page('/staff/upstreams/health', 'read', async (_visit, services) =>
    showPart(<UpstreamTable {...await readHealth(services)} />),
  ),
  page.form('/rest', 'operate', (visit, services) => override(visit, services, readSeconds(visit)), 'paused'),
  page.form('/resume', 'operate', (visit, services) => override(visit, services, null), 'resumed'),
];

interface Health {
  readonly routes: Awaited<ReturnType<ApiServices['operations']['upstreams']['list']>>;
  readonly overrides: readonly UpstreamOverride[];
}

async function readHealth({ database, operations: { upstreams } }: ApiServices): Promise<Health> {
  const [routes, overrides] = await Promise.all([upstreams.list(), listUpstreamOverrides(database)]);
  return { routes: routes.toSorted((one, other) => urgencyOf(other) - urgencyOf(one)), overrides };
}

/** Routes that need an operator come first: those out of service or failing, then those with failures in the last hour. */
function urgencyOf(route: Health['routes'][number]): number {
  if (route.cause !== null || failingCallsOf(route) !== null) return 2;
  return route.lastHour.failures > 0 ? 1 : 0;
}

async function showUpstreams(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const { staffUpstreams: messages, titles } = visit.texts;
  const health = await readHealth(services);
  const { routes } = health;
  const names = [...new Set(routes.map(({ name }) => name))].map((name) => [name, name] as const);
  const models = [...new Set(routes.map(({ model }) => model))].map((model) => [model, model] as const);
  return showPage(
    titles.upstreams,
    <p class="soft">{messages.about}</p>,
    hasPermission(visit, 'operate') && routes.length > 0 ? (
      <OverrideForms names={names} models={[['', messages.allModels], ...models]} />
    ) : null,
    <UpstreamTable {...health} />,
  );
}

type Options = readonly (readonly [value: string, label: string])[];

/** The forms, closed so that the table stays in view. They stand above the table, which is long. */
function OverrideForms({ names, models }: { names: Options; models: Options }) {
  const { problem, texts } = usePage();
  const { staffUpstreams: messages } = texts;
  return (
    <details class="question overrides" open={problem !== null}>
      <summary class="button quiet">{messages.override}</summary>
      <div class="grid">
        <ReasonCard title={messages.rest} hint={messages.restHint} action="upstreams/rest" look="danger">
          <Choice name="upstream" id="rest-upstream" options={names} />
          <Choice name="model" id="rest-model" options={models} />
          <Field name="minutes" label={messages.minutes} value={USUAL_MINUTES} inputMode="numeric" required />
        </ReasonCard>
        <ReasonCard title={messages.resume} hint={messages.resumeHint} action="upstreams/resume" look="">
          <Choice name="upstream" id="resume-upstream" options={names} />
          <Choice name="model" id="resume-model" options={models} />
        </ReasonCard>
      </div>
    </details>
  );
}

function override(visit: UserVisit, services: ApiServices, disabledSeconds: number | null) {
  const { form } = visit;
  const override = { upstream: form.text('upstream'), model: form.optional('model'), disabledSeconds };
  return overrideUpstream(services, { ...override, ...authorshipOf(visit) });
}

function readSeconds({ form, texts }: UserVisit): number {
  const minutes = form.text('minutes');
  const count = /^\d{1,5}$/.test(minutes) ? Number(minutes) : 0;
  if (count < 1 || count > MAX_MINUTES) {
    throw new FormError(texts.staffUpstreams.minutesFrom(1, MAX_MINUTES), { field: 'minutes' });
  }
  return count * MINUTE_SECONDS;
}

const USUAL_MINUTES = '10';

/** The table of upstreams, which the browser polls while the page is open. */
function UpstreamTable({ routes, overrides }: Health) {
  const texts = useTexts();
  const { staffUpstreams: messages, fields, titles } = texts;
  if (routes.length === 0) return <Empty>{messages.none}</Empty>;
  return (
    <Polled path="/console/staff/upstreams/health" seconds={5}>
      <TableCard
        of={UPSTREAM}
        label={titles.upstreams}
        rows={routes}
        columns={[
          [
            fields.upstream,
            (route) => (
              <WithNote note={'format' in route ? route.format : (route.protocol ?? messages.notConfigured)}>
                {route.name}
              </WithNote>
            ),
          ],
          [
            fields.model,
            ({ model, key }) => <WithNote note={key === null ? null : <code>{`…${key}`}</code>}>{model}</WithNote>,
          ],
          [
            fields.status,
            (route) => (
              <WithNote note={route.sinceMs === null ? null : <Time at={new Date(route.sinceMs)} />}>
                <WithNote
                  note={
                    route.cause && (
                      <Cause cause={route.cause} override={overrideOf(overrides, route.name, route.model)} />
                    )
                  }
                >
                  <State route={route} />
                  {route.openIn < 2 ? null : ` ${messages.openIn(route.openIn)}`}
                </WithNote>
              </WithNote>
            ),
          ],
          [
            messages.lastFailure,
            ({ lastFailure }) =>
              lastFailure === null ? null : (
                <WithNote note={<Time at={lastFailure.failedAt} />}>
                  {[
                    faultWords(lastFailure.fault, texts),
                    lastFailure.status === null ? '' : `HTTP ${lastFailure.status}`,
                    lastFailure.message,
                  ]
                    .filter((part) => part !== '')
                    .join(': ')}
                </WithNote>
              ),
            'words',
          ],
          [messages.fiveMinutes, ({ lastFiveMinutes }) => <Calls sum={lastFiveMinutes} />, 'number'],
          [messages.hour, ({ lastHour }) => <Calls sum={lastHour} />, 'number'],
          [messages.day, ({ lastDay }) => <Calls sum={lastDay} />, 'number'],
        ]}
      />
    </Polled>
  );
}

/** The state of a route. A route that is in service and fails many of its calls says so in place of its state. */
function State({ route }: { route: Health['routes'][number] }) {
  const { staffLive } = useTexts();
  const failing = failingCallsOf(route);
  if (failing === null) return <Chosen name="state" value={route.cause === 'operator' ? 'paused' : route.state} />;
  return <Badge tone="bad">{staffLive.failed(failing)}</Badge>;
}

/** Why a route is out of service. An override also has its author and its reason. */
function Cause({ cause, override }: { cause: string; override: UpstreamOverride | undefined }) {
  const { staff: messages, staffUpstreams } = useTexts();
  const isOverride = cause === 'operator' && override !== undefined;
  return (
    <WithNote
      note={
        isOverride ? (
          <>
            {override.until === null ? null : (
              <>
                {staffUpstreams.until} <Time at={override.until} />{' '}
              </>
            )}
            {messages.by(override.author, override.reason)}
          </>
        ) : null
      }
    >
      <Chosen name="cause" value={cause} />
    </WithNote>
  );
}

/** The requests of a period: their number, failures and durations. */
function Calls({ sum }: { sum: CallSum }) {
  const { language, staffUpstreams: messages } = useTexts();
  const { requests, failures } = sum;
  const [median, p95] = [durationAtMs(sum, 0.5), durationAtMs(sum, 0.95)];
  return (
    <WithNote note={median === null || p95 === null ? null : messages.durations(median, p95)}>
      {requests.toLocaleString(language)}
      {failures === 0 ? null : <Badge tone="bad">{messages.failed(failures)}</Badge>}
    </WithNote>
  );
}
