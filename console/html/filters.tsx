/** What narrows a list down, and takes it home. */
import type { Child } from 'hono/jsx';
import { EXPORT_FORMATS } from '../export.ts';
import type { Texts } from '../texts/texts.ts';

export function Filters({ texts, children }: { readonly texts: Texts; readonly children: Child }) {
  return (
    <form method="get" class="filters" role="search">
      {children}
      <button type="submit" class="quiet">
        {texts.common.filter}
      </button>
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

/** Leads to a file of each format. @param path of the list; `/export` is below it */
export function Downloads({ path, texts: { common } }: { readonly path: string; readonly texts: Texts }) {
  return (
    <>
      {EXPORT_FORMATS.map((format) => (
        <a class="button quiet" href={`${path}/export?format=${format}`} download>
          {common.download[format]}
        </a>
      ))}
    </>
  );
}
