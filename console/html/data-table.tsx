/** Tables and lists of facts, which name each thing beside how it is shown. */
import type { Child } from 'hono/jsx';
import { Empty, ExactMoney, Time } from './components.tsx';

/** Of how a cell looks: the `name` is the head of its row, and amounts and numbers are aligned to the right. */
const CLASSES = { name: '', money: 'right', number: 'right number', words: 'words' } as const;

type Look = keyof typeof CLASSES;

/** The properties of a row that can be shown as they are. */
type PropertyOf<Row> = {
  readonly [Name in keyof Row]-?: Row[Name] extends string | number | bigint | Date | null | undefined ? Name : never;
}[keyof Row];

/** @param show a property of the row, shown as its type asks for; or what the cell shows */
type Column<Row> = readonly [title: string, show: PropertyOf<Row> | ((row: Row) => Child), look?: Look];

/**
 * A table that scrolls inside its card where it is too wide.
 *
 * @param none said instead of a table without rows
 * @param total the last row, which adds the others up
 */
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
    <tr {...(isSum?.(row) && { class: 'sum' })}>
      {shown.map(([, show, look]) => cell(typeof show === 'function' ? show(row) : <Value of={row[show]} />, look))}
    </tr>
  );
  return (
    <div class="table" role="region" aria-label={label} tabindex={0}>
      <table>
        <thead>
          <tr>
            {shown.map(([title, , look]) => (
              <th scope="col" {...((look === 'money' || look === 'number') && { class: 'right' })}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{rows.map(line)}</tbody>
        {total === undefined ? null : <tfoot>{line(total)}</tfoot>}
      </table>
    </div>
  );
}

function cell(content: Child, look: Look | undefined): Child {
  if (look === undefined) return <td>{content}</td>;
  return look === 'name' ? <th scope="row">{content}</th> : <td class={CLASSES[look]}>{content}</td>;
}

/** A property of a row: moments in UTC, amounts to the last digit, a dash for nothing. */
function Value({ of }: { readonly of: unknown }) {
  if (of instanceof Date) return <Time at={of} />;
  if (typeof of === 'bigint') return <ExactMoney amount={of} />;
  return <>{typeof of === 'string' || typeof of === 'number' ? of : '–'}</>;
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
