/** The balance of the calling account, and when it wants to hear that it is low. */
import { againIfLost } from '../../../db/connections.ts';
import { findAccount } from '../../../db/queries/accounts.ts';
import type { ApiKey } from '../../../db/queries/api-keys.ts';
import type { Database } from '../../../db/database.ts';
import { setLowBalance } from '../../../db/queries/low-balances.ts';
import { sumPromoCredit } from '../../../db/queries/promo-grants.ts';
import { parseUsd } from '../../../domain/money.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { BALANCE } from './present.ts';
import { updateBalanceSchema } from './schema.ts';

export const getBalance = endpoint({
  id: 'getBalance',
  tag: 'Account',
  method: 'get',
  path: '/v1/balance',
  access: 'key',
  summary: 'Get the balance',
  answers: { 200: dataOf(BALANCE.schema, 'The balance') },
  handle: async ({ caller: { key } }, { database }) => ({ data: await showBalance(database, key) }),
});

export const updateBalance = endpoint({
  id: 'updateBalance',
  tag: 'Account',
  method: 'patch',
  path: '/v1/balance',
  access: 'key',
  summary: 'Set the balance below which account.balance_low is sent',
  description:
    'Sent once each time the balance, with what is held, falls below it, and again only after a credit lifted it.',
  body: jsonBody('UpdateBalance', updateBalanceSchema),
  answers: { 200: dataOf(BALANCE.schema, 'The balance') },
  handle: async ({ caller: { account, key }, body: { low_balance_usd: threshold } }, { database }) => {
    await setLowBalance(database, account.id, threshold === null ? null : parseUsd(threshold));
    return { data: await showBalance(database, key) };
  },
});

async function showBalance(database: Database, key: ApiKey) {
  const [account, promo] = await againIfLost(() =>
    Promise.all([findAccount(database, key.accountId), sumPromoCredit(database, key.accountId)]),
  );
  if (!account) throw new Error(`account ${key.accountId} cannot have disappeared`);
  return BALANCE.present({ ...account, key, promo });
}
