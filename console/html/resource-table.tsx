/** Tables whose columns are fields of a resource. Each field defines the look of its values. */
import type { Child } from 'hono/jsx';
import type { Field } from '../../domain/resource/field.ts';
import type { Fields } from '../../domain/resource/resource.ts';
import { type Texts, wordFor } from '../texts/texts.ts';
import { Badge, Card, Empty, ExactMoney, Facts, WithNote, Pages, Time, type Tone } from './components.tsx';
import { type CellClass, chosenColumns, type Column, ColumnMenu, type Columns } from './columns.tsx';
import { AnyId } from './linked-ids.tsx';
import { usePage, useTexts } from './page-context.ts';

const CLASSES: Readonly<Record<CellClass, string>> = { number: 'right number', words: 'words' };

interface Cells<Row> {
  readonly title: Child;
  readonly show: (row: Row) => Child;
  readonly cellClass: CellClass | undefined;
}

export interface TableProps<Row> {
  readonly label: string;
  readonly of: { readonly fields: Fields<Row> };
  /** Null stands for a column that the reader may not see. */
  readonly columns: Columns<Row>;
  /** The field to show below another field, by the name of the other. */
  readonly notes?: Readonly<Record<string, string>>;
  readonly rows: readonly Row[];
  /** The page of a row, to which its first cell links. */
  readonly pageOf?: (row: Row) => string;
  /** The text in place of a table without rows. */
  readonly none?: string;
  /** The last row: the sum of the others. */
  readonly total?: Row;
  readonly isSum?: (row: Row) => boolean;
  /** Whether readers can choose the columns. The address keeps the choice, which also applies to files. */
  readonly hasColumnMenu?: boolean;
}

interface TableCardProps<Row> extends Omit<TableProps<Row>, 'label'> {
  readonly title?: string;
  /** For a table without a title; by default the title of the page. */
  readonly label?: string;
  readonly wide?: boolean;
  /** For a list with pages: the cursor of the next page; null on the last page. */
  readonly next?: string | null;
  readonly children?: Child;
}

/** A card with a table, other content below the table, and links to the other pages of the list. */
export function TableCard<Row>({ title, wide = false, next, children, ...table }: TableCardProps<Row>) {
  const page = usePage();
  return (
    <Card {...(title !== undefined && { title })} wide={wide}>
      <ResourceTable label={title ?? page.title} {...table} />
      {children}
      {next === undefined ? null : <Pages next={next} />}
    </Card>
  );
}

/** A table, which scrolls inside its card if it is too wide. */
export function ResourceTable<Row>(props: TableProps<Row>) {
  const { label, rows, pageOf, none, total, isSum, hasColumnMenu = false } = props;
  const { texts, query } = usePage();
  const columns = hasColumnMenu ? chosenColumns(props, query, texts) : props.columns;
  const [head, ...others] = allCells({ ...props, columns }, texts);
  if (rows.length === 0 && none !== undefined) return <Empty>{none}</Empty>;
  const line = (row: Row): Child => (
    <tr {...(isSum?.(row) && { class: 'sum' })}>
      <th scope="row">{pageOf ? <a href={pageOf(row)}>{head?.show(row)}</a> : head?.show(row)}</th>
      {others.map(({ show, cellClass }) => (
        <td {...(cellClass && { class: CLASSES[cellClass] })}>{show(row)}</td>
      ))}
    </tr>
  );
  const table = (
    <div class="table" role="region" aria-label={label} tabindex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{head?.title}</th>
            {others.map(({ title, cellClass }) => (
              <th scope="col" {...(cellClass === 'number' && { class: 'right' })}>
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
  if (!hasColumnMenu) return table;
  return (
    <>
      <ColumnMenu {...props} shown={columns} />
      {table}
    </>
  );
}

/** The fields of one row as a list of facts. */
export function ResourceFacts<Row>(props: Pick<TableProps<Row>, 'of' | 'columns'> & { readonly row: Row }) {
  const cells = allCells(props, useTexts());
  return <Facts facts={cells.map(({ title, show }) => [title, show(props.row)])} />;
}

type CellProps<Row> = Pick<TableProps<Row>, 'of' | 'columns' | 'notes'>;

function allCells<Row>(props: CellProps<Row>, texts: Texts): readonly Cells<Row>[] {
  return props.columns.flatMap((column) => (column === null ? [] : [cellsOf(column, props, texts)]));
}

function cellsOf<Row>(column: Column<Row>, { of, notes }: CellProps<Row>, texts: Texts): Cells<Row> {
  const [title, show, cellClass] = typeof column === 'string' ? [texts.fields[column], column] : column;
  if (typeof show === 'function') return { title, show, cellClass: cellClass ?? undefined };
  const note = notes?.[show];
  const { display } = fieldOf(of.fields, show);
  return {
    title,
    show: (row) => (
      <WithNote note={note && valueOf(of.fields, note, row, texts)}>
        {valueOf(of.fields, show, row, texts) ?? '–'}
      </WithNote>
    ),
    cellClass: cellClass ?? (display === 'usd' || display === 'number' ? 'number' : undefined),
  };
}

function fieldOf<Row>(fields: Fields<Row>, name: string): Field<Row> {
  const field = fields[name];
  if (!field) throw new Error(`The resource has no field "${name}". Name one of its fields, or add the field to it.`);
  return field;
}

/** Renders the value of a field; null if the field is empty. */
function valueOf<Row>(fields: Fields<Row>, name: string, row: Row, texts: Texts): Child {
  const { display, value: read } = fieldOf(fields, name);
  const value = read(row);
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return <Time at={value} />;
  if (display === 'usd' && typeof value === 'bigint') return <ExactMoney amount={value} />;
  if (typeof value === 'number' || typeof value === 'bigint') return value.toLocaleString(texts.language);
  if (Array.isArray(value)) return value.map((word) => wordFor(name, String(word), texts)).join(', ');
  if (typeof value !== 'string') throw new Error(`The field "${name}" has parts. Show them by a function.`);
  if (display === 'choice') return <Chosen name={name} value={value} />;
  return display === 'id' ? <AnyId id={value} /> : wordFor(name, value, texts);
}

/** The fields whose values are badges. */
const BADGES: ReadonlySet<string> = new Set(['status', 'outcome', 'state', 'mail']);
const GOOD = 'succeeded delivered sent accepted approved enabled active open ok closed'.split(' ');
const BUSY = 'ending queued processing pending waiting running probing'.split(' ');
const BAD = [
  'failed',
  'abandoned',
  'refused',
  'given_up',
  'unknown',
  'failing',
  'expired',
  'suspended',
  'resting',
  'overdue',
  'to close',
];

function toneOf(value: string): Tone {
  if (GOOD.includes(value)) return 'good';
  if (BUSY.includes(value)) return 'busy';
  return BAD.includes(value) ? 'bad' : 'calm';
}

/** The value of a field with few values, in the reader's language. */
export function Chosen({ name, value }: { name: string; value: string }) {
  const texts = useTexts();
  const word = wordFor(name, value, texts);
  return BADGES.has(name) ? <Badge tone={toneOf(value)}>{word}</Badge> : <>{word}</>;
}
