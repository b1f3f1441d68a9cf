import { ACKNOWLEDGED_FINDING } from '../../../../api/routes/admin/months.ts';
import type { AcknowledgedFinding } from '../../../../db/queries/closed-months.ts';
import { Card } from '../../../html/components.tsx';
import { LinkedIds } from '../../../html/linked-ids.tsx';
import { ResourceTable } from '../../../html/resource-table.tsx';
import { FoundRow } from '../reconciliations/list.tsx';
import { useTexts } from '../../../html/page-context.ts';

/** The acknowledged findings of a month, with author and reason. Shows nothing if there are none. */
export function AcknowledgedFindings({ findings }: { readonly findings: readonly AcknowledgedFinding[] }) {
  const { months: words, reconciliation } = useTexts();
  if (findings.length === 0) return null;
  return (
    <Card title={words.acknowledged}>
      <p class="soft">{words.acknowledgedExplained}</p>
      <ResourceTable
        of={ACKNOWLEDGED_FINDING}
        label={words.acknowledged}
        rows={findings}
        columns={[
          [reconciliation.row, (finding) => <FoundRow {...finding} />],
          [reconciliation.wrong, ({ detail }) => <LinkedIds text={detail} />],
          [
            reconciliation.acknowledged,
            ({ reason, author, confirmedBy }) => (
              <>
                {reason}
                <p class="hint">
                  {author}
                  {confirmedBy === author ? '' : `, ${reconciliation.confirmedBy(confirmedBy)}`}
                </p>
              </>
            ),
          ],
        ]}
      />
    </Card>
  );
}
