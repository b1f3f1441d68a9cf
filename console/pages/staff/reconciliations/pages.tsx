/** Reconciliations: reports, acknowledgements, and starting a reconciliation. */
import type { Child } from 'hono/jsx';
import { readFindings } from '../../../../services/money/reported-findings.ts';
import {
  CHECK,
  FINDING,
  RECONCILIATION,
  type ReportedFinding,
} from '../../../../services/resources/reconciliations.ts';
import { acknowledgeSchema } from '../../../../services/input/admin.ts';
import { acknowledgeFindings, decideAcknowledgement } from '../../../../services/money/acknowledgements.ts';
import { runReconciliation } from '../../../../services/money/run-reconciliation.ts';
import type { ApiServices } from '../../../../api/services.ts';
import { createValidator } from '../../../../services/input/validation.ts';
import type { Acknowledgement, AcknowledgementOutcome } from '../../../../db/queries/acknowledgements.ts';
import {
  findReconciliation,
  listReconciliations,
  type Reconciliation,
} from '../../../../db/queries/reconciliations.ts';
import { withAccountNames } from '../../../account-names.ts';
import { exportFile } from '../../../export.ts';
import { Badge, Card, Empty, Field, Form, FormButton, Polled, Time, WithNote } from '../../../html/components.tsx';
import { Downloads } from '../../../html/filters.tsx';
import { LinkedIds } from '../../../html/linked-ids.tsx';
import { useMay, usePage, useTexts } from '../../../html/page-context.ts';
import { TableCard } from '../../../html/resource-table.tsx';
import { readListPage } from '../../../list-page.ts';
import {
  type Done,
  type DrawnResult,
  requireFound,
  hasPermission,
  openPage,
  type PageResult,
  showPage,
  showPart,
  staff,
  type UserVisit,
} from '../../../page.ts';
import { findingTexts } from '../../../texts/texts.ts';
import { FoundRow } from '../found-row.tsx';

const validate = createValidator(acknowledgeSchema);
const REPORTS_SHOWN = 25;
/** As in {@link acknowledgeSchema}. */
const MAX_ACKNOWLEDGED = 1_000;
/** A reconciliation that takes longer has lost its worker. Another reconciliation may start. */
const MAX_RUN_MS = 10 * 60_000;

const PATH = '/staff/reconciliations/{reconciliation_id}';
const page = staff.page(PATH, 'read', (visit, services) =>
  showReport(visit, services, (report) => showPage(visit.texts.titles.reconciliation, report)),
);

export const staffReconciliationPages = [
  staff.page('/staff/reconciliations', 'read', showAll),
  staff.form('/staff/reconciliations', 'moveMoney', runNow),
  page,
  staff.page(`${PATH}/report`, 'read', (visit, services) => showReport(visit, services, showPart)),
  staff.page(`${PATH}/export`, 'read', async (visit, services) => {
    const reconciliation = await reconciliationOf(visit, services);
    const findings = await readFindings(services.database, reconciliation);
    return exportFile(`findings-${reconciliation.id}`, visit.query, findings, FINDING);
  }),
  page.form('/acknowledge', 'moveMoney', acknowledge, (_visit, isPending) => (isPending ? 'waits' : 'acknowledged')),
  deciding('confirm', 'confirmed', 'confirmed'),
  deciding('reject', 'rejected', 'rejected'),
  deciding('withdraw', 'withdrawn', 'withdrawn'),
];

function deciding(name: string, outcome: AcknowledgementOutcome, done: Done) {
  return page.form(
    `/${name}`,
    'moveMoney',
    ({ form, user }, { database }) =>
      decideAcknowledgement(database, { id: form.text('acknowledgement_id'), outcome, by: user.email }),
    done,
  );
}

/** @returns whether a finding waits for a second person */
async function acknowledge({ params, form, user }: UserVisit, services: ApiServices): Promise<boolean> {
  const reconciliationId = params['reconciliation_id'] ?? '';
  const chosen =
    form.text('all') === '' ? form.all('finding').map(Number) : await openNumbers(reconciliationId, services);
  const { findings: numbers, reason } = validate({ findings: chosen, reason: form.text('reason') });
  return acknowledgeFindings(services, { reconciliationId, numbers, reason, author: user.email });
}

/** The numbers of the findings that nobody has acknowledged, at most as many as one request acknowledges. */
async function openNumbers(reconciliationId: string, { database }: ApiServices): Promise<readonly number[]> {
  const findings = await readFindings(database, requireFound(await findReconciliation(database, reconciliationId)));
  const open = findings.flatMap(({ acknowledgement }, index) => (acknowledgement === null ? [index + 1] : []));
  return open.slice(0, MAX_ACKNOWLEDGED);
}

async function showAll(visit: UserVisit, { database }: ApiServices): Promise<PageResult> {
  const { query, texts, path } = visit;
  const { reconciliation: messages, titles, common } = texts;
  const { entries: reconciliations, next } = await readListPage(
    query,
    'reconciliation',
    (slice) => listReconciliations(database, slice),
    REPORTS_SHOWN,
  );
  return showPage(
    titles.reconciliation,
    <p class="soft">{messages.explained}</p>,
    hasPermission(visit, 'moveMoney') ? (
      <div class="row actions">
        <FormButton action={path} label={messages.runNow} look="" />
      </div>
    ) : null,
    <TableCard
      of={RECONCILIATION}
      rows={reconciliations}
      none={messages.none}
      pageOf={({ id }) => `${path}/${id}`}
      columns={[
        [messages.begun, 'created_at'],
        [common.result, (found) => <ReconciliationBadge reconciliation={found} />],
        'finished_at',
        'requested_by',
      ]}
      next={next}
    />,
  );
}

/** Returns the number of findings, or null while the reconciliation runs. */
function findingsOf({ report }: Reconciliation): number | null {
  return report && report.checks.reduce((total, { findings }) => total + findings, 0);
}

function ReconciliationBadge({ reconciliation }: { reconciliation: Reconciliation }) {
  const { reconciliation: messages, values } = useTexts();
  const findings = findingsOf(reconciliation);
  if (findings === null) return <Badge tone="busy">{values.state.running}</Badge>;
  if (findings === 0) return <Badge tone="good">{messages.clean}</Badge>;
  const open = reconciliation.openFindings ?? findings;
  return (
    <WithNote note={open < findings ? messages.acknowledgedOf(findings - open, findings) : null}>
      {open === 0 ? (
        <Badge tone="good">{messages.acknowledged}</Badge>
      ) : (
        <Badge tone="bad">{messages.findings(open)}</Badge>
      )}
    </WithNote>
  );
}

/** Starts a reconciliation, or opens the latest one if it still runs, so that two clicks make one report. */
async function runNow(_visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const [latest] = await listReconciliations(services.database, { limit: 1 });
  const id = latest && isRunning(latest, services) ? latest.id : await runReconciliation(services);
  return openPage(`/staff/reconciliations/${id}`, 'reconciling');
}

function isRunning({ finishedAt, createdAt }: Reconciliation, { clock }: ApiServices): boolean {
  return finishedAt === null && clock.nowMs() - createdAt.getTime() < MAX_RUN_MS;
}

/** @param show puts the report into a page, or makes it a part of one */
async function showReport(
  visit: UserVisit,
  services: ApiServices,
  show: (report: Child) => DrawnResult,
): Promise<PageResult> {
  const reconciliation = await reconciliationOf(visit, services);
  const findings = await readFindings(services.database, reconciliation);
  const ids = findings.map(({ subject }) => subject);
  return withAccountNames(services.database, ids, show(reportOf(visit, reconciliation, findings)));
}

function reportOf(visit: UserVisit, reconciliation: Reconciliation, findings: readonly ReportedFinding[]) {
  const { texts } = visit;
  const { reconciliation: messages } = texts;
  const path = `/console/staff/reconciliations/${reconciliation.id}`;
  const isOpen = findings.some(({ acknowledgement }) => acknowledgement === null);
  return (
    <Polled path={`${path}/report`} seconds={2} isFinal={reconciliation.report !== null}>
      <p>
        <ReconciliationBadge reconciliation={reconciliation} /> <Time at={reconciliation.createdAt} />{' '}
        <span class="soft">{texts.values.requested_by[reconciliation.requestedBy]}</span>
      </p>
      {reconciliation.report === null ? <Empty>{messages.wait}</Empty> : null}
      {(findingsOf(reconciliation) ?? 0) === 0 ? null : (
        <>
          <div class="row actions">
            <Downloads />
          </div>
          <Findings findings={findings} path={path} />
          {isOpen && hasPermission(visit, 'moveMoney') ? (
            <Card title={messages.acknowledge}>
              <p>{messages.acknowledgeExplained}</p>
              <Form action={`${path}/acknowledge`} id={FORM_ID}>
                <Field name="reason" label={messages.reason} required />
                <div class="row">
                  <button type="submit">{messages.acknowledge}</button>
                  <button type="submit" class="quiet" name="all" value="on">
                    {messages.acknowledgeAll}
                  </button>
                </div>
              </Form>
            </Card>
          ) : null}
        </>
      )}
      {reconciliation.report === null ? null : <Checks report={reconciliation.report} />}
    </Polled>
  );
}

async function reconciliationOf({ params }: UserVisit, { database }: ApiServices): Promise<Reconciliation> {
  return requireFound(await findReconciliation(database, params['reconciliation_id'] ?? ''));
}

/** The id of the form to which the checkboxes beside the findings belong. */
const FORM_ID = 'acknowledge';

/** @param path the path of the reconciliation's page */
function Findings({ findings, path }: { findings: readonly ReportedFinding[]; path: string }) {
  const texts = useTexts();
  const { reconciliation: messages } = texts;
  const sentences = findingTexts(texts);
  const numbered = findings.map((finding, index) => ({ ...finding, number: index + 1 }));
  return (
    <TableCard
      title={messages.toDo}
      of={FINDING}
      rows={numbered}
      columns={[
        [messages.row, (finding) => <FoundRow {...finding} />],
        [messages.wrong, ({ detail }) => <LinkedIds text={sentences.detail(detail)} />, 'words'],
        [messages.remedy, ({ check, remedy }) => <LinkedIds text={sentences.remedy(check, remedy)} />, 'words'],
        [
          messages.acknowledged,
          ({ number, subject, acknowledgement }) =>
            acknowledgement === null ? (
              <Box number={number} subject={subject} />
            ) : (
              <Acknowledged acknowledgement={acknowledgement} path={path} />
            ),
        ],
      ]}
    >
      <p class="hint">{messages.units}</p>
    </TableCard>
  );
}

function Box({ number, subject }: { number: number; subject: string }) {
  const { reconciliation: messages } = useTexts();
  if (!useMay('moveMoney')) return <>–</>;
  const label = messages.choose(subject);
  return <input type="checkbox" name="finding" value={String(number)} form={FORM_ID} aria-label={label} />;
}

function Acknowledged({ acknowledgement, path }: { acknowledgement: Acknowledgement; path: string }) {
  const { id, outcome, author, decidedBy, reason, createdAt } = acknowledgement;
  const { session, texts } = usePage();
  const { reconciliation: messages, corrections } = texts;
  const mayDecide = useMay('moveMoney') && outcome === null;
  return (
    <>
      <Badge tone={outcome === 'confirmed' ? 'good' : 'busy'}>
        {outcome === 'confirmed' ? messages.acknowledged : corrections.pending}
      </Badge>
      <p>{reason}</p>
      <p class="hint">
        {author}
        {decidedBy === null || decidedBy === author ? '' : `, ${messages.confirmedBy(decidedBy)}`}{' '}
        <Time at={createdAt} />
      </p>
      {mayDecide ? (
        <div class="row">
          {(author === session?.user.email ? (['withdraw'] as const) : (['confirm', 'reject'] as const)).map(
            (decision) => (
              <FormButton
                action={`${path}/${decision}`}
                label={messages.decisions[decision]}
                look={decision === 'confirm' ? '' : 'quiet'}
                entries={{ acknowledgement_id: id }}
              />
            ),
          )}
        </div>
      ) : null}
    </>
  );
}

function Checks({ report }: { report: NonNullable<Reconciliation['report']> }) {
  const texts = useTexts();
  const { reconciliation: messages, language, common } = texts;
  return (
    <TableCard
      title={messages.checks}
      of={CHECK}
      rows={report.checks}
      columns={[
        [
          messages.question,
          ({ check, question }) => (
            <>
              {findingTexts(texts).question(check, question)}
              <p class="hint">{check}</p>
            </>
          ),
        ],
        [
          common.result,
          ({ findings }) =>
            findings === 0 ? (
              <Badge tone="good">{messages.agrees}</Badge>
            ) : (
              <Badge tone="bad">{messages.findings(findings)}</Badge>
            ),
        ],
        [common.took, ({ durationMs }) => `${durationMs.toLocaleString(language)} ms`, 'number'],
      ]}
    />
  );
}
