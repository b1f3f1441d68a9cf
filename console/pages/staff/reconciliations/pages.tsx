/** Reconciliations: their reports, what to do about each finding, and running one now. */
import { FINDING_COLUMNS } from '../../../../api/routes/admin/reconciliations.ts';
import { runReconciliation } from '../../../../api/services/finance/run-reconciliation.ts';
import type { ApiServices } from '../../../../api/services/services.ts';
import {
  findReconciliation,
  listReconciliations,
  type Reconciliation,
} from '../../../../db/queries/reconciliations.ts';
import { ServiceError } from '../../../../domain/errors.ts';
import { exportFile } from '../../../export.ts';
import { readListPage } from '../../../list-page.ts';
import { ALL_STAFF, type Answer, FINANCE, staffPage, type UserVisit } from '../../../page.ts';
import { ReconciliationList } from './list.tsx';
import { Report } from './report.tsx';

const REPORT_LIST = { kind: 'reconciliation', size: 25 } as const;
/** One that has not ended after this has lost its worker, and is no reason not to run another. */
const LONGEST_RUN_MS = 10 * 60_000;

export const staffReconciliationPages = [
  staffPage({ method: 'get', path: '/staff/reconciliations', roles: ALL_STAFF, handle: showAll }),
  staffPage({ method: 'post', path: '/staff/reconciliations', roles: FINANCE, handle: runNow }),
  staffPage({ method: 'get', path: '/staff/reconciliations/{reconciliation_id}', roles: ALL_STAFF, handle: showOne }),
  staffPage({
    method: 'get',
    path: '/staff/reconciliations/{reconciliation_id}/report',
    roles: ALL_STAFF,
    handle: async (visit, services) => ({
      kind: 'part',
      content: <Report reconciliation={await existing(visit, services)} texts={visit.texts} />,
    }),
  }),
  staffPage({
    method: 'get',
    path: '/staff/reconciliations/{reconciliation_id}/export',
    roles: ALL_STAFF,
    handle: async (visit, services) => {
      const { id, report } = await existing(visit, services);
      return exportFile(`findings-${id}`, visit.query.get('format') ?? 'csv', {
        rows: () => report?.findings ?? [],
        columns: FINDING_COLUMNS,
        present: (finding) => finding,
      });
    },
  }),
];

async function showAll(visit: UserVisit, { database }: ApiServices): Promise<Answer> {
  const { entries: reconciliations, next } = await readListPage(visit.query, REPORT_LIST, (slice) =>
    listReconciliations(database, slice),
  );
  return {
    kind: 'page',
    title: visit.texts.reconciliation.title,
    current: 'reconciliation',
    content: <ReconciliationList reconciliations={reconciliations} next={next} visit={visit} />,
  };
}

/** Leads to the one that somebody has just begun, if it still runs: whoever clicks twice gets one report. */
async function runNow(_visit: UserVisit, services: ApiServices): Promise<Answer> {
  const [latest] = await listReconciliations(services.database, { limit: 1 });
  const id = latest && isRunning(latest, services) ? latest.id : await runReconciliation(services);
  return { kind: 'redirect', path: `/staff/reconciliations/${id}` };
}

function isRunning({ finishedAt, createdAt }: Reconciliation, { clock }: ApiServices): boolean {
  return finishedAt === null && clock.nowMs() - createdAt.getTime() < LONGEST_RUN_MS;
}

async function showOne(visit: UserVisit, services: ApiServices): Promise<Answer> {
  const reconciliation = await existing(visit, services);
  return {
    kind: 'page',
    title: visit.texts.reconciliation.title,
    current: 'reconciliation',
    content: <Report reconciliation={reconciliation} texts={visit.texts} />,
  };
}

async function existing({ params }: UserVisit, { database }: ApiServices): Promise<Reconciliation> {
  const reconciliation = await findReconciliation(database, params['reconciliation_id'] ?? '');
  if (!reconciliation) throw new ServiceError('not_found', 'There is no such reconciliation.');
  return reconciliation;
}
