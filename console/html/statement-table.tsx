/** What an account had at the beginning of a month, what changed it, and what it had at the end. */
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
  /** In words; a line that has none is shown by its own name. */
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
