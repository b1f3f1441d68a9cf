/** What an account had at the beginning of a month, what changed it, and what it had at the end. */
import { type linesOf, STATEMENT_LINE } from '../../api/routes/admin/present-finance.ts';
import type { Texts } from '../texts/texts.ts';
import { ResourceTable } from './resource-table.tsx';

export function StatementTable({
  lines,
  label,
  names,
  texts,
}: {
  readonly lines: ReturnType<typeof linesOf>;
  readonly label: string;
  /** In words; a line that has none is shown by its own name. */
  readonly names: Readonly<Record<string, string>>;
  readonly texts: Texts;
}) {
  return (
    <ResourceTable
      of={STATEMENT_LINE}
      label={label}
      rows={lines}
      texts={texts}
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
