/** Filters of lists that accept a part of a name. A filter has one value: if several match, the reader chooses. */
import type { ApiServices } from '../api/services.ts';
import type { Catalogue } from '../catalogue/types.ts';
import { listAccounts } from '../db/queries/accounts.ts';
import { isId } from '../domain/ids.ts';

/** The maximum number of values to choose from. */
const MAX_CANDIDATES = 20;

export interface PartFilter {
  /** The parameter of the query. */
  readonly name: 'account' | 'model';
  /** The value by which to filter; undefined for all entries; null while no value, or more than one, matches. */
  readonly value: string | undefined | null;
  /** The matching values, if there is more than one. */
  readonly candidates: readonly { readonly value: string; readonly label: string }[];
}

/** Finds the account of `account`: an id, or a part of a name, an e-mail address or an external id. */
export async function findFilteredAccount(
  query: URLSearchParams,
  { reports }: Pick<ApiServices, 'reports'>,
): Promise<PartFilter> {
  const text = textOf(query, 'account');
  if (text === '' || isId('account', text)) return { name: 'account', value: text || undefined, candidates: [] };
  const found = await listAccounts(reports, { search: text, limit: MAX_CANDIDATES });
  return chosen(
    'account',
    found.map(({ id, name }) => ({ value: id, label: name || id })),
  );
}

/** Finds the model of `model`: an id, or a part of one. A model that is no longer on sale needs its full id. */
export function modelIn(query: URLSearchParams, { videoModels, imageModels, textModels }: Catalogue): PartFilter {
  const text = textOf(query, 'model');
  const ids = [videoModels, imageModels, textModels].flatMap((models) => [...models.keys()]);
  const found =
    text === '' || ids.includes(text) ? [] : ids.filter((id) => id.toLowerCase().includes(text.toLowerCase()));
  if (found.length === 0) return { name: 'model', value: text || undefined, candidates: [] };
  return chosen(
    'model',
    found.slice(0, MAX_CANDIDATES).map((id) => ({ value: id, label: id })),
  );
}

/** Reads a list, unless the reader still has to choose the value of a filter. */
export async function readIfFiltered<Entry>(
  filters: readonly PartFilter[],
  read: () => Promise<readonly Entry[]>,
): Promise<readonly Entry[]> {
  return filters.some(({ value }) => value === null) ? [] : read();
}

function textOf(query: URLSearchParams, name: PartFilter['name']): string {
  return (query.get(name) ?? '').trim();
}

function chosen(name: PartFilter['name'], found: PartFilter['candidates']): PartFilter {
  const [only, ...others] = found;
  return only && others.length === 0
    ? { name, value: only.value, candidates: [] }
    : { name, value: null, candidates: found };
}
