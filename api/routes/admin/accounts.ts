/** Accounts and the money that comes and goes by hand. */
import type Router from '@koa/router';
import { CHECK_VIOLATION, isDatabaseError } from '../../../db/database.ts';
import { findAccount, insertAccount, sumAccountTotals } from '../../../db/queries/accounts.ts';
import { adjust, grantSignupCredit } from '../../../db/queries/credits.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { isId, newId } from '../../../domain/ids.ts';
import { parseUsd, toUsdNumber } from '../../../domain/money.ts';
import { creditOnce } from '../../services/credit-once.ts';
import type { ApiServices } from '../../services/services.ts';
import type { Context, RequestState } from '../../state.ts';
import { presentAccount } from './present.ts';
import { parseAdjustment, parseCreateAccount, parseTopUp } from './schema.ts';

export function adminAccountRoutes(router: Router<RequestState>, services: ApiServices): void {
  const { database } = services;

  router.post('/admin/v1/accounts', services.requireAdmin, services.jsonBody, async (context) => {
    const body = parseCreateAccount(context.state.body);
    const id = newId('account');
    const signupCredit = parseUsd(body.signup_credit_usd ?? 0);
    await database.transaction(async (transaction) => {
      await insertAccount(transaction, { id, name: body.name });
      if (signupCredit > 0n) await grantSignupCredit(transaction, id, signupCredit);
    });
    context.status = 201;
    context.body = { data: await showAccount(id) };
  });

  router.get('/admin/v1/accounts/:accountId', services.requireAdmin, async (context) => {
    context.body = { data: await showAccount(accountIdOf(context)) };
  });

  router.post('/admin/v1/accounts/:accountId/topups', services.requireAdmin, services.jsonBody, async (context) => {
    const accountId = await existingAccount(context);
    const { amount_usd, reference } = parseTopUp(context.state.body);
    const amount = parseUsd(amount_usd);
    const credited = await creditOnce(database, { accountId, amount, reference });
    context.status = credited.applied ? 201 : 200;
    context.body = {
      data: {
        id: credited.transferId,
        object: 'topup',
        account_id: accountId,
        amount_usd: toUsdNumber(credited.amount),
        reference,
        created_at: Math.floor(credited.createdAt.getTime() / 1000),
        applied: credited.applied,
      },
    };
  });

  router.post(
    '/admin/v1/accounts/:accountId/adjustments',
    services.requireAdmin,
    services.jsonBody,
    async (context) => {
      const accountId = await existingAccount(context);
      const { amount_usd, reason, author = 'admin' } = parseAdjustment(context.state.body);
      const transferId = await adjust(database, { accountId, amount: parseUsd(amount_usd), author, reason }).catch(
        (error: unknown) => {
          if (!isDatabaseError(error, CHECK_VIOLATION)) throw error;
          throw new ServiceError('insufficient_credits', 'The account has less funded credit than is to be taken.');
        },
      );
      context.status = 201;
      context.body = { data: { id: transferId, object: 'adjustment', account: await showAccount(accountId) } };
    },
  );

  async function showAccount(accountId: string) {
    const account = isId('account', accountId) ? await findAccount(database, accountId) : null;
    if (!account) throw noSuchAccount();
    return presentAccount(account, await sumAccountTotals(services.reports, accountId));
  }

  async function existingAccount(context: Context): Promise<string> {
    const accountId = accountIdOf(context);
    if (!isId('account', accountId) || !(await findAccount(database, accountId))) throw noSuchAccount();
    return accountId;
  }
}

function accountIdOf(context: Context): string {
  return context.params['accountId'] ?? '';
}

function noSuchAccount(): ServiceError {
  return new ServiceError('not_found', 'There is no such account. Check the id.');
}
