import type { Account } from '../../../db/queries/accounts.ts';
import type { ApiKey } from '../../../db/queries/api-keys.ts';
import type { sumPromoCredit } from '../../../db/queries/promo-grants.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested, resource } from '../../../domain/resource/resource.ts';

const KEY = nested<ApiKey>({
  id: field.id('apiKey')('id'),
  used_usd: field.usd('used', 'Charged to or held for the calling key so far'),
  usage_limit_usd: field.usd.orNull('usageLimit', 'Total that the key may spend; null for no limit'),
});

/** An account, as the key that asks sees it. */
interface Balance extends Account {
  readonly key: ApiKey;
  readonly promo: Awaited<ReturnType<typeof sumPromoCredit>>;
}

export const BALANCE = resource<Balance>('Balance', {
  object: field.constant('balance'),
  available_usd: field.usd(
    ({ fundedAvailable, signupAvailable }) => fundedAvailable + signupAvailable,
    'Available to spend',
  ),
  funded_usd: field.usd('fundedAvailable', 'The part that was paid for'),
  signup_usd: field.usd('signupAvailable', 'The part that was granted'),
  promo_usd: field.usd(({ promo }) => promo.available, 'What of the granted part expires; it is spent first'),
  promo_expires_at: field.unixSeconds.orNull(
    ({ promo }) => promo.nextExpiry,
    'When the first of it expires; null when there is none',
  ),
  reserved_usd: field.usd(
    ({ fundedReserved, signupReserved }) => fundedReserved + signupReserved,
    'Held for running tasks and requests',
  ),
  low_balance_usd: field.usd.orNull('lowBalance', 'Below what balance `account.balance_low` is sent; null for never'),
  topped_up: field.boolean(
    ({ toppedUpAt }) => toppedUpAt !== null,
    'Whether the account has ever topped up, which unlocks all models',
  ),
  key: field.object(KEY)('key'),
});
