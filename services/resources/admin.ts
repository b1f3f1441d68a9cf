/** Accounts, keys, transfers and tasks as operators see them. */
import type { Account, AccountTotals } from '../../db/queries/accounts.ts';
import type { AdminAction } from '../../db/queries/admin-tokens.ts';
import { type RemainingContent, MAX_COUNTED } from '../../db/queries/content.ts';
import type { ApiKey } from '../../db/queries/api-keys.ts';
import type { StoredAccountBudget } from '../../db/queries/account-budgets.ts';
import type { AccountPlan } from '../../db/queries/plans.ts';
import type { PlanSubscriber } from '../../db/queries/plan-subscribers.ts';
import { PLAN_STATES } from '../../domain/plan-state.ts';
import type { StoredBudget } from '../../db/queries/end-user-budgets.ts';
import type { StoredSubmission } from '../../db/queries/submissions.ts';
import type { Transfer } from '../../db/queries/transfers.ts';
import { LIMIT_PERIODS, renewalOf } from '../../domain/api-key.ts';
import { BATCH } from '../../domain/batch-object.ts';
import { totalChange, signedAmount } from '../../domain/ledger.ts';
import { TASK } from '../../domain/task-object.ts';
import { FAILURE_REASONS, reasonOf, type Task } from '../../domain/task.ts';
import * as field from '../../domain/resource/field.ts';
import { deletionOf, nested, resource } from '../../domain/resource/resource.ts';
import type { BatchWithMoney } from '../batches/explain-batch.ts';
import { historyUrl, type HistoryLinks } from '../operations/history-link.ts';
import { text } from '../../domain/json-schema.ts';
import { VENDOR_COST, VENDOR_MESSAGE } from './submissions.ts';

const BALANCES = nested<Account>({
  available_usd: field.usd(
    ({ fundedAvailable, signupAvailable }) => fundedAvailable + signupAvailable,
    'The available balance',
  ),
  funded_usd: field.usd('fundedAvailable', 'The available part that was paid for'),
  signup_usd: field.usd('signupAvailable', 'The available part that was granted'),
  reserved_usd: field.usd(
    ({ fundedReserved, signupReserved }) => fundedReserved + signupReserved,
    'The amount held for running tasks and requests',
  ),
});

const CONTENT_DAYS = field.integer.orNull(
  ({ contentDays }: Pick<Account, 'contentDays'>) => contentDays,
  'The days after which prompts, inputs and results are erased. Null for never',
);

export const LISTED_ACCOUNT = resource<Account>(
  'ListedAccount',
  {
    id: field.id('account')('id'),
    object: field.constant('account'),
    name: field.text('name', 'A label for your own use'),
    email: field.text.orNull('email', 'The e-mail address of the account'),
    external_id: field.text.orNull('externalId', 'The customer’s id in another system'),
    max_concurrent_tasks: field.integer.orNull(
      'maxConcurrentTasks',
      'The maximum of running tasks. Null for the default',
    ),
    content_days: CONTENT_DAYS,
    response_minutes: field.integer.orNull(
      'responseMinutes',
      'How long responses of text models are stored, 0 for never. Null for the default',
    ),
    billing_name: field.text.orNull('billingName', 'The name on receipts and invoices. Null for `name`'),
    billing_address: field.text.orNull('billingAddress', 'The address on receipts and invoices'),
    tax_id: field.text.orNull('taxId', 'The tax number on receipts and invoices'),
    created_at: field.unixSeconds('createdAt', 'When the account was created'),
    topped_up: field.boolean(
      ({ toppedUpAt }) => toppedUpAt !== null,
      'Whether the account has ever topped up, which unlocks all models',
    ),
    suspended: field.boolean(({ suspendedAt }) => suspendedAt !== null, 'Whether the account is suspended'),
    suspended_at: field.unixSeconds.orNull('suspendedAt', 'When the account was suspended. Null if not suspended'),
    closed: field.boolean(({ closedAt }) => closedAt !== null, 'Whether the owner closed the account, for ever'),
    closed_at: field.unixSeconds.orNull('closedAt', 'When the owner closed the account. Null if not closed'),
    merged_into: field
      .id('account')
      .orNull('mergedInto', 'The account into which the account was merged. Null if not merged'),
    price_list: field.text.orNull('priceList', 'The price list of the account. Null for the prices of the catalogue'),
    balances: field.object(BALANCES)((account) => account),
  },
  'An account without its totals.',
);

const TOTALS = nested<AccountTotals>({
  topped_up_usd: field.usd('toppedUp', 'The total paid in'),
  signup_granted_usd: field.usd('signupGranted', 'The total of signup credit'),
  promo_granted_usd: field.usd('promoGranted', 'The total of promo credit'),
  promo_expired_usd: field.usd('promoExpired', 'The total of promo credit that expired'),
  gifted_usd: field.usd('gifted', 'The total of gift codes with funds'),
  charged_usd: field.usd('charged', 'The total charged'),
  refunded_usd: field.usd('refunded', 'The total refunded'),
  adjusted_usd: field.usd('adjusted', 'The total of manual adjustments, net of deductions'),
  merged_usd: field.usd('merged', 'The total of money from merged accounts, net of money moved to another account'),
});

export const ACCOUNT = resource<Account & { readonly totals: AccountTotals }>('Account', {
  ...LISTED_ACCOUNT.fields,
  totals: field.object(TOTALS)('totals'),
});

/** The content of an account that is still to be erased. */
export const CONTENT = resource<Pick<Account, 'id' | 'contentDays' | 'eraseBefore'> & RemainingContent>(
  'AccountContent',
  {
    object: field.constant('content'),
    account_id: field.id('account')('id'),
    content_days: CONTENT_DAYS,
    erase_before: field.unixSeconds.orNull('eraseBefore', 'Content from before this time is erased. Null if none is'),
    tasks_left: field.integer('tasks', `The number of tasks still to be erased, counted up to ${MAX_COUNTED}`),
    uploads_left: field.integer('uploads', `The number of uploads still to be erased, counted up to ${MAX_COUNTED}`),
  },
);

/** The limit of a key, and the amount that counts towards it. */
export const KEY_LIMIT = {
  usage_limit_usd: field.usd.orNull('usageLimit', 'The maximum that the key may spend. Null for no limit'),
  limit_period: field
    .oneOf(LIMIT_PERIODS)
    .orNull('limitPeriod', 'The period after which the limit renews. Null for a limit of all time'),
  used_of_limit_usd: field.usd('usedOfLimit', 'The amount charged or held in this period'),
  renews_at: field.unixSeconds.orNull(
    ({ limitPeriod }: Pick<ApiKey, 'limitPeriod'>) => limitPeriod && renewalOf(limitPeriod, new Date()),
    'When the limit renews next. Null for never',
  ),
};

/** A key; `secret` is the key itself, only in the answer that creates it. */
export const API_KEY = resource<ApiKey & { readonly secret?: string }>('ApiKey', {
  id: field.id('apiKey')('id'),
  object: field.constant('api_key'),
  account_id: field.id('account')('accountId'),
  name: field.text('name', 'A label for your own use'),
  api_key: field.text.orAbsent(({ secret }) => secret, 'The key itself. Present only in the answer that creates it'),
  hint: field.text('hint', 'A part of the key, to recognise the key'),
  ...KEY_LIMIT,
  used_usd: field.usd('used', 'The amount charged or held so far'),
  models: field.texts(text()).orNull('models', 'The models that the key may call. Null for all'),
  ip_allowlist: field
    .texts(text())
    .orNull('ipAllowlist', 'The addresses and CIDR ranges that may use the key. Null for all'),
  rate_limit_rpm: field.integer.orNull('rateLimitRpm', 'The maximum of requests per minute. Null for the default'),
  expires_at: field.unixSeconds.orNull('expiresAt', 'When the key expires. Null for never'),
  disabled: field.boolean(({ disabledAt }) => disabledAt !== null, 'Whether the key is disabled'),
  last_used_at: field.unixSeconds.orNull('lastUsedAt', 'When money was last held for the key. Null for never'),
  created_at: field.unixSeconds('createdAt', 'When the key was created'),
});

export const DELETED_KEY = deletionOf('apiKey', 'api_key');

export const ACCOUNT_PLAN = resource<AccountPlan>(
  'AccountPlan',
  {
    object: field.constant('account_plan'),
    account_id: field.id('account')('accountId'),
    plan: field.text.orNull(({ period }) => period?.plan ?? null, 'The plan whose terms apply. Null for none'),
    included_usd: field.usd.orNull(({ period }) => period?.included ?? null, 'The promo credit of the paid period'),
    credit_left_usd: field.usd.orNull(
      ({ credit }) => credit?.available ?? null,
      'What is left of it to spend. Null if none was granted',
    ),
    models: field
      .texts(text())
      .orNull(
        ({ period }) => period?.models ?? null,
        'The models that keys may call: ids, or their beginnings with a final `*`. Null for all',
      ),
    rate_limit_rpm: field.integer.orNull(
      ({ period }) => period?.rateLimitRpm ?? null,
      'The maximum of requests per minute of a key. Null for the default',
    ),
    seats: field.integer.orNull(
      ({ period }) => period?.seats ?? null,
      'The maximum of members and open invitations. Null for no limit of the plan',
    ),
    period_ends_at: field.unixSeconds.orNull(({ period }) => period?.endsAt ?? null, 'When the paid period ends'),
    limits_until: field.unixSeconds.orNull(
      ({ period }) => period?.limitsUntil ?? null,
      'Until when the terms apply if no further period is paid',
    ),
    subscription_id: field.text.orNull(
      ({ subscription }) => subscription?.id ?? null,
      'The subscription at the payment provider that has not ended. Null for none',
    ),
    subscription_status: field.text.orNull(
      ({ subscription }) => subscription?.status ?? null,
      'The status of the subscription at the payment provider, such as `active` or `past_due`',
    ),
    ends_at: field.unixSeconds.orNull(
      ({ subscription }) => subscription?.endsAt ?? null,
      'When the subscription ends. Null while it renews',
    ),
  },
  'The plan of an account.',
);

export const PLAN_SUBSCRIBER = resource<PlanSubscriber>(
  'PlanSubscriber',
  {
    object: field.constant('plan_subscriber'),
    account_id: field.id('account')('id'),
    plan: field.text.orNull('plan', 'The plan of the latest paid period. Null if none was paid'),
    state: field.oneOf(PLAN_STATES)(
      'state',
      '`active`; `ending` with the paid period; `overdue` if a payment failed; `ended`',
    ),
    subscription_id: field.text('subscriptionId', 'The latest subscription at the payment provider'),
    subscription_status: field.text('status', 'Its status at the payment provider'),
    since: field.unixSeconds('since', 'When the account first subscribed'),
    period_ends_at: field.unixSeconds.orNull('periodEndsAt', 'When the paid period ends, and the next one starts'),
    limits_until: field.unixSeconds.orNull(
      'limitsUntil',
      'Until when the terms apply if no further period is paid: the end of the grace',
    ),
    ends_at: field.unixSeconds.orNull('endsAt', 'When the subscription ends or ended. Null while it renews'),
    paid_usd: field.usd('paid', 'What the account paid for all periods, with taxes'),
    returned_usd: field.usd('returned', 'What went back to the payer of it, by refunds and disputes'),
    lost_usd: field.usd('lost', 'The included credit that was spent and that no payment covers any more: our loss'),
  },
  'An account that subscribes to a plan, or did.',
);

export const END_USER_BUDGET = resource<StoredBudget>(
  'EndUserBudget',
  {
    id: field.id('endUserBudget')('id'),
    object: field.constant('end_user_budget'),
    account_id: field.id('account')('accountId'),
    end_user: field.text('endUser', 'The end user’s name in requests'),
    usage_limit_usd: field.usd('usageLimit', 'The maximum that the end user may spend in a period'),
    limit_period: field.oneOf(LIMIT_PERIODS)('limitPeriod', 'The period after which the budget renews'),
    used_of_limit_usd: KEY_LIMIT.used_of_limit_usd,
    renews_at: field.unixSeconds(
      ({ limitPeriod }) => renewalOf(limitPeriod, new Date()),
      'When the budget renews next',
    ),
    created_at: field.unixSeconds('createdAt', 'When the budget was first set'),
  },
  'The budget of an end user for text.',
);

export const ACCOUNT_BUDGET = resource<StoredAccountBudget>(
  'AccountBudget',
  {
    id: field.id('budget')('id'),
    object: field.constant('account_budget'),
    account_id: field.id('account')('accountId'),
    models: field
      .texts(text())
      .orNull('models', 'The models whose requests count: ids, or their beginnings with a final `*`. Null for all'),
    usage_limit_usd: field.usd('usageLimit', 'The maximum that the account may spend in a period'),
    limit_period: field.oneOf(LIMIT_PERIODS)('limitPeriod', 'The period after which the budget renews'),
    used_of_limit_usd: KEY_LIMIT.used_of_limit_usd,
    is_ceiling: field.boolean('isCeiling', 'Whether the account’s owner can neither change nor delete the budget'),
    renews_at: field.unixSeconds(
      ({ limitPeriod }) => renewalOf(limitPeriod, new Date()),
      'When the budget renews next',
    ),
    created_at: field.unixSeconds('createdAt', 'When the budget was first set'),
  },
  'The budget of an account, or of a group of its models.',
);

export const DELETED_ACCOUNT_BUDGET = deletionOf('budget', 'account_budget');

export const DELETED_BUDGET = deletionOf('endUserBudget', 'end_user_budget');

export const TRANSFER = resource<Transfer>(
  'Transfer',
  {
    created_at: field.isoTime('createdAt', 'When the money moved'),
    id: field.id('transfer')('id'),
    object: field.constant('transfer'),
    kind: field.text('kind', '`topup`, `reservation`, `settlement`, …'),
    debit: field.text('debit', 'The ledger account that was debited'),
    credit: field.text('credit', 'The ledger account that was credited'),
    amount_usd: field.usd(signedAmount, 'The amount. Negative only for a deduction by a correction'),
    change_usd: field.usd(
      totalChange,
      'The change of the balance, including the amount held. The column adds up to the balance',
    ),
    signup_usd: field.usd('signupAmount', 'The part that is signup credit'),
    pending_id: field.id('transfer').orNull('pendingId', 'The reservation that the transfer resolves'),
    account_id: field.id('account')('accountId'),
    api_key_id: field.id('apiKey').orNull('apiKeyId'),
    task_id: field.id('task').orNull('taskId'),
    text_request_id: field.text.orNull('textRequestId'),
    allowance_id: field.text.orNull('allowanceId', 'The allowance of a text process that the transfer changes'),
    reference: field.text.orNull('reference', 'The reference of a top-up'),
    author: field.text.orNull('author', 'The author of an adjustment'),
    reason: field.text.orNull('reason', 'The reason of an adjustment, or why an allowance was released'),
  },
  'One row of the ledger, with both legs.',
);

/** The task as its owner sees it, with its account, key and provider. */
export const LISTED_TASK = nested<Task>({
  ...TASK.fields,
  account_id: field.id('account')('accountId'),
  api_key_id: field.id('apiKey')('apiKeyId'),
  provider: field.text('provider', 'The provider that renders the task'),
  failure_reason: field
    .oneOf(FAILURE_REASONS)
    .orNull(
      ({ failure }) => failure && reasonOf(failure),
      'The error code, or who cancelled the task. Null unless failed',
    ),
});

/** A task, with the details that only operators see. */
interface AdminTask extends Task {
  readonly submissions: readonly StoredSubmission[];
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
    'The provider’s name for the model. Null until the task is submitted',
  ),
  provider_job_id: field.text.orNull('providerJobId', 'The provider’s id for the job'),
  vendor_message: field.text.orNull(({ submissions }) => submissions.at(-1)?.detail ?? null, VENDOR_MESSAGE),
  cost_usd: field.usd.orNull((shown) => accepted(shown)?.cost ?? null, 'The cost of the render. Null if unknown'),
  vendor_cost: field.object(VENDOR_COST).orNull((shown) => accepted(shown)?.vendorCost ?? null),
  possible_loss_usd: field.usd(
    ({ submissions }) => submissions.reduce((sum, { possibleLoss }) => sum + (possibleLoss ?? 0n), 0n),
    'The list price of submissions whose outcome is unknown',
  ),
  reservation_id: field.id('transfer')('reservationId', 'The transfer that reserved the price'),
  resolution_id: field.id('transfer').orNull('resolutionId', 'The charge or refund. Null until the task is final'),
  deadline_at: field.unixSeconds('deadlineAt', 'The deadline for processing'),
  workflow_id: field.text('id', 'The id of the task’s workflow'),
  history_url: field.url(({ id, temporal }) => historyUrl(temporal, id), 'The workflow’s history in Temporal'),
  prompt: field.text.orAbsent(
    ({ request, canReadPrompt }) => (canReadPrompt ? request.prompt : undefined),
    'The prompt. Absent unless `prompts` is true',
  ),
});

interface AdminBatch extends BatchWithMoney {
  readonly temporal: HistoryLinks;
}

/** The batch as its owner sees it, without its metadata, with its money and a link to its history. */
const { metadata: _, ...SHOWN } = BATCH.fields;
export const ADMIN_BATCH = resource<AdminBatch>('AdminBatch', {
  ...SHOWN,
  account_id: field.id('account')('accountId'),
  api_key_id: field.id('apiKey')('apiKeyId'),
  charged_usd: field.usd('charged', 'The charges of its requests so far'),
  held_usd: field.usd('held', 'The amount held for all text requests of its key. 0 once the batch is final'),
  operator_paused_at: field.unixSeconds.orNull(
    'operatorPausedAt',
    'When an operator paused the batch. Null while none does',
  ),
  workflow_id: field.text('id', 'The id of the batch’s workflow'),
  history_url: field.url(({ id, temporal }) => historyUrl(temporal, id), 'The workflow’s history in Temporal'),
});

/** An action of an operator. */
export const ADMIN_ACTION = resource<AdminAction>('AdminAction', {
  id: field.id('adminAction')('id'),
  object: field.constant('admin_action'),
  author: field.text('author', 'The author of the action'),
  admin_token_id: field.id('adminToken').orNull('tokenId', 'The token of the call. Null for `GENWAY_ADMIN_TOKEN`'),
  action: field.text('action', 'The `operationId` of the call, or `console` and the page'),
  path: field.text('path', 'The path of the call'),
  account_id: field
    .id('account')
    .orNull(
      'accountId',
      'The account in the path, or the owner of the first key, endpoint, delivery, task or batch there',
    ),
  reason: field.text.orNull('reason', 'The reason in the call'),
  request_id: field.id('request')('requestId'),
  created_at: field.isoTime('createdAt', 'When the action was recorded, before its execution'),
});
