/** The opening balance of an account in a month, the changes, and the closing balance; holds in another table. */
import { STATEMENT_LINE, type StatementLine } from '../../services/resources/finance.ts';
import type { Party } from '../../domain/billing-document.ts';
import { PartyLines } from './printed.tsx';
import { ResourceTable } from './resource-table.tsx';
import { useTexts } from './page-context.ts';

interface StatementTableProps {
  readonly lines: readonly StatementLine[];
  readonly label: string;
  /** The label of each line; a line without a label shows its name. */
  readonly names: Readonly<Record<string, string>>;
  /** For the statement of a customer; the seller is null if none is set. */
  readonly parties?: { readonly seller: Party | null; readonly customer: Party };
}

export function StatementTable({ lines, label, names, parties }: StatementTableProps) {
  const { billing: messages, fields, common } = useTexts();
  const what = [common.what, ({ line }: StatementLine) => names[line] ?? line] as const;
  return (
    <>
      {parties === undefined ? null : (
        <div class="parties">
          {parties.seller === null ? null : <PartyLines title={messages.seller} party={parties.seller} />}
          <PartyLines title={common.customer} party={parties.customer} />
        </div>
      )}
      <ResourceTable
        of={STATEMENT_LINE}
        label={label}
        rows={lines.filter((line) => isEnd(line) || line.available + line.reserved !== 0n)}
        isSum={isEnd}
        columns={[what, 'transfers', [fields.amount_usd, 'total_usd']]}
      />
      <h3>{fields.held_usd}</h3>
      <p class="hint">{messages.holdsExplained}</p>
      <ResourceTable
        of={STATEMENT_LINE}
        label={fields.held_usd}
        rows={lines.filter((line) => isEnd(line) || line.reserved !== 0n)}
        isSum={isEnd}
        columns={[what, 'transfers', 'reserved_usd']}
      />
    </>
  );
}

/** Whether a line is the opening or the closing balance. */
function isEnd({ transfers }: StatementLine): boolean {
  return transfers === null;
}
