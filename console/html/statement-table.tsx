/** The balance of an account at the start of a month, the changes, and the balance at the end. */
import { type linesOf, STATEMENT_LINE } from '../../api/routes/admin/present-finance.ts';
import { ResourceTable } from './resource-table.tsx';
import { useTexts } from './page-context.ts';

export function StatementTable({
  lines,
  label,
  names,
}: {
  readonly lines: ReturnType<typeof linesOf>;
  readonly label: string;
  /** The words for each line. A line without words is shown by its name. */
  readonly names: Readonly<Record<string, string>>;
}) {
  const texts = useTexts();
  return (
    <ResourceTable
      of={STATEMENT_LINE}
      label={label}
      rows={lines}
      isSum={({ transfers }) => transfers === null}
      columns={[
        [texts.billing.what, ({ line }) => names[line] ?? line],
        'transfers',
        'available_usd',
        'reserved_usd',
        'total_usd',
      ]}
    />
  );
}
