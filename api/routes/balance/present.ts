import type { Account } from '../../../db/queries/accounts.ts';
import type { BalanceEntry } from '../../../db/queries/balance-entries.ts';
import type { ApiKey } from '../../../db/queries/api-keys.ts';
import type { sumPromoCredit } from '../../../db/queries/promo-grants.ts';
import { ENTRY_TYPES } from '../../../domain/ledger.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested, resource } from '../../../domain/resource/resource.ts';
import { KEY_LIMIT } from '../admin/present.ts';

const KEY = nested<ApiKey>({
  id: field.id('apiKey')('id'),
  used_usd: field.usd('used', 'Charged to or held for the calling key so far'),
  ...KEY_LIMIT,
});

/** An account as the calling key sees it. */
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

/** Amounts are decimal strings, so that they add up exactly. */
export const BALANCE_ENTRY = resource<BalanceEntry>(
  'BalanceEntry',
  {
    created_at: field.isoTime('createdAt', 'When it changed the balance'),
    id: field.id('transfer')('id'),
    object: field.constant('balance_entry'),
    type: field.oneOf(ENTRY_TYPES)(
      'type',
      'What it was: a payment, credit that was given or expired, a correction, or a request. A failed task costs nothing',
    ),
    amount_usd: field.exactUsd('amount', 'What it added; negative where it took'),
    balance_usd: field.exactUsd.orNull(
      'balance',
      'The balance after it, with what is held; null where `type` or `api_key_id` leaves entries out',
    ),
    request_kind: field.oneOf(['image', 'video', 'text']).orNull('requestKind', 'Null for what was no request'),
    model: field.text.orNull('model', 'The model'),
    error_code: field.text.orNull('errorCode', 'Why a task failed'),
    input_tokens: field.count.orNull('inputTokens', 'Of a text request'),
    output_tokens: field.count.orNull('outputTokens', 'Of a text request'),
    api_key_id: field.id('apiKey').orNull('apiKeyId'),
    task_id: field.id('task').orNull('taskId'),
    text_request_id: field.id('textRequest').orNull('textRequestId'),
    reference: field.text.orNull('reference', 'Of a top-up, or of a promo grant'),
  },
  'A change of the balance: one for each top-up, grant, correction, task that ended, and text request that was charged.',
);
