/** The shapes of reconciliations. */
import { type Acknowledgement } from '../../db/queries/acknowledgements.ts';
import { type Reconciliation } from '../../db/queries/reconciliations.ts';
import type { Finding } from '../../db/reconciliation/check.ts';
import * as field from '../../domain/resource/field.ts';
import { nested, resource } from '../../domain/resource/resource.ts';

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

export const REPORT = resource<Reconciliation & { readonly findings: readonly ReportedFinding[] }>(
  'ReconciliationReport',
  {
    ...RECONCILIATION.fields,
    findings: field.list(FINDING)('findings', 'The first hundred findings of each check'),
  },
);
