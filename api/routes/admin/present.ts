/** What operators see. */
import type { Account, AccountTotals } from '../../../db/queries/accounts.ts';
import type { ApiKey } from '../../../db/queries/api-keys.ts';
import type { Transfer } from '../../../db/queries/transfers.ts';
import { toUsdNumber } from '../../../domain/money.ts';
import { presentTask } from '../../../domain/task-object.ts';
import type { Task } from '../../../domain/task.ts';
import {
  arrayOf,
  boolean,
  component,
  exactly,
  fieldsOf,
  idOf,
  integer,
  nullable,
  object,
  optional,
  text,
  unixSeconds,
  usd,
} from '../../openapi/json-schema.ts';

export function presentAccount(account: Account, totals: AccountTotals) {
  const available = account.fundedAvailable + account.signupAvailable;
  const reserved = account.fundedReserved + account.signupReserved;
  return {
    id: account.id,
    object: 'account',
    name: account.name,
    created_at: secondsOf(account.createdAt),
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
    expires_at: key.expiresAt && secondsOf(key.expiresAt),
    disabled: key.disabledAt !== null,
    created_at: secondsOf(key.createdAt),
  };
}

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

/** The task as its owner sees it, and what only operators see. */
export function presentAdminTask(task: Task, temporal: { uiUrl: string; namespace: string }) {
  return {
    ...presentTask(task),
    account_id: task.accountId,
    api_key_id: task.apiKeyId,
    provider: task.provider,
    provider_job_id: task.providerJobId,
    reservation_id: task.reservationId,
    resolution_id: task.resolutionId,
    deadline_at: secondsOf(task.deadlineAt),
    workflow_id: task.id,
    history_url: `${temporal.uiUrl}/namespaces/${encodeURIComponent(temporal.namespace)}/workflows/${task.id}`,
  };
}

function secondsOf(moment: Date): number {
  return Math.floor(moment.getTime() / 1000);
}
