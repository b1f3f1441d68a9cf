import { RECONCILIATION } from '../../../../api/routes/admin/reconciliations.ts';
import type { Reconciliation } from '../../../../db/queries/reconciliations.ts';
import { BILL_CHECK } from '../../../../db/reconciliation/bill-check.ts';
import { Badge, FormButton, Pages } from '../../../html/components.tsx';
import { LinkedIds } from '../../../html/linked-ids.tsx';
import { TableCard } from '../../../html/resource-table.tsx';
import { may, type UserVisit } from '../../../page.ts';
import { useTexts } from '../../../html/page-context.ts';

/** Returns the number of findings, or null while the reconciliation runs. */
export function findingsOf({ report }: Reconciliation): number | null {
  return report && report.checks.reduce((total, { findings }) => total + findings, 0);
}

export function ReconciliationBadge({ reconciliation }: { readonly reconciliation: Reconciliation }) {
  const { reconciliation: words, values } = useTexts();
  const findings = findingsOf(reconciliation);
  if (findings === null) return <Badge tone="busy">{values.state.running}</Badge>;
  return findings === 0 ? (
    <Badge tone="good">{words.clean}</Badge>
  ) : (
    <Badge tone="bad">{words.findings(findings)}</Badge>
  );
}

export function ReconciliationList({
  reconciliations,
  next,
  visit,
}: {
  readonly reconciliations: readonly Reconciliation[];
  readonly next: string | null;
  readonly visit: UserVisit;
}) {
  const { texts, path } = visit;
  const { reconciliation: words, titles, common } = texts;
  return (
    <>
      <p class="soft">{words.explained}</p>
      {may(visit, 'moveMoney') ? (
        <div class="row actions">
          <FormButton action={path} label={words.runNow} look="" />
        </div>
      ) : null}
      <TableCard
        of={RECONCILIATION}
        label={titles.reconciliation}
        rows={reconciliations}
        none={words.none}
        pageOf={({ id }) => `/console/staff/reconciliations/${id}`}
        columns={[
          [words.begun, 'created_at'],
          [common.result, (found) => <ReconciliationBadge reconciliation={found} />],
          'finished_at',
          'requested_by',
        ]}
      >
        <Pages next={next} />
      </TableCard>
    </>
  );
}

/** The subject of a finding about a bill: the vendor, the month and the model. */
const BILL_SUBJECT = /^(.+?) (\d{4}-\d{2}) /;

/** The row of a finding, and the check that found it. */
export function FoundRow({ subject, check }: { readonly subject: string; readonly check: string }) {
  const [, vendor, month] = (check === BILL_CHECK.name ? BILL_SUBJECT.exec(subject) : null) ?? [];
  return (
    <>
      {vendor === undefined ? (
        <LinkedIds text={subject} />
      ) : (
        <a href={`/console/staff/months/${month}/bills/${encodeURIComponent(vendor)}`}>{subject}</a>
      )}
      <p class="hint">{check}</p>
    </>
  );
}
