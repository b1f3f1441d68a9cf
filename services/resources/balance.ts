import { FAILURE_REASONS } from '../../domain/task.ts';
import type { Account } from '../../db/queries/accounts.ts';
import type { BalanceEntry } from '../../db/queries/balance-entries.ts';
import type { ApiKey } from '../../db/queries/api-keys.ts';
import type { sumPromoCredit } from '../../db/queries/promo-grants.ts';
import { ENTRY_TYPES } from '../../domain/ledger.ts';
import * as field from '../../domain/resource/field.ts';
import { nested, resource } from '../../domain/resource/resource.ts';
import { KEY_LIMIT } from './admin.ts';

const KEY = nested<ApiKey>({
  id: field.id('apiKey')('id'),
  used_usd: field.usd('used', 'The total charged to and held for the calling key'),
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
    'The available balance',
  ),
  funded_usd: field.usd('fundedAvailable', 'The paid part of the balance'),
  signup_usd: field.usd('signupAvailable', 'The granted part of the balance'),
  promo_usd: field.usd(({ promo }) => promo.available, 'The granted part that expires. Spent first'),
  promo_expires_at: field.unixSeconds.orNull(
    ({ promo }) => promo.nextExpiry,
    'When the first of `promo_usd` expires. Null if `promo_usd` is 0',
  ),
  reserved_usd: field.usd(
    ({ fundedReserved, signupReserved }) => fundedReserved + signupReserved,
    'The amount held for running tasks and requests',
  ),
  low_balance_usd: field.usd.orNull('lowBalance', 'The threshold of `account.balance_low`. Null for no event'),
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
    created_at: field.isoTime('createdAt', 'When the balance changed'),
    id: field.id('transfer')('id'),
    object: field.constant('balance_entry'),
    type: field.oneOf(ENTRY_TYPES)(
      'type',
      'The cause: a payment, granted or expired credit, a correction, or a request. A failed task is free',
    ),
    amount_usd: field.exactUsd('amount', 'The change of the balance. Negative for a deduction'),
    balance_usd: field.exactUsd.orNull(
      'balance',
      'The balance after the change, holds included. Null with the filter `type` or `api_key_id`',
    ),
    request_kind: field.oneOf(['image', 'video', 'text']).orNull('requestKind', 'The kind of request. Null if none'),
    model: field.text.orNull('model', 'The model'),
    error_code: field.text.orNull('errorCode', 'The error code of a failed task'),
    failure_reason: field
      .oneOf(FAILURE_REASONS)
      .orNull('failureReason', 'Why the task failed: its error code, or who cancelled it'),
    input_tokens: field.count.orNull('inputTokens', 'The input tokens of a text request'),
    output_tokens: field.count.orNull('outputTokens', 'The output tokens of a text request'),
    api_key_id: field.id('apiKey').orNull('apiKeyId'),
    task_id: field.id('task').orNull('taskId'),
    text_request_id: field.id('textRequest').orNull('textRequestId'),
    reference: field.text.orNull(
      'reference',
      'The reference of a top-up, a promo grant, or the signup credit of a registration',
    ),
  },
  'A change of the balance: a top-up, a grant, a correction, a final task, or a charged text request.',
);
