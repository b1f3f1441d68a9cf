/** Accounts, keys, transfers and tasks as operators see them. */
import type { Account, AccountTotals } from '../../../db/queries/accounts.ts';
import { type ContentLeft, MAX_COUNTED } from '../../../db/queries/content.ts';
import type { ApiKey } from '../../../db/queries/api-keys.ts';
import type { KeptBudget } from '../../../db/queries/end-user-budgets.ts';
import type { KeptSubmission } from '../../../db/queries/submissions.ts';
import type { Transfer } from '../../../db/queries/transfers.ts';
import { LIMIT_PERIODS, renewalOf } from '../../../domain/api-key.ts';
import { changeBy, signedAmount } from '../../../domain/ledger.ts';
import { TASK } from '../../../domain/task-object.ts';
import type { Task } from '../../../domain/task.ts';
import * as field from '../../../domain/resource/field.ts';
import { deletionOf, nested, resource } from '../../../domain/resource/resource.ts';
import { historyUrl, type HistoryLinks } from '../../history-link.ts';
import { text } from '../../../domain/json-schema.ts';
import { VENDOR_COST } from './present-submissions.ts';

const BALANCES = nested<Account>({
  available_usd: field.usd(
    ({ fundedAvailable, signupAvailable }) => fundedAvailable + signupAvailable,
    'Available to spend',
  ),
  funded_usd: field.usd('fundedAvailable', 'The part that was paid for'),
  signup_usd: field.usd('signupAvailable', 'The part that was granted'),
  reserved_usd: field.usd(
    ({ fundedReserved, signupReserved }) => fundedReserved + signupReserved,
    'Held for running tasks and requests',
  ),
});

const CONTENT_DAYS = field.integer.orNull(
  ({ contentDays }: Pick<Account, 'contentDays'>) => contentDays,
  'Days after which prompts, inputs and results are erased; null for never',
);

export const LISTED_ACCOUNT = resource<Account>(
  'ListedAccount',
  {
    id: field.id('account')('id'),
    object: field.constant('account'),
    name: field.text('name', 'A label'),
    email: field.text.orNull('email', 'Where people of the account are written to'),
    external_id: field.text.orNull('externalId', 'What another system calls the customer'),
    max_concurrent_tasks: field.integer.orNull(
      'maxConcurrentTasks',
      'Tasks that may run at once; null for the default',
    ),
    content_days: CONTENT_DAYS,
    billing_name: field.text.orNull('billingName', 'The name on receipts and invoices; null for `name`'),
    billing_address: field.text.orNull('billingAddress', 'The address there, in several lines'),
    tax_id: field.text.orNull('taxId', 'The tax number there'),
    created_at: field.unixSeconds('createdAt', 'When it was created'),
    topped_up: field.boolean(
      ({ toppedUpAt }) => toppedUpAt !== null,
      'Whether the account has ever topped up, which unlocks all models',
    ),
    suspended: field.boolean(({ suspendedAt }) => suspendedAt !== null, 'Whether none of its keys work'),
    suspended_at: field.unixSeconds.orNull('suspendedAt', 'Since when none of its keys work'),
    price_list: field.text.orNull('priceList', 'The price list by which it pays; null for the prices of the catalogue'),
    balances: field.object(BALANCES)((account) => account),
  },
  'An account without its totals.',
);

const TOTALS = nested<AccountTotals>({
  topped_up_usd: field.usd('toppedUp', 'Paid in'),
  signup_granted_usd: field.usd('signupGranted', 'Given'),
  promo_granted_usd: field.usd('promoGranted', 'Given with an expiry'),
  promo_expired_usd: field.usd('promoExpired', 'Given and not spent in time'),
  charged_usd: field.usd('charged', 'Charged'),
  refunded_usd: field.usd('refunded', 'Refunded'),
  adjusted_usd: field.usd('adjusted', 'Added by hand, net of deductions'),
});

export const ACCOUNT = resource<Account & { readonly totals: AccountTotals }>('Account', {
  ...LISTED_ACCOUNT.fields,
  totals: field.object(TOTALS)('totals'),
});

/** The content of an account that is still to be erased. */
export const CONTENT = resource<Pick<Account, 'id' | 'contentDays' | 'eraseBefore'> & ContentLeft>('AccountContent', {
  object: field.constant('content'),
  account_id: field.id('account')('id'),
  content_days: CONTENT_DAYS,
  erase_before: field.unixSeconds.orNull('eraseBefore', 'Everything from before is erased; null if nothing is'),
  tasks_left: field.integer('tasks', `Tasks that are still to be erased, counted up to ${MAX_COUNTED}`),
  uploads_left: field.integer('uploads', `Uploads that are still to be erased, counted up to ${MAX_COUNTED}`),
});

/** The limit of a key, and the amount that counts towards it. */
export const KEY_LIMIT = {
  usage_limit_usd: field.usd.orNull('usageLimit', 'The most that it may spend; null for no limit'),
  limit_period: field
    .oneOf(LIMIT_PERIODS)
    .orNull('limitPeriod', 'After which the limit renews; null for a limit of all time'),
  used_of_limit_usd: field.usd('usedOfLimit', 'What counts towards the limit: charged or held in this period'),
  renews_at: field.unixSeconds.orNull(
    ({ limitPeriod }: Pick<ApiKey, 'limitPeriod'>) => limitPeriod && renewalOf(limitPeriod, new Date()),
    'When the limit renews next; null for never',
  ),
};

/** A key; `secret` is the key itself, only in the answer that creates it. */
export const API_KEY = resource<ApiKey & { readonly secret?: string }>('ApiKey', {
  id: field.id('apiKey')('id'),
  object: field.constant('api_key'),
  account_id: field.id('account')('accountId'),
  name: field.text('name', 'A label'),
  api_key: field.text.orAbsent(({ secret }) => secret, 'The key itself; shown only at creation'),
  hint: field.text('hint', 'Enough of the key to recognise it'),
  ...KEY_LIMIT,
  used_usd: field.usd('used', 'Charged or held so far'),
  models: field.words(text()).orNull('models', 'The models it may call; null for all'),
  ip_allowlist: field.words(text()).orNull('ipAllowlist', 'Addresses and CIDR ranges that may use it; null for all'),
  rate_limit_rpm: field.integer.orNull('rateLimitRpm', 'Requests per minute; null for the default'),
  expires_at: field.unixSeconds.orNull('expiresAt', 'When it expires'),
  disabled: field.boolean(({ disabledAt }) => disabledAt !== null, 'Whether it is disabled'),
  last_used_at: field.unixSeconds.orNull('lastUsedAt', 'When money was last held for it'),
  created_at: field.unixSeconds('createdAt', 'When it was created'),
});

export const DELETED_KEY = deletionOf('apiKey', 'api_key');

export const END_USER_BUDGET = resource<KeptBudget>(
  'EndUserBudget',
  {
    id: field.id('endUserBudget')('id'),
    object: field.constant('end_user_budget'),
    account_id: field.id('account')('accountId'),
    end_user: field.text('endUser', 'The end user, as requests name them'),
    usage_limit_usd: field.usd('usageLimit', 'The most that the end user may spend in a period'),
    limit_period: field.oneOf(LIMIT_PERIODS)('limitPeriod', 'After which the budget renews'),
    used_of_limit_usd: KEY_LIMIT.used_of_limit_usd,
    renews_at: field.unixSeconds(
      ({ limitPeriod }) => renewalOf(limitPeriod, new Date()),
      'When the budget renews next',
    ),
    created_at: field.unixSeconds('createdAt', 'When it was first set'),
  },
  'What an end user of an account may spend on text.',
);

export const DELETED_BUDGET = deletionOf('endUserBudget', 'end_user_budget');

export const TRANSFER = resource<Transfer>(
  'Transfer',
  {
    created_at: field.isoTime('createdAt', 'When the money moved'),
    id: field.id('transfer')('id'),
    object: field.constant('transfer'),
    kind: field.text('kind', '`topup`, `reservation`, `settlement`, …'),
    debit: field.text('debit', 'The book that was debited'),
    credit: field.text('credit', 'The book that was credited'),
    amount_usd: field.usd(signedAmount, 'The amount; only that of a correction that took money is negative'),
    change_usd: field.usd(
      changeBy,
      'What it added to the balance, with what is held; the column adds up to the balance',
    ),
    signup_usd: field.usd('signupAmount', 'The part that is signup credit'),
    pending_id: field.id('transfer').orNull('pendingId', 'The reservation that it resolves'),
    account_id: field.id('account')('accountId'),
    api_key_id: field.id('apiKey').orNull('apiKeyId'),
    task_id: field.id('task').orNull('taskId'),
    text_request_id: field.text.orNull('textRequestId'),
    allowance_id: field.text.orNull('allowanceId', 'The text process’s allowance that it changes'),
    reference: field.text.orNull('reference', 'Of a top-up'),
    author: field.text.orNull('author', 'Of an adjustment'),
    reason: field.text.orNull('reason', 'Of an adjustment, or why an allowance was released'),
  },
  'One row of the ledger, with both legs.',
);

/** The task as its owner sees it, with its account, key and provider. */
export const LISTED_TASK = nested<Task>({
  ...TASK.fields,
  account_id: field.id('account')('accountId'),
  api_key_id: field.id('apiKey')('apiKeyId'),
  provider: field.text('provider', 'The provider that renders it'),
});

/** A task, with the details that only operators see. */
interface AdminTask extends Task {
  readonly submissions: readonly KeptSubmission[];
  readonly temporal: HistoryLinks;
  /** True only on request; the request is recorded. */
  readonly canReadPrompt?: boolean;
}

const accepted = ({ submissions }: AdminTask) => submissions.find(({ outcome }) => outcome === 'accepted');

/** The task as its owner sees it, with the details that only operators see. */
export const ADMIN_TASK = resource<AdminTask>('AdminTask', {
  ...LISTED_TASK.fields,
  provider_model: field.text.orNull(
    ({ submissions }) => submissions.at(-1)?.model ?? null,
    'The provider’s name for the model; null until it is submitted',
  ),
  provider_job_id: field.text.orNull('providerJobId', 'The provider’s id for the job'),
  cost_usd: field.usd.orNull((shown) => accepted(shown)?.cost ?? null, 'What the render cost; null if it is not known'),
  vendor_cost: field.object(VENDOR_COST).orNull((shown) => accepted(shown)?.vendorCost ?? null),
  possible_loss_usd: field.usd(
    ({ submissions }) => submissions.reduce((sum, { possibleLoss }) => sum + (possibleLoss ?? 0n), 0n),
    'The list price of submissions whose outcome was never learnt',
  ),
  reservation_id: field.id('transfer')('reservationId', 'The transfer that reserved the price'),
  resolution_id: field.id('transfer').orNull('resolutionId', 'The transfer that charged or refunded it'),
  deadline_at: field.unixSeconds('deadlineAt', 'The deadline for processing'),
  workflow_id: field.text('id', 'The id of its workflow'),
  history_url: field.url(({ id, temporal }) => historyUrl(temporal, id), 'The workflow’s history in Temporal'),
  prompt: field.text.orAbsent(
    ({ request, canReadPrompt }) => (canReadPrompt ? request.prompt : undefined),
    'Only on request, which is recorded',
  ),
});
