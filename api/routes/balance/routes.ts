/** What the calling account has. */
import type Router from '@koa/router';
import { againIfLost } from '../../../db/connections.ts';
import { findAccount } from '../../../db/queries/accounts.ts';
import type { ApiServices } from '../../services/services.ts';
import { callerOf, type RequestState } from '../../state.ts';
import { presentBalance } from './present.ts';

export function balanceRoutes(
  router: Router<RequestState>,
  { database, authenticate, limitRequests }: ApiServices,
): void {
  router.get('/v1/balance', authenticate, limitRequests, async (context) => {
    const { account, key } = callerOf(context);
    const found = await againIfLost(() => findAccount(database, account.id));
    if (!found) throw new Error(`account ${account.id} cannot have disappeared`);
    context.body = { data: presentBalance(found, key) };
  });
}
