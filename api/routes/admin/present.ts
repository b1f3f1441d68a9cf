/** Accounts, keys, transfers and tasks as operators see them. */
import type { Account, AccountTotals } from '../../../db/queries/accounts.ts';
import type { ApiKey } from '../../../db/queries/api-keys.ts';
import type { KeptSubmission } from '../../../db/queries/submissions.ts';
import type { Transfer } from '../../../db/queries/transfers.ts';
import { nullable } from '../../../domain/json-schema.ts';
import { toUsdNumber } from '../../../domain/money.ts';
import { presentTask, type TaskObject } from '../../../domain/task-object.ts';
import type { Task } from '../../../domain/task.ts';
import { toUnixSeconds } from '../../../domain/unix-time.ts';
import { historyUrl, type HistoryLinks } from '../../history-link.ts';
import {
  arrayOf,
  boolean,
  component,
  exactly,
  fieldsOf,
  idOf,
  integer,
  isoTime,
  namedObject,
  object,
  objectOf,
  optional,
  text,
  unixSeconds,
  usd,
} from '../../openapi/json-schema.ts';
import { TASK_FIELDS } from '../tasks/present.ts';
import { presentVendorCost, VendorCostSchema } from './present-submissions.ts';

type AccountObject = ReturnType<typeof presentAccount>;
type ListedAccountObject = ReturnType<typeof presentListedAccount>;

const ACCOUNT_FIELDS = fieldsOf<ListedAccountObject>({
  id: idOf('account'),
  object: exactly('account'),
  name: text('A label'),
  email: nullable(text('Where people of the account are written to')),
  external_id: nullable(text('What another system calls the customer')),
  max_concurrent_tasks: nullable(integer('Tasks that may run at once; null for the default')),
  created_at: unixSeconds('When it was created'),
  topped_up: boolean('Whether the account has ever topped up, which unlocks all models'),
  suspended: boolean('Whether none of its keys work'),
  suspended_at: nullable(unixSeconds('Since when none of its keys work')),
  balances: objectOf<ListedAccountObject['balances']>({
    available_usd: usd('Available to spend'),
    funded_usd: usd('The part that was paid for'),
    signup_usd: usd('The part that was granted'),
    reserved_usd: usd('Held for running tasks and requests'),
  }),
});

export const ListedAccountSchema = component('ListedAccount', object(ACCOUNT_FIELDS, 'An account without its totals.'));

export const AccountSchema = component(
  'Account',
  object({
    ...ACCOUNT_FIELDS,
    ...fieldsOf<Omit<AccountObject, keyof ListedAccountObject>>({
      totals: objectOf<AccountObject['totals']>({
        topped_up_usd: usd('Paid in'),
        signup_granted_usd: usd('Given'),
        promo_granted_usd: usd('Given with an expiry'),
        promo_expired_usd: usd('Given and not spent in time'),
        charged_usd: usd('Charged'),
        refunded_usd: usd('Refunded'),
        adjusted_usd: usd('Added by hand, net of deductions'),
      }),
    }),
  }),
);

/** An account as lists show it. */
export function presentListedAccount(account: Account) {
  return {
    id: account.id,
    object: 'account',
    name: account.name,
    email: account.email,
    external_id: account.externalId,
    max_concurrent_tasks: account.maxConcurrentTasks,
    created_at: toUnixSeconds(account.createdAt),
    topped_up: account.toppedUpAt !== null,
    suspended: account.suspendedAt !== null,
    suspended_at: account.suspendedAt && toUnixSeconds(account.suspendedAt),
    balances: {
      available_usd: toUsdNumber(account.fundedAvailable + account.signupAvailable),
      funded_usd: toUsdNumber(account.fundedAvailable),
      signup_usd: toUsdNumber(account.signupAvailable),
      reserved_usd: toUsdNumber(account.fundedReserved + account.signupReserved),
    },
  };
}

export function presentAccount(account: Account, totals: AccountTotals) {
  return {
    ...presentListedAccount(account),
    totals: {
      topped_up_usd: toUsdNumber(totals.toppedUp),
      signup_granted_usd: toUsdNumber(totals.signupGranted),
      promo_granted_usd: toUsdNumber(totals.promoGranted),
      promo_expired_usd: toUsdNumber(totals.promoExpired),
      charged_usd: toUsdNumber(totals.charged),
      refunded_usd: toUsdNumber(totals.refunded),
      adjusted_usd: toUsdNumber(totals.adjusted),
    },
  };
}

export const ApiKeySchema = namedObject<ReturnType<typeof presentKey>>('ApiKey', {
  id: idOf('apiKey'),
  object: exactly('api_key'),
  account_id: idOf('account'),
  name: text('A label'),
  api_key: optional(text('The key itself; shown only at creation')),
  hint: text('Enough of the key to recognise it'),
  usage_limit_usd: nullable(usd('Total that it may spend; null for no limit')),
  used_usd: usd('Charged or held so far'),
  models: nullable(arrayOf(text(), 'The models it may call; null for all')),
  ip_allowlist: nullable(arrayOf(text(), 'Addresses and CIDR ranges that may use it; null for all')),
  rate_limit_rpm: nullable(integer('Requests per minute; null for the default')),
  expires_at: nullable(unixSeconds('When it expires')),
  disabled: boolean('Whether it is disabled'),
  created_at: unixSeconds('When it was created'),
});

export const DeletedKeySchema = object({ id: idOf('apiKey'), object: exactly('api_key'), deleted: boolean() });

/** @param secret the key itself, only in the answer that creates it */
export function presentKey(key: ApiKey, secret?: string) {
  return {
    id: key.id,
    object: 'api_key',
    account_id: key.accountId,
    name: key.name,
    ...(secret !== undefined && { api_key: secret }),
    hint: key.hint,
    usage_limit_usd: key.usageLimit === null ? null : toUsdNumber(key.usageLimit),
    used_usd: toUsdNumber(key.used),
    models: key.models,
    ip_allowlist: key.ipAllowlist,
    rate_limit_rpm: key.rateLimitRpm,
    expires_at: key.expiresAt && toUnixSeconds(key.expiresAt),
    disabled: key.disabledAt !== null,
    created_at: toUnixSeconds(key.createdAt),
  };
}

export const TransferSchema = namedObject<ReturnType<typeof presentTransfer>>(
  'Transfer',
  {
    id: idOf('transfer'),
    object: exactly('transfer'),
    created_at: isoTime('When the money moved'),
    kind: text('`topup`, `reservation`, `settlement`, …'),
    debit: text('The book that was debited'),
    credit: text('The book that was credited'),
    amount_usd: usd('The amount, above 0'),
    signup_usd: usd('The part that is signup credit'),
    released_usd: usd('The part of the reservation that a smaller settlement returned'),
    pending_id: nullable(idOf('transfer', 'The reservation that it resolves')),
    account_id: idOf('account'),
    api_key_id: nullable(idOf('apiKey')),
    task_id: nullable(idOf('task')),
    text_request_id: nullable(text()),
    reference: nullable(text('Of a top-up')),
    author: nullable(text('Of an adjustment')),
    reason: nullable(text('Of an adjustment')),
  },
  'One row of the ledger, with both legs.',
);

export function presentTransfer(transfer: Transfer) {
  return {
    id: transfer.id,
    object: 'transfer',
    created_at: transfer.createdAt.toISOString(),
    kind: transfer.kind,
    debit: transfer.debit,
    credit: transfer.credit,
    amount_usd: toUsdNumber(transfer.amount),
    signup_usd: toUsdNumber(transfer.signupAmount),
    released_usd: toUsdNumber(transfer.released),
    pending_id: transfer.pendingId,
    account_id: transfer.accountId,
    api_key_id: transfer.apiKeyId,
    task_id: transfer.taskId,
    text_request_id: transfer.textRequestId,
    reference: transfer.reference,
    author: transfer.author,
    reason: transfer.reason,
  };
}

export const AdminTaskSchema = component(
  'AdminTask',
  object({
    ...TASK_FIELDS,
    ...fieldsOf<Omit<ReturnType<typeof presentAdminTask>, keyof TaskObject>>({
      account_id: idOf('account'),
      api_key_id: idOf('apiKey'),
      provider: text('The provider that renders it'),
      provider_model: nullable(text('The provider’s name for the model; null until it is submitted')),
      provider_job_id: nullable(text('The provider’s id for the job')),
      cost_usd: nullable(usd('What the render cost; null if it is not known')),
      vendor_cost: nullable(VendorCostSchema),
      possible_loss_usd: usd('The list price of submissions whose outcome was never learnt'),
      reservation_id: idOf('transfer', 'The transfer that reserved the price'),
      resolution_id: nullable(idOf('transfer', 'The transfer that charged or refunded it')),
      deadline_at: unixSeconds('The deadline for processing'),
      workflow_id: text('The id of its workflow'),
      history_url: text('The workflow’s history in Temporal', { format: 'uri' }),
      prompt: optional(text('Only on request, which is recorded')),
    }),
  }),
);

/** The task as its owner sees it, with what only operators see. @param shows.prompt whether to include the prompt */
export function presentAdminTask(
  task: Task,
  { submissions, temporal }: { readonly submissions: readonly KeptSubmission[]; readonly temporal: HistoryLinks },
  shows: { readonly prompt?: boolean } = {},
) {
  const accepted = submissions.find(({ outcome }) => outcome === 'accepted');
  const possibleLoss = submissions.reduce((sum, { possibleLoss: loss }) => sum + (loss ?? 0n), 0n);
  return {
    ...presentTask(task),
    account_id: task.accountId,
    api_key_id: task.apiKeyId,
    provider: task.provider,
    provider_model: submissions.at(-1)?.model ?? null,
    provider_job_id: task.providerJobId,
    cost_usd: typeof accepted?.cost === 'bigint' ? toUsdNumber(accepted.cost) : null,
    vendor_cost: accepted?.vendorCost ? presentVendorCost(accepted.vendorCost) : null,
    possible_loss_usd: toUsdNumber(possibleLoss),
    reservation_id: task.reservationId,
    resolution_id: task.resolutionId,
    deadline_at: toUnixSeconds(task.deadlineAt),
    workflow_id: task.id,
    history_url: historyUrl(temporal, task.id),
    ...(shows.prompt && { prompt: task.request.prompt }),
  };
}
