/** Claims of idempotency keys: contract 4.1. A claim must be completed in the transaction that it protects. */
import { IDEMPOTENCY } from '../../domain/policy.ts';
import { retryOnLostConnection } from '../connections.ts';
import type { Database } from '../database.ts';
import { IS_TEXT, isDue, isDueTask } from './content.ts';

/** The result of claiming a key. */
export type Claim =
  /** The key belongs to this request until the lease ends. */
  | { readonly outcome: 'claimed'; readonly claimToken: string }
  /** The same request was answered before, with this encrypted response. */
  | ({ readonly outcome: 'replay' } & StoredResponse)
  /** The same request created a task, whose content is erased. */
  | { readonly outcome: 'erased'; readonly status: number; readonly taskId: string }
  /** The same request is still being processed. */
  | { readonly outcome: 'in_progress' }
  /** The key belongs to another request. */
  | { readonly outcome: 'different_request' };

/** A key of an account, and the token of the request that claims it. */
interface ClaimedKey {
  readonly accountId: string;
  readonly key: string;
  readonly claimToken: string;
}

/** A claim to make. */
interface NewClaim extends Pick<ClaimedKey, 'accountId' | 'key'> {
  /** SHA-256 of method, path and canonical body. */
  readonly requestDigest: Buffer;
  /** How long the claim lasts if its holder dies. */
  readonly leaseSeconds: number;
}

/** A stored, encrypted response. */
interface StoredResponse {
  readonly status: number;
  readonly encryptedBody: Buffer;
}

interface KeyRow {
  account_id: string;
  key: string;
  request_digest: Buffer;
  claim_token: string;
  completed_at: Date | null;
  status: number | null;
  encrypted_body: Buffer | null;
  task_id: string | null;
}

/**
 * Claims a key. Replaces a claim whose lease has ended, or an entry that has expired; otherwise returns why the key
 * cannot be claimed.
 */
export async function claimIdempotencyKey(database: Database, claim: NewClaim): Promise<Claim> {
  const { accountId, key, requestDigest } = claim;
  const claimToken = crypto.randomUUID();
  if (await retryOnLostConnection(() => takeKey(database, { ...claim, claimToken })))
    return { outcome: 'claimed', claimToken };

  const { rows } = await database.raw<{ rows: (KeyRow & { readonly is_erased: boolean })[] }>(
    /* sql */ `
    SELECT held.*, encrypted_body IS NULL OR ${isDueTask('task_id')} OR (${IS_TEXT} AND ${isDue('completed_at')}) AS is_erased
    FROM idempotency_keys AS held JOIN accounts AS owner ON owner.id = account_id
    WHERE account_id = :accountId AND key = :key`,
    { accountId, key },
  );
  const [row] = rows;
  // The holder failed and released the key between the two statements. The caller can retry.
  if (!row) return { outcome: 'in_progress' };
  if (!row.request_digest.equals(requestDigest)) return { outcome: 'different_request' };
  if (row.status === null) return { outcome: 'in_progress' };
  if (row.is_erased && row.task_id !== null) return { outcome: 'erased', status: row.status, taskId: row.task_id };
  // The sweep deletes the row of an erased answer in text.
  if (row.is_erased || row.encrypted_body === null) return { outcome: 'in_progress' };
  return { outcome: 'replay', status: row.status, encryptedBody: row.encrypted_body };
}

/** Repeating the call with the same token has no further effect. @returns whether the caller has the key */
async function takeKey(database: Database, claim: NewClaim & ClaimedKey): Promise<boolean> {
  const claimed = await database.raw<{ rows: unknown[] }>(
    /* sql */ `
    INSERT INTO idempotency_keys AS held (account_id, key, request_digest, claim_token, lease_until)
    VALUES (:accountId, :key, :requestDigest, :claimToken, now() + make_interval(secs => :leaseSeconds))
    ON CONFLICT (account_id, key) DO UPDATE SET
      request_digest = EXCLUDED.request_digest, claim_token = EXCLUDED.claim_token, lease_until = EXCLUDED.lease_until,
      completed_at = NULL, expires_at = NULL, status = NULL, encrypted_body = NULL, task_id = NULL
    WHERE held.expires_at <= now()
      OR (held.completed_at IS NULL AND (held.lease_until <= now() OR held.claim_token = EXCLUDED.claim_token))
    RETURNING 1`,
    { ...claim },
  );
  return claimed.rows.length > 0;
}

/**
 * Releases a claim without a stored response, so that a retry runs again. A later attempt to complete the claim fails.
 *
 * @returns the response if it was stored after all; null if the claim was released or now belongs to another request
 */
export async function releaseIdempotencyKey(
  database: Database,
  { accountId, key, claimToken }: ClaimedKey,
): Promise<StoredResponse | null> {
  const claim = { account_id: accountId, key, claim_token: claimToken };
  const released = await database('idempotency_keys').where(claim).whereNull('completed_at').delete();
  if (released > 0) return null;
  const row = await database<KeyRow>('idempotency_keys').where(claim).first();
  return row?.status && row.encrypted_body ? { status: row.status, encryptedBody: row.encrypted_body } : null;
}

/** Releases keys whose stored responses are these tasks, so that a retry runs again. */
export async function releaseKeysOfTasks(
  database: Database,
  { accountId, keys, taskIds }: { accountId: string; keys: readonly string[]; taskIds: readonly string[] },
): Promise<void> {
  await database('idempotency_keys')
    .where({ account_id: accountId })
    .whereIn('key', keys)
    .whereIn('task_id', taskIds)
    .delete();
}

/**
 * Stores the response of a claim, in the transaction that the claim protects.
 *
 * @param minutes how long the response is stored
 * @returns false if the claim was lost: the transaction must be rolled back
 */
export async function completeIdempotencyKey(
  transaction: Database,
  { accountId, key, claimToken, status, encryptedBody }: ClaimedKey & StoredResponse,
  minutes = IDEMPOTENCY.windowHours * 60,
): Promise<boolean> {
  const completed = await transaction('idempotency_keys')
    .where({ account_id: accountId, key, claim_token: claimToken })
    .whereNull('completed_at')
    .update({
      completed_at: transaction.fn.now(),
      expires_at: transaction.raw('now() + make_interval(mins => :minutes)', { minutes }),
      status,
      encrypted_body: encryptedBody,
    });
  return completed > 0;
}
