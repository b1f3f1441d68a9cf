/** The columns of a table, and the menu for choosing them. */
import type { Child } from 'hono/jsx';
import type { Fields } from '../../domain/resource/resource.ts';
import { COLUMNS } from '../export.ts';
import type { FieldName } from '../form-problem.ts';
import type { Texts } from '../texts/texts.ts';
import { Check } from './components.tsx';
import { usePage, useQuery } from './page-context.ts';

export type CellClass = 'number' | 'words';

/**
 * A field under its own name or another title, or a function that shows a part of the row. The menu of columns offers a
 * function only if the column names a `field`.
 */
export type Column<Row> =
  | FieldName
  | readonly [title: Child, show: FieldName | ((row: Row) => Child), cellClass?: CellClass | null, field?: string];

/** Null stands for a column that the reader may not see. */
export type Columns<Row> = readonly (Column<Row> | null)[];

/** The field of a column. */
function fieldIn(column: Column<never> | null): string | undefined {
  if (column === null || typeof column === 'string') return column ?? undefined;
  const [, show, , field] = column;
  return typeof show === 'string' ? show : field;
}

interface Offer<Row> {
  readonly of: { readonly fields: Fields<Row> };
  /** The usual columns. */
  readonly columns: Columns<Row>;
}

/** The usual columns, and a column for every other field that has a title and fills one cell. */
function offeredColumns<Row>({ of, columns }: Offer<Row>, texts: Texts): Columns<Row> {
  const usual = columns.map(fieldIn);
  const others = Object.entries(of.fields).flatMap(([name, field]): FieldName[] =>
    isFieldName(name, texts) && field.columns.length === 1 && !usual.includes(name) ? [name] : [],
  );
  return [...columns, ...others];
}

/** The columns in the address, after the first usual column; all usual columns if the address has none. */
export function chosenColumns<Row>(props: Offer<Row>, query: URLSearchParams, texts: Texts): Columns<Row> {
  const asked = query.getAll(COLUMNS);
  const [first = null, ...offered] = offeredColumns(props, texts);
  const chosen = offered.filter((column) => asked.includes(fieldIn(column) ?? ''));
  return chosen.length === 0 ? props.columns : [first, ...chosen];
}

function isFieldName(name: string, texts: Texts): name is FieldName {
  return Object.hasOwn(texts.fields, name);
}

export function ColumnMenu<Row>({ shown, ...props }: Offer<Row> & { readonly shown: Columns<Row> }) {
  const { texts, query } = usePage();
  const queryWith = useQuery();
  const [first = null, ...others] = offeredColumns(props, texts);
  const fields = shown.map(fieldIn);
  return (
    <details class="columns">
      <summary class="button quiet">{texts.common.columns}</summary>
      <form method="get">
        {[...query].map(([name, value]) =>
          name === COLUMNS ? null : <input type="hidden" name={name} value={value} />,
        )}
        <input type="hidden" name={COLUMNS} value={fieldIn(first)} />
        {others.map((column) => {
          const field = fieldIn(column);
          if (column === null || field === undefined) return null;
          const title = typeof column === 'string' ? texts.fields[column] : column[0];
          return <Check name={COLUMNS} value={field} label={title} isChecked={fields.includes(field)} />;
        })}
        <div class="row">
          <button type="submit">{texts.common.show}</button>
          <a href={queryWith({ [COLUMNS]: null })}>{texts.common.usualColumns}</a>
        </div>
      </form>
    </details>
  );
}
