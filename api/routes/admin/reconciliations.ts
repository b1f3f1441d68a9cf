/** Reconciliations: run one now, read its report, list earlier ones. */
import type { Database } from '../../../db/database.ts';
import { type Acknowledgement, listAcknowledgements } from '../../../db/queries/acknowledgements.ts';
import {
  findReconciliation,
  listReconciliations as findReconciliations,
  type Reconciliation,
} from '../../../db/queries/reconciliations.ts';
import type { Finding } from '../../../db/reconciliation/check.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import * as field from '../../../domain/resource/field.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { notFoundError } from '../../../domain/not-found.ts';
import { nested, resource } from '../../../domain/resource/resource.ts';
import { orAllRows, sendAll } from '../../exports.ts';
import { authorOf } from '../../../services/people/administrator.ts';
import { acknowledgeAlone } from '../../../services/money/acknowledgements.ts';
import { runReconciliation } from '../../../services/money/run-reconciliation.ts';
import { acknowledgeSchema } from '../../../services/input/admin.ts';

type Check = NonNullable<Reconciliation['report']>['checks'][number];

export const CHECK = nested<Check>({
  check: field.text('check', 'The name of the check'),
  question: field.text('question'),
  findings: field.count('findings', 'The number of findings'),
  duration_ms: field.count('durationMs', 'The duration, in milliseconds'),
});

const findingsOf = ({ report }: Reconciliation) =>
  report?.checks.reduce((total, check) => total + check.findings, 0) ?? 0;

function statusOf(reconciliation: Reconciliation): string {
  if (reconciliation.report === null) return 'running';
  return findingsOf(reconciliation) === 0 ? 'clean' : 'findings';
}

export const RECONCILIATION = resource<Reconciliation>('Reconciliation', {
  id: field.id('reconciliation')('id'),
  object: field.constant('reconciliation'),
  status: field.oneOf(['running', 'clean', 'findings'])(statusOf, 'The result'),
  requested_by: field.oneOf(['schedule', 'operator'])('requestedBy'),
  created_at: field.isoTime('createdAt', 'When the reconciliation was requested'),
  finished_at: field.isoTime.orNull('finishedAt', 'When the reconciliation ended. Null while it runs'),
  findings_total: field.count(findingsOf, 'The number of findings'),
  checks: field.list(CHECK)(({ report }) => report?.checks ?? [], 'The checks. Empty while the reconciliation runs'),
});

const ACKNOWLEDGEMENT = resource<Acknowledgement>(
  'Acknowledgement',
  {
    id: field.id('acknowledgement')('id'),
    state: field.oneOf(['confirmed', 'waiting'])(
      ({ outcome }) => (outcome === 'confirmed' ? 'confirmed' : 'waiting'),
      'Whether a second person has to confirm',
    ),
    reason: field.text('reason', 'Why the finding stays'),
    author: field.text('author', 'Who acknowledged the finding'),
    confirmed_by: field.text.orNull('decidedBy', 'The second person, or the author if one person suffices'),
    created_at: field.isoTime('createdAt', 'When the finding was acknowledged'),
  },
  'The acknowledgement of a finding that cannot be remedied, for every report with the same finding.',
);

/** A finding of a report, with its acknowledgement. */
export interface ReportedFinding extends Finding {
  readonly acknowledgement: Acknowledgement | null;
}

export const FINDING = nested<ReportedFinding>({
  check: field.text('check', 'The name of the check'),
  subject: field.text('subject', 'The id of the row'),
  detail: field.text('detail', 'The fault, with amounts in pico-USD'),
  remedy: field.text('remedy', 'The remedy'),
  acknowledgement: field.object(ACKNOWLEDGEMENT).orNull('acknowledgement'),
});

const REPORT = resource<Reconciliation & { readonly findings: readonly ReportedFinding[] }>('ReconciliationReport', {
  ...RECONCILIATION.fields,
  findings: field.list(FINDING)('findings', 'The first hundred findings of each check'),
});

export const reconciliationEndpoints = endpoints('Administration', {
  reconcile: endpoint({
    request: 'POST /admin/v1/reconciliations',
    access: 'admin-finance',
    summary: 'Compare the ledgers with each other and with Temporal now',
    description: 'The call answers at once; fetch the report when it is ready. A reconciliation also runs every hour.',
    answers: { 201: dataOf(RECONCILIATION.schema, 'The started reconciliation') },
    refusals: ['processing_unavailable'],
    handle: async (_, { database, startReconciliation }) => {
      const id = await runReconciliation({ database, startReconciliation });
      return { data: RECONCILIATION.present(await existing(database, id)) };
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
    answers: { 200: orAllRows(dataOf(REPORT.schema, 'The report')) },
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

function keyOf(...facts: readonly string[]): string {
  return facts.join('\n');
}

/** The findings of a report, in its order. */
export async function readFindings(
  database: Database,
  { id, report }: Reconciliation,
): Promise<readonly ReportedFinding[]> {
  if (!report || report.findings.length === 0) return [];
  const acknowledgements = await listAcknowledgements(database, id);
  const byFinding = new Map(
    acknowledgements.map((found) => [keyOf(found.checkName, found.subject, found.detail), found] as const),
  );
  return report.findings.map((finding) => ({
    ...finding,
    acknowledgement: byFinding.get(keyOf(finding.check, finding.subject, finding.detail)) ?? null,
  }));
}

async function existing(database: Database, id: string): Promise<Reconciliation> {
  const reconciliation = await findReconciliation(database, id);
  if (!reconciliation) throw notFoundError('reconciliation');
  return reconciliation;
}
