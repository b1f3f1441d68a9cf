import type { Account } from '../../../db/queries/accounts.ts';
import type { ApiKey } from '../../../db/queries/api-keys.ts';
import { nullable } from '../../../domain/json-schema.ts';
import { toUsdNumber } from '../../../domain/money.ts';
import { boolean, component, exactly, fieldsOf, idOf, object, usd } from '../../openapi/json-schema.ts';

type BalanceObject = ReturnType<typeof presentBalance>;

export const BalanceSchema = component(
  'Balance',
  object(
    fieldsOf<BalanceObject>({
      object: exactly('balance'),
      available_usd: usd('What can be spent'),
      funded_usd: usd('The part of it that was paid for'),
      signup_usd: usd('The part of it that was given'),
      reserved_usd: usd('Held for what is under way'),
      topped_up: boolean('Whether the account ever topped up, which unlocks all models'),
      key: object(
        fieldsOf<BalanceObject['key']>({
          id: idOf('apiKey'),
          used_usd: usd('What the calling key was charged and holds'),
          usage_limit_usd: nullable(usd('What it may spend in all; null for no limit')),
        }),
      ),
    }),
  ),
);

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
