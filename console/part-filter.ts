/** Filters of lists that take a part of a name. A list is filtered by one value: where several match, the reader chooses. */
import type { ApiServices } from '../api/services/services.ts';
import type { Catalogue } from '../catalogue/types.ts';
import { listAccounts } from '../db/queries/accounts.ts';
import { isId } from '../domain/ids.ts';

/** The most that the reader chooses from. */
const MAX_CANDIDATES = 20;

export interface PartFilter {
  /** The parameter of the query. */
  readonly name: 'account' | 'model';
  /** What the list is filtered by; undefined for everything, and null while nothing or more than one thing matches. */
  readonly value: string | undefined | null;
  /** What matches, if more than one thing does. */
  readonly candidates: readonly { readonly value: string; readonly label: string }[];
}

/** Finds the account that `account` names by its id, or by a part of its name, its e-mail address or its external id. */
export async function accountIn(
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

/** Finds the model that `model` names by its id or a part of it. A model that is sold no more is found by its id. */
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

/** Reads a list unless a filter still has to be chosen. */
export async function unlessOpen<Entry>(
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
