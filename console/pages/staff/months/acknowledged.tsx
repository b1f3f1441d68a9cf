import type { AcknowledgedFinding } from '../../../../db/queries/closed-months.ts';
import { Card } from '../../../html/components.tsx';
import { DataTable } from '../../../html/data-table.tsx';
import { LinkedIds } from '../../../html/linked-ids.tsx';
import type { Texts } from '../../../texts/texts.ts';
import { FoundRow } from '../reconciliations/list.tsx';

/** The findings that stand in the books of a month, with who said why; nothing where there are none. */
export function AcknowledgedFindings({
  findings,
  texts: { months: words, reconciliation },
}: {
  readonly findings: readonly AcknowledgedFinding[];
  readonly texts: Texts;
}) {
  if (findings.length === 0) return null;
  return (
    <Card title={words.acknowledged}>
      <p class="soft">{words.acknowledgedExplained}</p>
      <DataTable
        label={words.acknowledged}
        rows={findings}
        columns={[
          [reconciliation.row, (finding) => <FoundRow {...finding} />, 'name'],
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
