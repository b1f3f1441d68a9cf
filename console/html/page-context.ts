/** The values that all components of a page share. */
import { createContext, useContext } from 'hono/jsx';
import { hasStaffPermission, type StaffPermission } from '../../domain/roles.ts';
import type { Visit } from '../page.ts';
import type { Texts } from '../texts/texts.ts';

/** The facts about a visit that the parts of its page read. */
export type PageContext = Pick<
  Visit,
  'path' | 'query' | 'texts' | 'site' | 'form' | 'problem' | 'session' | 'context'
> & {
  /** Empty for a part of a page. */
  readonly title: string;
  readonly accountNames: ReadonlyMap<string, string>;
};

export const CurrentPage = createContext<PageContext | null>(null);

export function usePage(): PageContext {
  const page = useContext(CurrentPage);
  if (page === null) throw new Error('A component was called outside of a page. Write it as an element.');
  return page;
}

/** Returns a function that changes parameters of the page's query, for links. Null removes a parameter. */
export function useQuery(): (changes: Readonly<Record<string, string | null>>) => string {
  const { query } = usePage();
  return (changes) => {
    const changed = new URLSearchParams(query);
    for (const [name, value] of Object.entries({ cursor: null, ...changes })) {
      if (value === null) changed.delete(name);
      else changed.set(name, value);
    }
    return `?${changed.toString()}`;
  };
}

/** Whether the reader is an operator with a permission. For parts of a page that not all operators see. */
export function useMay(permission: StaffPermission): boolean {
  return hasStaffPermission(usePage().session?.user.staffRole ?? null, permission);
}

export function useTexts(): Texts {
  return usePage().texts;
}
