/** Reconciliations: run one now, read its report, list earlier ones. */
import type { Database } from '../../../db/database.ts';
import {
  findReconciliation,
  listReconciliations as findReconciliations,
  type Reconciliation,
} from '../../../db/queries/reconciliations.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { notFoundError } from '../../../domain/not-found.ts';
import { withExports, sendAll } from '../../exports.ts';
import { authorOf } from '../../../services/people/administrator.ts';
import { acknowledgeAlone } from '../../../services/money/acknowledgements.ts';
import { runReconciliation } from '../../../services/money/run-reconciliation.ts';
import { acknowledgeSchema } from '../../../services/input/admin.ts';
import { RECONCILIATION, FINDING, REPORT } from '../../../services/resources/reconciliations.ts';
import { readFindings } from '../../../services/money/reported-findings.ts';

export const reconciliationEndpoints = endpoints('Administration', {
  reconcile: endpoint({
    request: 'POST /admin/v1/reconciliations',
    access: 'admin-finance',
    summary: 'Compare the ledgers with each other and with Temporal now',
    description: 'The call answers at once; fetch the report when it is ready. A reconciliation also runs every hour.',
    answers: { 201: dataOf(RECONCILIATION.schema, 'The started reconciliation') },
    refusals: ['processing_unavailable'],
    handle: async (_, services) => {
      const id = await runReconciliation(services);
      return { data: RECONCILIATION.present(await existing(services.database, id)) };
    },
  }),
  listReconciliations: endpoint({
    request: 'GET /admin/v1/reconciliations',
    access: 'admin-read',
    summary: 'List reconciliations, newest first',
    query: pageById('reconciliation'),
    answers: { 200: pageOf(RECONCILIATION.schema, 'A page of reconciliations') },
    handle: ({ query }, { database }) =>
      listPage(query, (slice) => findReconciliations(database, slice), RECONCILIATION.present),
  }),
  getReconciliation: endpoint({
    request: 'GET /admin/v1/reconciliations/{reconciliation_id}',
    access: 'admin-read',
    summary: 'Get the report of a reconciliation',
    description: '`Accept: text/csv` or `application/x-ndjson` returns the findings, one per line.',
    answers: { 200: withExports(dataOf(REPORT.schema, 'The report')) },
    handle: async ({ params, context }, { database }) => {
      const reconciliation = await existing(database, params.reconciliation_id);
      const findings = await readFindings(database, reconciliation);
      if (sendAll(context, () => findings, FINDING)) return undefined;
      return { data: REPORT.present({ ...reconciliation, findings }) };
    },
  }),
  acknowledgeFindings: endpoint({
    request: 'POST /admin/v1/reconciliations/{reconciliation_id}/acknowledgements',
    access: 'admin-finance',
    summary: 'Acknowledge findings that cannot be remedied',
    description:
      'A month can be closed after each finding of the latest report is remedied or acknowledged. The acknowledgement applies to later ' +
      'reports with the same finding. If manual transfers need two people, acknowledge findings about money in the console.',
    body: jsonBody('AcknowledgeFindings', acknowledgeSchema),
    answers: { 201: dataOf(REPORT.schema, 'The report') },
    refusals: ['bad_request'],
    handle: async ({ params, caller, body: { findings: numbers, reason, author: given } }, services) => {
      const { reconciliation_id: reconciliationId } = params;
      const author = authorOf(caller, given);
      await acknowledgeAlone(services, { reconciliationId, numbers, reason, author });
      const reconciliation = await existing(services.database, reconciliationId);
      const findings = await readFindings(services.database, reconciliation);
      return { data: REPORT.present({ ...reconciliation, findings }) };
    },
  }),
});

async function existing(database: Database, id: string): Promise<Reconciliation> {
  const reconciliation = await findReconciliation(database, id);
  if (!reconciliation) throw notFoundError('reconciliation');
  return reconciliation;
}
