/** Manual credits and adjustments. */
import { isUnavailable, retryOnLostConnection } from '../../../db/connections.ts';
import { ServiceError, UNREPEATABLE } from '../../../domain/errors.ts';
import { newId } from '../../../domain/ids.ts';
import { parseUsd } from '../../../domain/money.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { exactly, idOf, object } from '../../../domain/json-schema.ts';
import { adjustBalance } from '../../../services/money/adjust-balance.ts';
import { authorOf } from '../../../services/people/administrator.ts';
import { creditByHand } from '../../../services/money/credit-once.ts';
import { existingAccount } from '../../../services/people/existing-account.ts';
import { ACCOUNT } from '../../../services/resources/admin.ts';
import { adjustmentSchema, topUpSchema } from '../../../services/input/admin.ts';
import { showAccount } from './show-account.ts';
import { TOP_UP } from '../../../services/resources/credit.ts';

/** A repetition of the call would be another adjustment. */
function unconfirmedAdjustment(id: string, cause: unknown): ServiceError {
  return new ServiceError(
    'processing_unavailable',
    `The database did not confirm the adjustment ${id}. Look for it among the entries of the account before sending it again.`,
    { ...UNREPEATABLE, cause },
  );
}

export const creditEndpoints = endpoints('Administration', {
  topUp: endpoint({
    request: 'POST /admin/v1/accounts/{account_id}/topups',
    access: 'admin-finance',
    summary: 'Credit a payment',
    description:
      'Each reference is credited once. A repeated call answers 200 and changes nothing; with another amount, 409.',
    body: jsonBody('TopUp', topUpSchema),
    answers: { 200: dataOf(TOP_UP.schema, 'The earlier credit'), 201: dataOf(TOP_UP.schema, 'The credit') },
    refusals: ['idempotency_conflict'],
    handle: async ({ params, caller, body: { amount_usd, reference }, context }, services) => {
      const { id: accountId } = await existingAccount(services.database, params.account_id);
      const author = authorOf(caller, undefined);
      const credited = await creditByHand(services, { accountId, amount: parseUsd(amount_usd), reference, author });
      if (credited.applied) context.status = 201;
      return { data: TOP_UP.present({ ...credited, accountId, reference }) };
    },
  }),
  adjust: endpoint({
    request: 'POST /admin/v1/accounts/{account_id}/adjustments',
    access: 'admin-finance',
    summary: 'Adjust a balance by hand',
    body: jsonBody('Adjustment', adjustmentSchema),
    answers: {
      201: dataOf(
        object({ id: idOf('transfer'), object: exactly('adjustment'), account: ACCOUNT.schema }),
        'The adjustment',
      ),
    },
    refusals: ['insufficient_credits'],
    handle: async ({ params, caller, body: { amount_usd, reason, author: given } }, services) => {
      const { id: accountId } = await existingAccount(services.database, params.account_id);
      const author = authorOf(caller, given);
      const id = newId('transfer');
      try {
        await adjustBalance(services, { id, accountId, amount: parseUsd(amount_usd), author, reason });
        const account = await retryOnLostConnection(() => showAccount(services, accountId));
        return { data: { id, object: 'adjustment', account } };
      } catch (error) {
        throw isUnavailable(error) ? unconfirmedAdjustment(id, error) : error;
      }
    },
  }),
});
