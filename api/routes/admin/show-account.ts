import type { Database } from '../../../db/database.ts';
import { sumAccountTotals } from '../../../db/queries/accounts.ts';
import { existingAccount } from '../../../services/people/existing-account.ts';
import { ACCOUNT } from '../../../services/resources/admin.ts';

/** The account as answers show it, with its totals. @throws ServiceError `not_found` */
export async function showAccount(
  { database, reports }: { readonly database: Database; readonly reports: Database },
  id: string,
) {
  const account = await existingAccount(database, id);
  return ACCOUNT.present({ ...account, totals: await sumAccountTotals(reports, id) });
}
