/** Reconciliations: run one now, read its report, see the earlier ones. */
import type Router from '@koa/router';
import {
  findReconciliation,
  insertReconciliation,
  listReconciliations,
  type Reconciliation,
} from '../../../db/queries/reconciliations.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { newId } from '../../../domain/ids.ts';
import { sendAll } from '../../exports.ts';
import { pageOf, presentPage } from '../../pagination.ts';
import type { ApiServices } from '../../services/services.ts';
import type { RequestState } from '../../state.ts';
import { idCursor } from '../webhooks/query.ts';
import { FINDING_COLUMNS } from './present-finance.ts';

export function adminReconciliationRoutes(
  router: Router<RequestState>,
  { database, requireAdmin, startReconciliation }: ApiServices,
): void {
  router.post('/admin/v1/reconciliations', requireAdmin, async (context) => {
    const id = newId('reconciliation');
    await startReconciliation(id);
    // Its workflow notes it as well; whoever is first.
    await insertReconciliation(database, { id, requestedBy: 'operator' });
    context.status = 201;
    context.body = { data: presentReconciliation(await existing(id)) };
  });

  router.get('/admin/v1/reconciliations/:reconciliationId', requireAdmin, async (context) => {
    const reconciliation = await existing(context.params['reconciliationId'] ?? '');
    const rows = () => reconciliation.report?.findings ?? [];
    if (sendAll(context, { rows, columns: FINDING_COLUMNS, present: (finding) => finding })) return;
    context.body = { data: presentReconciliationWithFindings(reconciliation) };
  });

  router.get('/admin/v1/reconciliations', requireAdmin, async (context) => {
    const { limit, after } = pageOf(context, 1);
    const before = idCursor('reconciliation', after);
    const rows = await listReconciliations(database, { before, limit: limit + 1 });
    context.body = presentPage(rows, limit, presentReconciliation, ({ id }) => [id]);
  });

  async function existing(id: string): Promise<Reconciliation> {
    const reconciliation = await findReconciliation(database, id);
    if (!reconciliation) throw new ServiceError('not_found', 'There is no such reconciliation. Check the id.');
    return reconciliation;
  }
}

export function presentReconciliation({ id, requestedBy, createdAt, finishedAt, report }: Reconciliation) {
  const findings = report?.checks.reduce((total, check) => total + check.findings, 0) ?? 0;
  return {
    id,
    object: 'reconciliation',
    status: report === null ? 'running' : findings === 0 ? 'clean' : 'findings',
    requested_by: requestedBy,
    created_at: createdAt.toISOString(),
    finished_at: finishedAt && finishedAt.toISOString(),
    findings_total: findings,
    checks: (report?.checks ?? []).map(({ check, question, findings, durationMs }) => ({
      check,
      question,
      findings,
      duration_ms: durationMs,
    })),
  };
}

export function presentReconciliationWithFindings(reconciliation: Reconciliation) {
  const { report } = reconciliation;
  return { ...presentReconciliation(reconciliation), findings: report?.findings ?? [] };
}
