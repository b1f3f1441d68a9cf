/** Admin tokens, and the log of their actions: see `db/schema/0010-operations.sql`. */
import { cutText } from '../../domain/cut-text.ts';
import type { AdminRole } from '../../domain/roles.ts';
import { newId } from '../../domain/ids.ts';
import { type Database, onlyRow } from '../database.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { createdIn, type Period } from '../period.ts';
import { camelCased, columnsOf, type OptionalFields, type RowOf } from '../row.ts';

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
  /** As sent, before any check; null if none was sent. */
  readonly reason: string | null;
  readonly requestId: string;
}

export interface AdminAction extends NewAdminAction {
  readonly id: string;
  /** The account that the path leads to; null if the path names no account nor anything of an account. */
  readonly accountId: string | null;
  readonly createdAt: Date;
}

type AdminActionRow = RowOf<AdminAction>;

const MAX_REASON_LENGTH = 1_000;

/** Where the account of a thing is, by the prefix of the thing's id. */
const ACCOUNT_OF: Readonly<Record<string, string>> = {
  acc: 'SELECT id FROM accounts WHERE id = :thing',
  key: 'SELECT account_id FROM api_keys WHERE id = :thing',
  we: 'SELECT account_id FROM webhook_endpoints WHERE id = :thing',
  del: 'SELECT account_id FROM deliveries WHERE id = :thing',
  batch: 'SELECT account_id FROM batches WHERE id = :thing',
  task: 'SELECT account_id FROM tasks WHERE id = :thing AND created_at = id_created_at(:thing)',
};
const THING = new RegExp(`/((${Object.keys(ACCOUNT_OF).join('|')})_[0-9a-z]{32})(?:/|$)`);

/** Records an action with the account of the first thing in its path. */
export async function recordAdminAction(database: Database, action: NewAdminAction): Promise<void> {
  const [, thing = '', prefix = ''] = THING.exec(action.path) ?? [];
  const accountOf = ACCOUNT_OF[prefix];
  await database('admin_actions').insert({
    ...columnsOf({ id: newId('adminAction'), ...action }),
    reason: action.reason && cutText(action.reason, MAX_REASON_LENGTH),
    account_id: accountOf === undefined ? null : database.raw(`(${accountOf})`, { thing }),
  });
}

/** Newest first. */
export async function listAdminActions(
  database: Database,
  { author, accountId, ...filter }: Period & IdPage & OptionalFields<AdminAction, 'author' | 'accountId'>,
): Promise<readonly AdminAction[]> {
  const query = database<AdminActionRow>('admin_actions').where(columnsOf({ author, accountId }));
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
