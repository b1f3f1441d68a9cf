import Joi from 'joi';
import { positiveUsd } from '../../usd.ts';

export interface UpdateBalanceBody {
  readonly low_balance_usd: string | number | null;
}

export const updateBalanceSchema = Joi.object<UpdateBalanceBody>({
  low_balance_usd: positiveUsd
    .allow(null)
    .required()
    .description('The event `account.balance_low` is sent when the balance falls below it; null for never')
    .example(20),
});
