/** Reconciliations: run one now, read its report, list earlier ones. */
import type { Database } from '../../../db/database.ts';
import { type Acknowledgement, listAcknowledgements } from '../../../db/queries/acknowledgements.ts';
import {
  findReconciliation,
  listReconciliations as findReconciliations,
  type Reconciliation,
} from '../../../db/queries/reconciliations.ts';
import type { Finding } from '../../../db/reconciliation/check.ts';
import { nullable } from '../../../domain/json-schema.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { pageById, pageOf, presentPage } from '../../endpoint/page.ts';
import { noSuch } from '../../endpoint/path.ts';
import { type Column, orAllRows, sendAll } from '../../exports.ts';
import {
  arrayOf,
  component,
  count,
  exactly,
  fieldsOf,
  idOf,
  isoTime,
  object,
  oneOfTexts,
  text,
} from '../../openapi/json-schema.ts';
import { authorOf } from '../../services/administrator.ts';
import { acknowledgeAlone } from '../../services/finance/acknowledgements.ts';
import { runReconciliation } from '../../services/finance/run-reconciliation.ts';
import { acknowledgeSchema } from './schema.ts';

const RECONCILIATION_FIELDS = fieldsOf<ReturnType<typeof presentReconciliation>>({
  id: idOf('reconciliation'),
  object: exactly('reconciliation'),
  status: oneOfTexts(['running', 'clean', 'findings'], 'The result'),
  requested_by: oneOfTexts(['schedule', 'operator']),
  created_at: isoTime('When it was requested'),
  finished_at: nullable(isoTime('When it ended')),
  findings_total: count('Number of rows that disagree with others'),
  checks: arrayOf(
    object({
      check: text('The name of the check'),
      question: text(),
      findings: count('Number of findings'),
      duration_ms: count('Ms'),
    }),
    'Empty while it runs',
  ),
});

const ReconciliationSchema = component('Reconciliation', object(RECONCILIATION_FIELDS));

const AcknowledgementSchema = component(
  'Acknowledgement',
  object(
    fieldsOf<ReturnType<typeof presentAcknowledgement>>({
      id: idOf('acknowledgement'),
      state: oneOfTexts(['confirmed', 'waiting'], 'Whether it waits for a second person'),
      reason: text('Why the finding stays as it is'),
      author: text('Who acknowledged it'),
      confirmed_by: nullable(text('The second person, or the author where it took one')),
      created_at: isoTime('When'),
    }),
    'Why nobody can remedy a finding. It holds for every report that finds the same.',
  ),
);

const ReportSchema = component(
  'ReconciliationReport',
  object({
    ...RECONCILIATION_FIELDS,
    ...fieldsOf<Pick<ReturnType<typeof presentReport>, 'findings'>>({
      findings: arrayOf(
        object({
          check: text('The check that found it'),
          subject: text('The id of the row'),
          detail: text('What is wrong; amounts are in pico-USD'),
          remedy: text('What to do about it'),
          acknowledgement: nullable(AcknowledgementSchema),
        }),
        'The first hundred of each check',
      ),
    }),
  }),
);

export const reconcile = endpoint({
  id: 'reconcile',
  tag: 'Administration',
  method: 'post',
  path: '/admin/v1/reconciliations',
  access: 'admin-finance',
  summary: 'Compare the books with each other and with Temporal now',
  description: 'Answers at once; fetch the report when it is ready. A reconciliation also runs every hour.',
  answers: { 201: dataOf(ReconciliationSchema, 'Started') },
  refusals: ['processing_unavailable'],
  handle: async (_, { database, startReconciliation }) => {
    const id = await runReconciliation({ database, startReconciliation });
    return { data: presentReconciliation(await existing(database, id)) };
  },
});

export const listReconciliations = endpoint({
  id: 'listReconciliations',
  tag: 'Administration',
  method: 'get',
  path: '/admin/v1/reconciliations',
  access: 'admin-read',
  summary: 'List reconciliations, newest first',
  query: pageById('reconciliation'),
  answers: { 200: pageOf(ReconciliationSchema, 'A page of reconciliations') },
  handle: async ({ query: { cursor: before, limit } }, { database }) => {
    const found = await findReconciliations(database, { before, limit: limit + 1 });
    return presentPage(found, limit, presentReconciliation);
  },
});

export const getReconciliation = endpoint({
  id: 'getReconciliation',
  tag: 'Administration',
  method: 'get',
  path: '/admin/v1/reconciliations/{reconciliation_id}',
  access: 'admin-read',
  summary: 'Get the report of a reconciliation',
  description: 'With `Accept: text/csv` or `application/x-ndjson`, its findings, one per line.',
  answers: { 200: orAllRows(dataOf(ReportSchema, 'The report')) },
  handle: async ({ params, context }, { database }) => {
    const reconciliation = await existing(database, params.reconciliation_id);
    const rows = await readFindings(database, reconciliation);
    if (sendAll(context, { rows: () => rows, columns: FINDING_COLUMNS, present: presentFinding })) return undefined;
    return { data: presentReport(reconciliation, rows) };
  },
});

export const acknowledge = endpoint({
  id: 'acknowledgeFindings',
  tag: 'Administration',
  method: 'post',
  path: '/admin/v1/reconciliations/{reconciliation_id}/acknowledgements',
  access: 'admin-finance',
  summary: 'Acknowledge findings that nobody can remedy',
  description:
    'A month can be closed once each finding of the latest report is remedied or acknowledged. It holds for later reports that ' +
    'find the same. Where moving money takes two people, findings about money are acknowledged in the console.',
  body: jsonBody('AcknowledgeFindings', acknowledgeSchema),
  answers: { 201: dataOf(ReportSchema, 'The report') },
  refusals: ['bad_request'],
  handle: async ({ params, caller, body: { findings: numbers, reason, author: given } }, services) => {
    const { reconciliation_id: reconciliationId } = params;
    const author = authorOf(caller, given);
    await acknowledgeAlone(services, { reconciliationId, numbers, reason, author });
    const reconciliation = await existing(services.database, reconciliationId);
    return { data: presentReport(reconciliation, await readFindings(services.database, reconciliation)) };
  },
});

/** A finding of a report, with what somebody said about it. */
export interface ReportedFinding extends Finding {
  readonly acknowledgement: Acknowledgement | null;
}

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
  if (!reconciliation) throw noSuch('reconciliation');
  return reconciliation;
}

function presentReconciliation({ id, requestedBy, createdAt, finishedAt, report }: Reconciliation) {
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

function presentReport(reconciliation: Reconciliation, findings: readonly ReportedFinding[]) {
  return { ...presentReconciliation(reconciliation), findings: findings.map(presentFinding) };
}

export function presentFinding({ check, subject, detail, remedy, acknowledgement }: ReportedFinding) {
  return {
    check,
    subject,
    detail,
    remedy,
    acknowledgement: acknowledgement && presentAcknowledgement(acknowledgement),
  };
}

function presentAcknowledgement({ id, outcome, reason, author, decidedBy, createdAt }: Acknowledgement) {
  return {
    id,
    state: outcome === 'confirmed' ? 'confirmed' : 'waiting',
    reason,
    author,
    confirmed_by: decidedBy,
    created_at: createdAt.toISOString(),
  };
}

export const FINDING_COLUMNS: readonly Column<ReportedFinding>[] = [
  ['check', ({ check }) => check],
  ['subject', ({ subject }) => subject],
  ['detail', ({ detail }) => detail],
  ['remedy', ({ remedy }) => remedy],
  ['acknowledged_by', ({ acknowledgement }) => acknowledgement?.author ?? null],
  ['confirmed_by', ({ acknowledgement }) => acknowledgement?.decidedBy ?? null],
  ['acknowledgement', ({ acknowledgement }) => acknowledgement?.reason ?? null],
];
