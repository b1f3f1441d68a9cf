/** What narrows a list down, and takes it home. */
import type { Child } from 'hono/jsx';
import { EXPORT_FORMATS } from '../export.ts';
import { useTexts } from './use-texts.ts';

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

/** The options of a filter: all, or one of those that are known. */
export function optionsOf<Name extends string>(
  all: string,
  names: readonly Name[],
  words: Readonly<Record<Name, string>>,
): readonly (readonly [value: string, label: string])[] {
  return [['', all], ...names.map((name) => [name, words[name]] as const)];
}

/** Leads to a file of each format. @param path of the list; `/export` is below it @param query what narrows the list down */
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
