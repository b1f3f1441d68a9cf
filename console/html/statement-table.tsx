/** What an account had at the beginning of a month, what changed it, and what it had at the end. */
import { type linesOf } from '../../api/routes/admin/present-finance.ts';
import type { Texts } from '../texts/texts.ts';
import { ExactMoney } from './components.tsx';
import { DataTable } from './data-table.tsx';

export function StatementTable({
  lines,
  label,
  names,
  texts: { billing: words, language },
}: {
  readonly lines: ReturnType<typeof linesOf>;
  readonly label: string;
  /** In words; a line that has none is shown by its own name. */
  readonly names: Readonly<Record<string, string>>;
  readonly texts: Texts;
}) {
  return (
    <DataTable
      label={label}
      rows={lines}
      isSum={({ transfers }) => transfers === null}
      columns={[
        [words.what, ({ line }) => names[line] ?? line, 'name'],
        [words.transfers, ({ transfers }) => transfers?.toLocaleString(language), 'number'],
        [words.available, 'available', 'money'],
        [words.reserved, 'reserved', 'money'],
        [words.both, ({ available, reserved }) => <ExactMoney amount={available + reserved} />, 'money'],
      ]}
    />
  );
}
