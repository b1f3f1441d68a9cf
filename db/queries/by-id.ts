/** Rows by their ids alone, of any account and deleted ones too: for operators who look something up. */
import { createdAtMsOf, firstIdAt } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { type Database, picoUsd } from '../database.ts';

/** The fields that all of them have. */
interface Owned {
  readonly id: string;
  readonly accountId: string;
  readonly createdAt: Date;
}

export interface FoundKey extends Owned {
  readonly name: string;
  readonly hint: string;
  readonly used: PicoUsd;
  readonly usageLimit: PicoUsd | null;
  readonly expiresAt: Date | null;
  readonly disabledAt: Date | null;
  readonly deletedAt: Date | null;
}

export interface FoundEndpoint extends Owned {
  readonly url: string;
  readonly failingSince: Date | null;
  readonly disabledAt: Date | null;
  readonly disabledReason: string | null;
  readonly deletedAt: Date | null;
}

export interface FoundEvent extends Owned {
  readonly type: string;
  /** Null for what is about no task. */
  readonly taskId: string | null;
}

export interface FoundUpload extends Owned {
  readonly filename: string | null;
  readonly mimeType: string;
  readonly bytes: number;
  readonly storedAt: Date | null;
  readonly usedAt: Date | null;
  readonly deletedAt: Date | null;
}

/** An operator's action on a task or an account. */
export interface FoundAction {
  readonly id: string;
  readonly createdAt: Date;
  readonly accountId: string | null;
  readonly taskId: string | null;
  readonly kind: string;
  readonly author: string;
  readonly reason: string;
}

export async function findKeyById(database: Database, id: string): Promise<FoundKey | null> {
  const row = await first<Omit<FoundKey, 'used' | 'usageLimit'> & { used: string; usageLimit: string | null }>(
    database,
    /* sql */ `
    SELECT id, account_id AS "accountId", created_at AS "createdAt", name, hint, used, usage_limit AS "usageLimit",
      expires_at AS "expiresAt", disabled_at AS "disabledAt", deleted_at AS "deletedAt"
    FROM api_keys WHERE id = ?`,
    id,
  );
  return (
    row && { ...row, used: picoUsd(row.used), usageLimit: row.usageLimit === null ? null : picoUsd(row.usageLimit) }
  );
}

export function findEndpointById(database: Database, id: string): Promise<FoundEndpoint | null> {
  return first(
    database,
    /* sql */ `
    SELECT id, account_id AS "accountId", created_at AS "createdAt", url, failing_since AS "failingSince",
      disabled_at AS "disabledAt", disabled_reason AS "disabledReason", deleted_at AS "deletedAt"
    FROM webhook_endpoints WHERE id = ?`,
    id,
  );
}

export function findEventById(database: Database, id: string): Promise<FoundEvent | null> {
  return first(
    database,
    `SELECT id, account_id AS "accountId", created_at AS "createdAt", type, task_id AS "taskId" FROM events WHERE id = ?`,
    id,
  );
}

export async function findUploadById(database: Database, id: string): Promise<FoundUpload | null> {
  const row = await first<Omit<FoundUpload, 'bytes'> & { bytes: string }>(
    database,
    /* sql */ `
    SELECT id, account_id AS "accountId", created_at AS "createdAt", filename, mime_type AS "mimeType", bytes,
      stored_at AS "storedAt", used_at AS "usedAt", deleted_at AS "deletedAt"
    FROM uploads WHERE id = ?`,
    id,
  );
  return row && { ...row, bytes: Number(row.bytes) };
}

export function findActionById(database: Database, id: string): Promise<FoundAction | null> {
  return first(
    database,
    /* sql */ `
    SELECT id, created_at AS "createdAt", account_id AS "accountId", task_id AS "taskId", kind, author, reason
    FROM operator_actions WHERE id = ?`,
    id,
  );
}

/** The row of a task or text request exists within so long after its request was admitted. */
const LEFT_WITHIN_MS = 10 * 60_000;
/** Two processes may read their clocks so differently. */
const CLOCKS_APART_MS = 60_000;

/**
 * What a request left behind. Requests have no rows of their own, and no index: the time in the id says where to look.
 *
 * @param requestId `req_…`
 * @returns the id of its task or text request; null when it left none, because it was refused or only read
 */
export async function findLeftByRequest(database: Database, requestId: string): Promise<string | null> {
  const atMs = createdAtMsOf('request', requestId);
  const [from, to] = [atMs - CLOCKS_APART_MS, atMs + LEFT_WITHIN_MS];
  const { rows } = await database.raw<{ rows: { id: string }[] }>(
    /* sql */ `
    SELECT id FROM tasks WHERE request_id = :requestId AND id >= :firstTask AND id < :lastTask
      AND created_at >= :from AND created_at < :to
    UNION ALL
    SELECT id FROM text_requests WHERE request_id = :requestId AND id >= :firstText AND id < :lastText
      AND created_at >= :from AND created_at < :to`,
    {
      requestId,
      firstTask: firstIdAt('task', from),
      lastTask: firstIdAt('task', to),
      firstText: firstIdAt('textRequest', from),
      lastText: firstIdAt('textRequest', to),
      from: new Date(from),
      to: new Date(to),
    },
  );
  return rows[0]?.id ?? null;
}

async function first<Row>(database: Database, sql: string, id: string): Promise<Row | null> {
  const { rows } = await database.raw<{ rows: Row[] }>(sql, [id]);
  return rows[0] ?? null;
}
