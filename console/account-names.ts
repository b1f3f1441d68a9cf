import type { Database } from '../db/database.ts';
import { findAccountNames } from '../db/queries/search.ts';
import type { DrawnResult } from './page.ts';

/**
 * Lets a page show the names of accounts in place of their ids.
 *
 * @param ids the ids on the page; ids of other objects have no effect
 */
export async function withAccountNames<Result extends DrawnResult>(
  database: Database,
  ids: readonly string[],
  result: Result,
): Promise<Result> {
  return { ...result, accountNames: await findAccountNames(database, ids) };
}
