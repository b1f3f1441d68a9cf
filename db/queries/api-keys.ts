import { type KeyGroup, type KeyState, startOfPeriod } from '../../domain/api-key.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type { PlannedVersion } from '../../domain/price-list.ts';
import { type Database, onlyRow, picoUsd } from '../database.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { columnsOf, type OptionalFields, type RowOf } from '../row.ts';
import { matchesModels } from '../../domain/model-patterns.ts';
import { recallAllowances } from './allowances.ts';
import { PLANNED_VERSIONS } from './price-lists.ts';

export interface ApiKey extends KeyState, KeyGroup {
  /** The sum of all charges and current holds of the key. */
  readonly used: PicoUsd;
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  /** The last characters of the key, by which people recognise it. */
  readonly hint: string;
  /** Addresses and CIDR ranges that may use the key; null for all. */
  readonly ipAllowlist: readonly string[] | null;
  readonly rateLimitRpm: number | null;
  /** When money was last held for the key; null if it never was. */
  readonly lastUsedAt: Date | null;
  readonly createdAt: Date;
}

/** A key, with the facts about its account that a request needs. */
export interface Caller {
  /** Its models and its requests per minute are within the terms of the account's plan. */
  readonly key: ApiKey;
  readonly account: {
    readonly id: string;
    readonly toppedUpAt: Date | null;
    readonly suspendedAt: Date | null;
    /** The current and future versions of its price list, the latest first; empty for the catalogue's prices. */
    readonly prices: readonly PlannedVersion[];
    /** Grows with each change of its end users' budgets; 0 before the first change. */
    readonly budgetsVersion: number;
    /** How long responses of text models are stored, 0 for never; null for the default. */
    readonly responseMinutes: number | null;
  };
}

/** The settings of a key that an operator can change. */
export interface KeySettings extends OptionalFields<
  ApiKey,
  'name' | 'usageLimit' | 'limitPeriod' | 'models' | 'ipAllowlist' | 'rateLimitRpm' | 'expiresAt'
> {
  readonly disabled?: boolean | undefined;
}

type KeyRow = RowOf<Omit<ApiKey, 'usedOfLimit'>> & {
  readonly used_before: string;
  readonly period_since: Date | null;
};

type CallerRow = KeyRow & {
  topped_up_at: Date | null;
  suspended_at: Date | null;
  budgets_version: number;
  response_minutes: number | null;
  plan_models: string[] | null;
  plan_rpm: number | null;
  planned: readonly PlannedVersion[] | null;
};

/**
 * @param digest the HMAC-SHA-256 of the key; the key itself is never stored
 * @param pepperMark identifies the pepper of the digest
 */
export async function insertApiKey(
  database: Database,
  {
    settings,
    ...key
  }: { id: string; accountId: string; digest: Buffer; pepperMark: string; hint: string; settings: KeySettings },
): Promise<ApiKey> {
  const rows = await database('api_keys')
    .insert({ ...columnsOf(key), ...toColumns(settings) })
    .returning<KeyRow[]>('*');
  return toApiKey(onlyRow(rows));
}

const CALLER_COLUMNS = /* sql */ `api_keys.*, topped_up_at, suspended_at, budgets_version, response_minutes,
  plan.models AS plan_models, plan.rate_limit_rpm AS plan_rpm, ${PLANNED_VERSIONS} AS planned`;
const WITH_ACCOUNT = /* sql */ `JOIN accounts ON accounts.id = account_id
  LEFT JOIN LATERAL current_plan(accounts.id, now()) AS plan ON true`;

/** Finds keys by their digests, deleted ones included, with their accounts, in order; null where there is no key. */
export async function findCallers(database: Database, digests: readonly Buffer[]): Promise<readonly (Caller | null)[]> {
  const { rows } = await database.raw<{ rows: (CallerRow & { readonly digest: Buffer })[] }>(
    /* sql */ `
    SELECT ${CALLER_COLUMNS} FROM api_keys ${WITH_ACCOUNT} WHERE digest = ANY (:digests)`,
    { digests: [...digests] },
  );
  const callers = new Map(rows.map((row) => [row.digest.toString('hex'), toCaller(row)]));
  return digests.map((digest) => callers.get(digest.toString('hex')) ?? null);
}

/** Finds keys by their ids, deleted ones included, with their accounts. */
export async function findCallersOfKeys(database: Database, keyIds: readonly string[]): Promise<readonly Caller[]> {
  const { rows } = await database.raw<{ rows: CallerRow[] }>(
    /* sql */ `
    SELECT ${CALLER_COLUMNS} FROM api_keys ${WITH_ACCOUNT} WHERE api_keys.id = ANY (:keyIds)`,
    { keyIds: [...keyIds] },
  );
  return rows.map(toCaller);
}

/** Finds a key by its digest, even if it was deleted, with its account; null if it does not exist. */
export async function findCaller(database: Database, digest: Buffer): Promise<Caller | null> {
  const [caller] = await findCallers(database, [digest]);
  return caller ?? null;
}

/** Replaces the digest of a key. */
export async function replaceKeyDigest(
  database: Database,
  { from, to, pepperMark }: { readonly from: Buffer; readonly to: Buffer; readonly pepperMark: string },
): Promise<void> {
  await database('api_keys').where({ digest: from }).update({ digest: to, pepper_mark: pepperMark });
}

export async function findApiKey(database: Database, keyId: string): Promise<ApiKey | null> {
  const row = await database<KeyRow>('api_keys').where({ id: keyId }).whereNull('deleted_at').first();
  return row ? toApiKey(row) : null;
}

/** How people recognise a key. */
export type KeyName = Pick<ApiKey, 'name' | 'hint'>;

/** Finds the names of all keys of an account by their ids, deleted keys included. */
export async function findKeyNames(database: Database, accountId: string): Promise<ReadonlyMap<string, KeyName>> {
  const rows = await database<KeyRow>('api_keys').where({ account_id: accountId }).select('id', 'name', 'hint');
  return new Map(rows.map(({ id, name, hint }) => [id, { name, hint }]));
}

/** A page of the account's keys, newest first. @param before the id of the last key of the previous page */
export async function listApiKeys(
  database: Database,
  { accountId, name, ...page }: IdPage & { readonly accountId: string; readonly name?: string },
): Promise<readonly ApiKey[]> {
  const query = database<KeyRow>('api_keys').where(columnsOf({ accountId, name })).whereNull('deleted_at');
  return (await newestFirst(query, page)).map(toApiKey);
}

/** Changes the given fields, in every process at once. @returns null if there is no such key */
export async function updateApiKey(database: Database, keyId: string, settings: KeySettings): Promise<ApiKey | null> {
  const updated = await writeKeySettings(database, keyId, settings);
  if (updated) await recallAllowances(database, { accountId: updated.accountId, apiKeyId: keyId });
  return updated;
}

/**
 * Changes the given fields in a transaction. After its commit, the caller recalls the allowances of the key.
 *
 * @returns null if there is no such key
 */
export async function writeKeySettings(
  database: Database,
  keyId: string,
  settings: KeySettings,
): Promise<ApiKey | null> {
  const columns = toColumns(settings);
  if (Object.keys(columns).length === 0) return findApiKey(database, keyId);
  const [row] = await database('api_keys')
    .where({ id: keyId })
    .whereNull('deleted_at')
    .update(columns)
    .returning<KeyRow[]>('*');
  return row ? toApiKey(row) : null;
}

/** Deletes a key, which stops working at once in every process. @returns false if there was no such key */
export async function deleteApiKey(database: Database, keyId: string): Promise<boolean> {
  const [deleted] = await database('api_keys')
    .where({ id: keyId })
    .whereNull('deleted_at')
    .update({ deleted_at: database.fn.now() })
    .returning<{ account_id: string }[]>('account_id');
  if (!deleted) return false;
  await recallAllowances(database, { accountId: deleted.account_id, apiKeyId: keyId });
  return true;
}

function toColumns({ disabled, ...fields }: KeySettings): Record<string, unknown> {
  return columnsOf({ ...fields, disabledAt: disabled === undefined ? undefined : disabled ? new Date() : null });
}

function toCaller(row: CallerRow): Caller {
  return {
    key: asPlanned(toApiKey(row), row),
    account: {
      id: row.account_id,
      toppedUpAt: row.topped_up_at,
      suspendedAt: row.suspended_at,
      prices: row.planned ?? [],
      budgetsVersion: row.budgets_version,
      responseMinutes: row.response_minutes,
    },
  };
}

/** The key within the terms of its account's plan. */
function asPlanned(key: ApiKey, { plan_models: models, plan_rpm: rpm }: CallerRow): ApiKey {
  return {
    ...key,
    models: models === null ? key.models : (key.models?.filter((model) => matchesModels(models, model)) ?? models),
    rateLimitRpm: rpm === null ? key.rateLimitRpm : Math.min(rpm, key.rateLimitRpm ?? rpm),
  };
}

function toApiKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    hint: row.hint,
    usageLimit: row.usage_limit === null ? null : picoUsd(row.usage_limit),
    limitPeriod: row.limit_period,
    used: picoUsd(row.used),
    usedOfLimit: usedOfLimit(row),
    reserved: picoUsd(row.reserved),
    models: row.models,
    ipAllowlist: row.ip_allowlist,
    rateLimitRpm: row.rate_limit_rpm,
    expiresAt: row.expires_at,
    deletedAt: row.deleted_at,
    disabledAt: row.disabled_at,
    lastUsedAt: row.last_used_at,
    createdAt: row.created_at,
  };
}

/** Like `used_in_period`, except that a new period starts at 0, without the money that text processes hold. */
function usedOfLimit({ limit_period: period, period_since: since, used, used_before: usedBefore }: KeyRow): PicoUsd {
  if (period === null || since === null) return picoUsd(used);
  if (since < startOfPeriod(period, new Date())) return 0n;
  const amount = picoUsd(used) - picoUsd(usedBefore);
  return amount > 0n ? amount : 0n;
}
