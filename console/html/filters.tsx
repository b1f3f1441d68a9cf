/** Filters of lists, and links that download a list. */
import type { Child } from 'hono/jsx';
import { EXPORT_FORMATS } from '../export.ts';
import { Choice, Field, type FieldProps } from './components.tsx';
import { wordFor } from './resource-table.tsx';
import { usePage, useTexts } from './page-context.ts';

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
  name,
  label,
  all,
  values,
  field = name,
}: {
  readonly name: string;
  readonly label: string;
  readonly all: string;
  readonly values: readonly string[];
  readonly field?: string;
}) {
  const { texts, query } = usePage();
  const options = values.map((value) => [value, wordFor(field, value, texts)] as const);
  return <Choice name={name} label={label} value={query.get(name) ?? ''} options={[['', all], ...options]} />;
}

/** Filters a list by a text or a day. */
export function FieldFilter({ name, ...field }: Pick<FieldProps, 'name' | 'label' | 'type'>) {
  const { query } = usePage();
  return <Field name={name} {...field} value={query.get(name) ?? ''} />;
}

/** Links to a file of each format, at `/export` below the list. @param filters of the list, if not those of the page */
export function Downloads({ filters }: { readonly filters?: URLSearchParams }) {
  const { texts, path, query } = usePage();
  const hrefOf = (format: string): string => {
    const asked = new URLSearchParams(filters ?? query);
    asked.delete('cursor');
    asked.set('format', format);
    return `${path}/export?${asked.toString()}`;
  };
  return (
    <>
      {EXPORT_FORMATS.map((format) => (
        <a class="button quiet" href={hrefOf(format)} download>
          {texts.common.download[format]}
        </a>
      ))}
    </>
  );
}
