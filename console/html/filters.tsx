/** Filters of lists, and links that download a list. */
import type { Child } from 'hono/jsx';
import { EXPORT_FORMATS } from '../export.ts';
import { Choice } from './components.tsx';
import { wordFor } from './resource-table.tsx';
import { useTexts } from './page-context.ts';

export function Filters({ downloads, children }: { readonly downloads?: Child; readonly children: Child }) {
  const texts = useTexts();
  return (
    <form method="get" class="filters" role="search">
      {children}
      <button type="submit" class="quiet">
        {texts.common.filter}
      </button>
      {downloads}
    </form>
  );
}

/** Filters a list by one value of a field. @param all the option for all values */
export function ChoiceFilter({
  query,
  name,
  label,
  all,
  values,
  field = name,
}: {
  readonly query: URLSearchParams;
  readonly name: string;
  readonly label: string;
  readonly all: string;
  readonly values: readonly string[];
  readonly field?: string;
}) {
  const texts = useTexts();
  const options = values.map((value) => [value, wordFor(field, value, texts)] as const);
  return <Choice name={name} label={label} value={query.get(name) ?? ''} options={[['', all], ...options]} />;
}

/** Links to a file of each format. @param path of the list; `/export` is below the path @param query the filters of the list */
export function Downloads({ path, query }: { readonly path: string; readonly query?: URLSearchParams }) {
  const { common } = useTexts();
  const hrefOf = (format: string): string => {
    const asked = new URLSearchParams(query);
    asked.delete('cursor');
    asked.set('format', format);
    return `${path}/export?${asked.toString()}`;
  };
  return (
    <>
      {EXPORT_FORMATS.map((format) => (
        <a class="button quiet" href={hrefOf(format)} download>
          {common.download[format]}
        </a>
      ))}
    </>
  );
}
