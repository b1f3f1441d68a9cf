import { positiveUsd } from '../../usd.ts';
import { bodySchema, orNull, sent } from '../../validation.ts';

export const updateBalanceSchema = bodySchema({
  low_balance_usd: sent(
    orNull(
      positiveUsd
        .description('The event `account.balance_low` is sent when the balance falls below it; null for never')
        .example(20),
    ),
  ),
});
