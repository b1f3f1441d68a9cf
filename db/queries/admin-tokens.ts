/** Admin tokens, and the log of their actions: see `db/schema/0010-operations.sql`. */
import type { AdminRole } from '../../domain/roles.ts';
import { newId } from '../../domain/ids.ts';
import { type Database, onlyRow } from '../database.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { createdIn, type Period } from '../period.ts';
import { camelCased, columnsOf, type RowOf } from '../row.ts';

export interface AdminToken {
  readonly id: string;
  /** The owner of the token, who is the author of its actions. */
  readonly name: string;
  readonly role: AdminRole;
  /** Characters of the token by which people recognise it. */
  readonly hint: string;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  /** Accurate to a minute. */
  readonly lastUsedAt: Date | null;
}

export interface NewAdminToken extends Pick<AdminToken, 'name' | 'role' | 'hint' | 'createdBy' | 'expiresAt'> {
  readonly digest: Buffer;
}

type AdminTokenRow = RowOf<AdminToken>;

export async function insertAdminToken(database: Database, token: NewAdminToken): Promise<AdminToken> {
  const rows = await database('admin_tokens')
    .insert(columnsOf({ id: newId('adminToken'), ...token }))
    .returning<AdminTokenRow[]>('*');
  return toAdminToken(onlyRow(rows));
}

/** Lists the tokens that have not been revoked, newest first; includes expired ones. */
export async function listAdminTokens(database: Database): Promise<readonly AdminToken[]> {
  const rows = await database<AdminTokenRow>('admin_tokens').whereNull('revoked_at').orderBy('id', 'desc');
  return rows.map(toAdminToken);
}

/** Finds a token by its digest, and records its use; null if there is none, or the token was revoked or has expired. */
export async function useAdminToken(database: Database, digest: Buffer): Promise<AdminToken | null> {
  const { rows } = await database.raw<{ rows: (AdminTokenRow & { is_noted: boolean })[] }>(
    /* sql */ `
    SELECT *, coalesce(last_used_at > now() - interval '1 minute', false) AS is_noted FROM admin_tokens
    WHERE digest = :digest AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
    { digest },
  );
  const [row] = rows;
  if (!row) return null;
  if (!row.is_noted) await database('admin_tokens').where({ id: row.id }).update({ last_used_at: database.fn.now() });
  return toAdminToken(row);
}

/** Revokes a token, which stops working at once in every process. @returns null if there is no such token */
export async function revokeAdminToken(database: Database, id: string): Promise<AdminToken | null> {
  const [row] = await database('admin_tokens')
    .where({ id })
    .whereNull('revoked_at')
    .update({ revoked_at: database.fn.now() })
    .returning<AdminTokenRow[]>('*');
  return row ? toAdminToken(row) : null;
}

export interface NewAdminAction {
  readonly author: string;
  /** Null for the token in the environment. */
  readonly tokenId: string | null;
  /** The id of the endpoint. */
  readonly action: string;
  /** The path of the request. */
  readonly path: string;
  readonly requestId: string;
}

export interface AdminAction extends NewAdminAction {
  readonly id: string;
  readonly createdAt: Date;
}

type AdminActionRow = RowOf<AdminAction>;

export async function recordAdminAction(database: Database, action: NewAdminAction): Promise<void> {
  await database('admin_actions').insert(columnsOf({ id: newId('adminAction'), ...action }));
}

/** Newest first. */
export async function listAdminActions(
  database: Database,
  { author, ...filter }: Period & IdPage & { readonly author?: string | undefined },
): Promise<readonly AdminAction[]> {
  const query = database<AdminActionRow>('admin_actions').where(columnsOf({ author }));
  createdIn(query, filter);
  return (await newestFirst(query, filter)).map(camelCased);
}

function toAdminToken(row: AdminTokenRow): AdminToken {
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    hint: row.hint,
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
  };
}
