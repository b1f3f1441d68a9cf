/** Claims on idempotency keys: contract 4.1. A claim must be completed in the transaction that it protects. */
import { IDEMPOTENCY } from '../../domain/policy.ts';
import { againIfLost } from '../connections.ts';
import type { Database } from '../database.ts';

/** The result of claiming a key. */
export type Claim =
  /** The key belongs to this request until the lease ends. */
  | { readonly outcome: 'claimed'; readonly claimToken: string }
  /** The same request was answered before; this is the encrypted response. */
  | { readonly outcome: 'replay'; readonly status: number; readonly sealedBody: Buffer }
  /** The same request is still being processed. */
  | { readonly outcome: 'in_progress' }
  /** The key belongs to another request. */
  | { readonly outcome: 'different_request' };

interface KeyRow {
  account_id: string;
  key: string;
  request_digest: Buffer;
  claim_token: string;
  completed_at: Date | null;
  status: number | null;
  sealed_body: Buffer | null;
}

/**
 * Claims a key. Takes over a claim whose lease has ended or an entry that has expired; otherwise says why the key
 * cannot be claimed.
 *
 * @param requestDigest SHA-256 of method, path and canonical body
 * @param leaseSeconds how long the claim lasts if its holder dies
 */
export async function claimIdempotencyKey(
  database: Database,
  {
    accountId,
    key,
    requestDigest,
    leaseSeconds,
  }: { accountId: string; key: string; requestDigest: Buffer; leaseSeconds: number },
): Promise<Claim> {
  const claimToken = crypto.randomUUID();
  const claim = { accountId, key, requestDigest, claimToken, leaseSeconds };
  if (await againIfLost(() => takeKey(database, claim))) return { outcome: 'claimed', claimToken };

  const row = await database<KeyRow>('idempotency_keys').where({ account_id: accountId, key }).first();
  // Released between the two statements because its holder failed, so the caller may simply try again.
  if (!row) return { outcome: 'in_progress' };
  if (!row.request_digest.equals(requestDigest)) return { outcome: 'different_request' };
  if (row.status === null || row.sealed_body === null) return { outcome: 'in_progress' };
  return { outcome: 'replay', status: row.status, sealedBody: row.sealed_body };
}

/** Taking the key again with the same token has no further effect. @returns whether the caller has the key */
async function takeKey(
  database: Database,
  claim: { accountId: string; key: string; requestDigest: Buffer; claimToken: string; leaseSeconds: number },
): Promise<boolean> {
  const claimed = await database.raw<{ rows: unknown[] }>(
    /* sql */ `
    INSERT INTO idempotency_keys AS held (account_id, key, request_digest, claim_token, lease_until)
    VALUES (:accountId, :key, :requestDigest, :claimToken, now() + make_interval(secs => :leaseSeconds))
    ON CONFLICT (account_id, key) DO UPDATE SET
      request_digest = EXCLUDED.request_digest, claim_token = EXCLUDED.claim_token, lease_until = EXCLUDED.lease_until,
      completed_at = NULL, expires_at = NULL, status = NULL, sealed_body = NULL
    WHERE held.expires_at <= now()
      OR (held.completed_at IS NULL AND (held.lease_until <= now() OR held.claim_token = EXCLUDED.claim_token))
    RETURNING 1`,
    claim,
  );
  return claimed.rows.length > 0;
}

/**
 * Releases a claim whose response is not stored, so that a retry runs again. A later attempt to complete it will find
 * it lost.
 *
 * @returns the response that was stored after all; null if the claim was released, or belongs to another request by now
 */
export async function releaseIdempotencyKey(
  database: Database,
  { accountId, key, claimToken }: { accountId: string; key: string; claimToken: string },
): Promise<{ readonly status: number; readonly sealedBody: Buffer } | null> {
  const claim = { account_id: accountId, key, claim_token: claimToken };
  const released = await database('idempotency_keys').where(claim).whereNull('completed_at').delete();
  if (released > 0) return null;
  const row = await database<KeyRow>('idempotency_keys').where(claim).first();
  return row?.status && row.sealed_body ? { status: row.status, sealedBody: row.sealed_body } : null;
}

/**
 * Stores the response of a claim, in the transaction that the claim protects.
 *
 * @returns false if the claim was lost: the transaction must be rolled back
 */
export async function completeIdempotencyKey(
  transaction: Database,
  {
    accountId,
    key,
    claimToken,
    status,
    sealedBody,
  }: { accountId: string; key: string; claimToken: string; status: number; sealedBody: Buffer },
): Promise<boolean> {
  const completed = await transaction('idempotency_keys')
    .where({ account_id: accountId, key, claim_token: claimToken })
    .whereNull('completed_at')
    .update({
      completed_at: transaction.fn.now(),
      expires_at: transaction.raw('now() + make_interval(hours => ?)', [IDEMPOTENCY.windowHours]),
      status,
      sealed_body: sealedBody,
    });
  return completed > 0;
}
