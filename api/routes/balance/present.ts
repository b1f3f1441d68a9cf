import type { Account } from '../../../db/queries/accounts.ts';
import type { ApiKey } from '../../../db/queries/api-keys.ts';
import type { sumPromoCredit } from '../../../db/queries/promo-grants.ts';
import { nullable } from '../../../domain/json-schema.ts';
import { toUsdNumber } from '../../../domain/money.ts';
import { toUnixSeconds } from '../../../domain/unix-time.ts';
import { boolean, exactly, idOf, namedObject, objectOf, unixSeconds, usd } from '../../openapi/json-schema.ts';

type BalanceObject = ReturnType<typeof presentBalance>;

export const BalanceSchema = namedObject<BalanceObject>('Balance', {
  object: exactly('balance'),
  available_usd: usd('Available to spend'),
  funded_usd: usd('The part that was paid for'),
  signup_usd: usd('The part that was granted'),
  promo_usd: usd('What of the granted part expires; it is spent first'),
  promo_expires_at: nullable(unixSeconds('When the first of it expires; null when there is none')),
  reserved_usd: usd('Held for running tasks and requests'),
  low_balance_usd: nullable(usd('Below what balance `account.balance_low` is sent; null for never')),
  topped_up: boolean('Whether the account has ever topped up, which unlocks all models'),
  key: objectOf<BalanceObject['key']>({
    id: idOf('apiKey'),
    used_usd: usd('Charged to or held for the calling key so far'),
    usage_limit_usd: nullable(usd('Total that the key may spend; null for no limit')),
  }),
});

export function presentBalance(account: Account, key: ApiKey, promo: Awaited<ReturnType<typeof sumPromoCredit>>) {
  return {
    object: 'balance',
    available_usd: toUsdNumber(account.fundedAvailable + account.signupAvailable),
    funded_usd: toUsdNumber(account.fundedAvailable),
    signup_usd: toUsdNumber(account.signupAvailable),
    promo_usd: toUsdNumber(promo.available),
    promo_expires_at: promo.nextExpiry && toUnixSeconds(promo.nextExpiry),
    reserved_usd: toUsdNumber(account.fundedReserved + account.signupReserved),
    low_balance_usd: account.lowBalance === null ? null : toUsdNumber(account.lowBalance),
    topped_up: account.toppedUpAt !== null,
    key: {
      id: key.id,
      used_usd: toUsdNumber(key.used),
      usage_limit_usd: key.usageLimit === null ? null : toUsdNumber(key.usageLimit),
    },
  };
}
