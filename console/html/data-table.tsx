/** Tables and lists of facts, which name each thing beside how it is shown. */
import type { Child } from 'hono/jsx';
import { Empty, Table } from './components.tsx';

/** Of how a cell looks: the `name` is the head of its row, and amounts and numbers are aligned to the right. */
const CLASSES = { name: '', money: 'right', number: 'right number', words: 'words' } as const;

type Column<Row> = readonly [title: string, show: (row: Row) => Child, look?: keyof typeof CLASSES];

/** @param none said instead of a table without rows @param total the last row, which adds the others up */
export function DataTable<Row>({
  label,
  columns,
  rows,
  none,
  total,
  isSum,
}: {
  readonly label: string;
  /** Null for one that is not shown to everybody. */
  readonly columns: readonly (Column<Row> | null)[];
  readonly rows: readonly Row[];
  readonly none?: string;
  readonly total?: Row;
  readonly isSum?: (row: Row) => boolean;
}) {
  if (rows.length === 0 && none !== undefined) return <Empty>{none}</Empty>;
  const shown = columns.filter((column) => column !== null);
  const line = (row: Row): Child => (
    <tr {...(isSum?.(row) && { class: 'sum' })}>{shown.map(([, show, look]) => cell(show(row), look))}</tr>
  );
  return (
    <Table
      label={label}
      columns={shown.map(([title, , look]) => (look === 'money' || look === 'number' ? { number: title } : title))}
      {...(total !== undefined && { total: line(total) })}
    >
      {rows.map(line)}
    </Table>
  );
}

function cell(content: Child, look: keyof typeof CLASSES | undefined): Child {
  if (look === undefined) return <td>{content}</td>;
  return look === 'name' ? <th scope="row">{content}</th> : <td class={CLASSES[look]}>{content}</td>;
}

/** @param facts of which those that are null are left out */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, fact: Child] | null)[] }) {
  return (
    <dl>
      {facts.map((fact) =>
        fact === null ? null : (
          <>
            <dt>{fact[0]}</dt>
            <dd>{fact[1]}</dd>
          </>
        ),
      )}
    </dl>
  );
}
