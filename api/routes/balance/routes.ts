/** The balance of the calling account. */
import { againIfLost } from '../../../db/connections.ts';
import { findAccount } from '../../../db/queries/accounts.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { BalanceSchema, presentBalance } from './present.ts';

export const getBalance = endpoint({
  id: 'getBalance',
  tag: 'Account',
  method: 'get',
  path: '/v1/balance',
  access: 'key',
  summary: 'Get the balance',
  answers: { 200: dataOf(BalanceSchema, 'The balance') },
  handle: async ({ caller: { account, key } }, { database }) => {
    const found = await againIfLost(() => findAccount(database, account.id));
    if (!found) throw new Error(`account ${account.id} cannot have disappeared`);
    return { data: presentBalance(found, key) };
  },
});
