/** Reconciliations: reports, acknowledgements, and starting a reconciliation. */
import { FINDING, readFindings } from '../../../../api/routes/admin/reconciliations.ts';
import { acknowledgeSchema } from '../../../../api/routes/admin/schema.ts';
import { acknowledgeFindings, decideAcknowledgement } from '../../../../api/services/finance/acknowledgements.ts';
import { runReconciliation } from '../../../../api/services/finance/run-reconciliation.ts';
import type { ApiServices } from '../../../../api/services/services.ts';
import { createValidator } from '../../../../api/validation.ts';
import type { AcknowledgementOutcome } from '../../../../db/queries/acknowledgements.ts';
import {
  findReconciliation,
  listReconciliations,
  type Reconciliation,
} from '../../../../db/queries/reconciliations.ts';
import { ServiceError } from '../../../../domain/errors.ts';
import { exportFile } from '../../../export.ts';
import { carryOut } from '../../../form-problem.ts';
import { readListPage } from '../../../list-page.ts';
import { type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { ReconciliationList } from './list.tsx';
import { Report } from './report.tsx';

const validate = createValidator(acknowledgeSchema);
const REPORT_LIST = { kind: 'reconciliation', size: 25 } as const;
/** A reconciliation that takes longer has lost its worker. Another reconciliation may start. */
const LONGEST_RUN_MS = 10 * 60_000;

export const staffReconciliationPages = [
  staff.page('/staff/reconciliations', 'read', showAll),
  staff.form('/staff/reconciliations', 'moveMoney', runNow),
  staff.page('/staff/reconciliations/{reconciliation_id}', 'read', (visit, services) => showOne(visit, services)),
  staff.page('/staff/reconciliations/{reconciliation_id}/report', 'read', async (visit, services) => ({
    kind: 'part',
    content: await reportOf(visit, services),
  })),
  staff.page('/staff/reconciliations/{reconciliation_id}/export', 'read', async (visit, services) => {
    const reconciliation = await existing(visit, services);
    const findings = await readFindings(services.database, reconciliation);
    return exportFile(`findings-${reconciliation.id}`, visit.query, findings, FINDING);
  }),
  staff.form('/staff/reconciliations/{reconciliation_id}/acknowledge', 'moveMoney', (visit, services) =>
    act(visit, services, () => acknowledge(visit, services)),
  ),
  deciding('confirm', 'confirmed'),
  deciding('reject', 'rejected'),
  deciding('withdraw', 'withdrawn'),
];

function deciding(name: string, outcome: AcknowledgementOutcome) {
  return staff.form(`/staff/reconciliations/{reconciliation_id}/${name}`, 'moveMoney', (visit, services) =>
    act(visit, services, () => {
      const id = visit.form.text('acknowledgement_id');
      return decideAcknowledgement(services.database, { id, outcome, by: visit.user.email });
    }),
  );
}

/** Carries an action out, and shows the report afterwards. */
async function act(visit: UserVisit, services: ApiServices, work: () => Promise<void>): Promise<PageResult> {
  const { id } = await existing(visit, services);
  return carryOut(work, `/staff/reconciliations/${id}`, (problem) => showOne(visit, services, problem));
}

async function acknowledge({ params, form, user }: UserVisit, services: ApiServices): Promise<void> {
  const { findings: numbers, reason } = validate({
    findings: form.all('finding').map(Number),
    reason: form.text('reason'),
  });
  const reconciliationId = params['reconciliation_id'] ?? '';
  await acknowledgeFindings(services, { reconciliationId, numbers, reason, author: user.email });
}

async function showAll(visit: UserVisit, { database }: ApiServices): Promise<PageResult> {
  const { entries: reconciliations, next } = await readListPage(visit.query, REPORT_LIST, (slice) =>
    listReconciliations(database, slice),
  );
  return showPage(
    'reconciliation',
    visit.texts.reconciliation.title,
    <ReconciliationList reconciliations={reconciliations} next={next} visit={visit} />,
  );
}

/** Starts a reconciliation, or opens the latest if it still runs: two clicks give one report. */
async function runNow(_visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const [latest] = await listReconciliations(services.database, { limit: 1 });
  const id = latest && isRunning(latest, services) ? latest.id : await runReconciliation(services);
  return { kind: 'redirect', path: `/staff/reconciliations/${id}` };
}

function isRunning({ finishedAt, createdAt }: Reconciliation, { clock }: ApiServices): boolean {
  return finishedAt === null && clock.nowMs() - createdAt.getTime() < LONGEST_RUN_MS;
}

async function showOne(
  visit: UserVisit,
  services: ApiServices,
  problem: ServiceError | null = null,
): Promise<PageResult> {
  return showPage('reconciliation', visit.texts.reconciliation.title, await reportOf(visit, services), problem);
}

async function reportOf(visit: UserVisit, services: ApiServices) {
  const reconciliation = await existing(visit, services);
  const findings = await readFindings(services.database, reconciliation);
  return <Report reconciliation={reconciliation} findings={findings} visit={visit} />;
}

async function existing({ params }: UserVisit, { database }: ApiServices): Promise<Reconciliation> {
  const reconciliation = await findReconciliation(database, params['reconciliation_id'] ?? '');
  if (!reconciliation) throw new ServiceError('not_found', 'There is no such reconciliation.');
  return reconciliation;
}
