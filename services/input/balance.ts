import { positiveUsd } from './usd.ts';
import { bodySchema, orNull, requiredField } from './validation.ts';

export const updateBalanceSchema = bodySchema({
  low_balance_usd: requiredField(
    orNull(positiveUsd.description('The threshold of the event `account.balance_low`. Null for no event').example(20)),
  ),
});
