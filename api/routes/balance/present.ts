import type { Account } from '../../../db/queries/accounts.ts';
import type { ApiKey } from '../../../db/queries/api-keys.ts';
import { toUsdNumber } from '../../../domain/money.ts';

export function presentBalance(account: Account, key: ApiKey) {
  return {
    object: 'balance',
    available_usd: toUsdNumber(account.fundedAvailable + account.signupAvailable),
    funded_usd: toUsdNumber(account.fundedAvailable),
    signup_usd: toUsdNumber(account.signupAvailable),
    reserved_usd: toUsdNumber(account.fundedReserved + account.signupReserved),
    topped_up: account.toppedUpAt !== null,
    key: {
      id: key.id,
      used_usd: toUsdNumber(key.used),
      usage_limit_usd: key.usageLimit === null ? null : toUsdNumber(key.usageLimit),
    },
  };
}
