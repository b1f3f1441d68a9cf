import { isId } from '../../domain/ids.ts';
import type { SubscribableEvent } from '../../domain/webhook-event.ts';
import { type Database, onlyRow } from '../database.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { columnsOf, type OptionalFields, type RowOf } from '../row.ts';

/** A receiver of an account's events. It omits the secret, which is shown only once. */
export interface WebhookEndpoint {
  readonly id: string;
  readonly accountId: string;
  readonly url: string;
  readonly description: string | null;
  readonly events: readonly SubscribableEvent[];
  readonly disabledAt: Date | null;
  /** Why the endpoint is disabled; null while enabled. */
  readonly disabledReason: string | null;
  /** The time of the first failed attempt since the last success, or since the endpoint got its URL. */
  readonly failingSince: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

type EndpointRow = RowOf<WebhookEndpoint> & {
  readonly timeouts: number;
  readonly paused_until: Date | null;
  readonly deleted_at: Date | null;
};

export interface NewWebhookEndpoint extends Pick<
  WebhookEndpoint,
  'id' | 'accountId' | 'url' | 'description' | 'events' | 'createdAt'
> {
  readonly encryptedSecret: Buffer;
}

/** The fields that an owner may change. Absent fields stay unchanged. A URL clears past failures. */
export interface WebhookEndpointChanges extends OptionalFields<WebhookEndpoint, 'url' | 'description' | 'events'> {
  /** True also clears past failures. */
  readonly enabled?: boolean | undefined;
}

/**
 * Inserts an endpoint. Locks the account's endpoints until the transaction ends, so that concurrent requests cannot
 * exceed the limit.
 *
 * @returns null if the account already has `maxEndpoints`
 */
export async function insertWebhookEndpoint(
  transaction: Database,
  endpoint: NewWebhookEndpoint,
  maxEndpoints: number,
): Promise<WebhookEndpoint | null> {
  const { accountId } = endpoint;
  await transaction.raw(`SELECT pg_advisory_xact_lock(hashtextextended('webhook_endpoints ' || :accountId, 0))`, {
    accountId,
  });
  const existing = await endpointsOf(transaction, endpoint.accountId).limit(maxEndpoints).select('id');
  if (existing.length >= maxEndpoints) return null;
  const rows = await transaction('webhook_endpoints')
    .insert(columnsOf({ ...endpoint, updatedAt: endpoint.createdAt }))
    .returning<EndpointRow[]>('*');
  return toEndpoint(onlyRow(rows));
}

/** Finds an endpoint of the account by its id; null also if it was deleted or belongs to another account. */
export async function findWebhookEndpoint(
  database: Database,
  accountId: string,
  endpointId: string,
): Promise<WebhookEndpoint | null> {
  const row = await endpointById(database, accountId, endpointId)?.first();
  return row ? toEndpoint(row) : null;
}

/** The account's endpoints, newest first. @param before the id of the last endpoint on the previous page */
export async function listWebhookEndpoints(
  database: Database,
  { accountId, ...page }: IdPage & { readonly accountId: string },
): Promise<readonly WebhookEndpoint[]> {
  return (await newestFirst(endpointsOf(database, accountId), page)).map(toEndpoint);
}

export interface EndpointFilter extends IdPage {
  readonly accountId?: string | undefined;
  /** The endpoints whose last attempt failed, including endpoints that were disabled for it. */
  readonly failing?: boolean | undefined;
}

/** Lists the endpoints of all accounts, newest first, for operators. */
export async function listAllWebhookEndpoints(
  database: Database,
  { accountId, failing, ...page }: EndpointFilter,
): Promise<readonly WebhookEndpoint[]> {
  const query = database<EndpointRow>('webhook_endpoints').where(columnsOf({ accountId })).whereNull('deleted_at');
  if (failing !== undefined) void (failing ? query.whereNotNull('failing_since') : query.whereNull('failing_since'));
  return (await newestFirst(query, page)).map(toEndpoint);
}

/** Finds an endpoint of any account by its id, for operators; null also if it was deleted. */
export async function findAnyWebhookEndpoint(database: Database, endpointId: string): Promise<WebhookEndpoint | null> {
  const row = await database<EndpointRow>('webhook_endpoints')
    .where({ id: endpointId })
    .whereNull('deleted_at')
    .first();
  return row ? toEndpoint(row) : null;
}

/** The columns of an endpoint without a failed attempt since the last success. */
const NO_FAILURES = { failing_since: null, timeouts: 0, paused_until: null };

/** Changes the given fields. @returns null if the account has no such endpoint */
export async function updateWebhookEndpoint(
  database: Database,
  accountId: string,
  endpointId: string,
  { url, description, events, enabled }: WebhookEndpointChanges,
): Promise<WebhookEndpoint | null> {
  const now = database.fn.now();
  const [row] =
    (await endpointById(database, accountId, endpointId)
      ?.update({
        // Clears past failures, because the new URL may answer.
        ...(url !== undefined && { url, ...NO_FAILURES }),
        ...(description !== undefined && { description }),
        ...(events !== undefined && { events: [...events] }),
        ...(enabled === true && { disabled_at: null, disabled_reason: null, ...NO_FAILURES }),
        // An endpoint that is already disabled keeps its time and reason.
        ...(enabled === false && {
          disabled_at: database.raw('coalesce(disabled_at, now())'),
          disabled_reason: database.raw(`coalesce(disabled_reason, 'disabled by its owner')`),
        }),
        updated_at: now,
      })
      .returning('*')) ?? [];
  return row ? toEndpoint(row) : null;
}

/**
 * Replaces the secret. Deliveries are also signed with the old secret for `overlapSeconds`.
 *
 * @returns null if the account has no such endpoint
 */
export async function replaceWebhookSecret(
  database: Database,
  {
    accountId,
    endpointId,
    encryptedSecret,
    overlapSeconds,
  }: { accountId: string; endpointId: string; encryptedSecret: Buffer; overlapSeconds: number },
): Promise<WebhookEndpoint | null> {
  if (!isId('webhookEndpoint', endpointId)) return null;
  const { rows } = await database.raw<{ rows: EndpointRow[] }>(
    /* sql */ `
    UPDATE webhook_endpoints SET previous_encrypted_secret = encrypted_secret, encrypted_secret = :encryptedSecret,
      previous_secret_until = now() + make_interval(secs => :overlapSeconds), updated_at = now()
    WHERE id = :endpointId AND account_id = :accountId AND deleted_at IS NULL
    RETURNING *`,
    { accountId, endpointId, encryptedSecret, overlapSeconds },
  );
  return rows[0] ? toEndpoint(rows[0]) : null;
}

/** Deletes an endpoint, which gets no more deliveries. @returns false if the account has no such endpoint */
export async function deleteWebhookEndpoint(
  database: Database,
  accountId: string,
  endpointId: string,
): Promise<boolean> {
  const deleted = await endpointById(database, accountId, endpointId)?.update({ deleted_at: database.fn.now() });
  return deleted === 1;
}

function endpointsOf(database: Database, accountId: string) {
  return database<EndpointRow>('webhook_endpoints').where({ account_id: accountId }).whereNull('deleted_at');
}

function endpointById(database: Database, accountId: string, endpointId: string) {
  return isId('webhookEndpoint', endpointId) ? endpointsOf(database, accountId).where({ id: endpointId }) : null;
}

function toEndpoint(row: EndpointRow): WebhookEndpoint {
  return {
    id: row.id,
    accountId: row.account_id,
    url: row.url,
    description: row.description,
    events: row.events,
    disabledAt: row.disabled_at,
    disabledReason: row.disabled_reason,
    failingSince: row.failing_since,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
