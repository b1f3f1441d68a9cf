/** How operators see accounts, keys, transfers and tasks. */
import type { Account, AccountTotals } from '../../../db/queries/accounts.ts';
import type { ApiKey } from '../../../db/queries/api-keys.ts';
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
  object,
  optional,
  text,
  unixSeconds,
  usd,
} from '../../openapi/json-schema.ts';
import { TASK_FIELDS } from '../tasks/present.ts';

type AccountObject = ReturnType<typeof presentAccount>;

export const AccountSchema = component(
  'Account',
  object(
    fieldsOf<AccountObject>({
      id: idOf('account'),
      object: exactly('account'),
      name: text('For people'),
      created_at: unixSeconds('When it was created'),
      topped_up: boolean('Whether it ever topped up, which unlocks all models'),
      balances: object(
        fieldsOf<AccountObject['balances']>({
          available_usd: usd('What can be spent'),
          funded_usd: usd('The part of it that was paid for'),
          signup_usd: usd('The part of it that was given'),
          reserved_usd: usd('Held for what is under way'),
        }),
      ),
      totals: object(
        fieldsOf<AccountObject['totals']>({
          topped_up_usd: usd('Paid in'),
          signup_granted_usd: usd('Given'),
          charged_usd: usd('Charged'),
          refunded_usd: usd('Refunded'),
          adjusted_usd: usd('Added by hand, less what was taken'),
        }),
      ),
    }),
  ),
);

export function presentAccount(account: Account, totals: AccountTotals) {
  const available = account.fundedAvailable + account.signupAvailable;
  const reserved = account.fundedReserved + account.signupReserved;
  return {
    id: account.id,
    object: 'account',
    name: account.name,
    created_at: toUnixSeconds(account.createdAt),
    topped_up: account.toppedUpAt !== null,
    balances: {
      available_usd: toUsdNumber(available),
      funded_usd: toUsdNumber(account.fundedAvailable),
      signup_usd: toUsdNumber(account.signupAvailable),
      reserved_usd: toUsdNumber(reserved),
    },
    totals: {
      topped_up_usd: toUsdNumber(totals.toppedUp),
      signup_granted_usd: toUsdNumber(totals.signupGranted),
      charged_usd: toUsdNumber(totals.charged),
      refunded_usd: toUsdNumber(totals.refunded),
      adjusted_usd: toUsdNumber(totals.adjusted),
    },
  };
}

export const ApiKeySchema = component(
  'ApiKey',
  object(
    fieldsOf<ReturnType<typeof presentKey>>({
      id: idOf('apiKey'),
      object: exactly('api_key'),
      account_id: idOf('account'),
      name: text('For people'),
      api_key: optional(text('The key itself; shown only when it was just made')),
      hint: text('Enough of the key to recognise it'),
      usage_limit_usd: nullable(usd('What it may spend in all; null for no limit')),
      used_usd: usd('What it was charged and holds'),
      models: nullable(arrayOf(text(), 'The models it may call; null for all')),
      ip_allowlist: nullable(arrayOf(text(), 'Addresses and ranges it may be used from; null for all')),
      rate_limit_rpm: nullable(integer('Requests a minute; null for the default')),
      expires_at: nullable(unixSeconds('When it stops working')),
      disabled: boolean('Whether it is refused for now'),
      created_at: unixSeconds('When it was created'),
    }),
  ),
);

export const DeletedKeySchema = object({ id: idOf('apiKey'), object: exactly('api_key'), deleted: boolean() });

/** @param secret the key itself, only in the answer to its creation */
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

export const TransferSchema = component(
  'Transfer',
  object(
    fieldsOf<ReturnType<typeof presentTransfer>>({
      id: idOf('transfer'),
      object: exactly('transfer'),
      created_at: isoTime('When the money moved'),
      kind: text('`topup`, `reservation`, `settlement`, …'),
      debit: text('The book that it left'),
      credit: text('The book that it entered'),
      amount_usd: usd('The amount, above 0'),
      signup_usd: usd('The part of it that is signup credit'),
      released_usd: usd('Given back of the reservation, in a settlement of less'),
      pending_id: nullable(idOf('transfer', 'The reservation that this resolves')),
      account_id: idOf('account'),
      api_key_id: nullable(idOf('apiKey')),
      task_id: nullable(idOf('task')),
      text_request_id: nullable(text()),
      reference: nullable(text('Of a top-up')),
      author: nullable(text('Of an adjustment')),
      reason: nullable(text('Of an adjustment')),
    }),
    'One row of the ledger, with both of its legs.',
  ),
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
      provider: text('Who renders it'),
      provider_job_id: nullable(text('What the provider calls it')),
      reservation_id: idOf('transfer', 'The transfer that holds the price'),
      resolution_id: nullable(idOf('transfer', 'The transfer that charged or refunded it')),
      deadline_at: unixSeconds('When it is given up'),
      workflow_id: text('Its workflow'),
      history_url: text('The history of the workflow', { format: 'uri' }),
    }),
  }),
);

/** The task as its owner sees it, and what only operators see. */
export function presentAdminTask(task: Task, temporal: HistoryLinks) {
  return {
    ...presentTask(task),
    account_id: task.accountId,
    api_key_id: task.apiKeyId,
    provider: task.provider,
    provider_job_id: task.providerJobId,
    reservation_id: task.reservationId,
    resolution_id: task.resolutionId,
    deadline_at: toUnixSeconds(task.deadlineAt),
    workflow_id: task.id,
    history_url: historyUrl(temporal, task.id),
  };
}
