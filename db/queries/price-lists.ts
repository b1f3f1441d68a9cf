/** Price lists, their versions, and the accounts that use them. */
import type { PlannedVersion, PriceRules } from '../../domain/price-list.ts';
import { type Database, isDatabaseError, isViolationOf, onlyRow, UNIQUE_VIOLATION } from '../database.ts';
import { camelCased, readRow, type RowOf } from '../row.ts';
import { type Authorship, recordAccountAction } from './operator-actions.ts';

/** Every process knows a new version within this time, because it reads its callers again every second or two. */
export const ANNOUNCED_SECONDS = 5;

/** A version of a price list. It never changes. */
export interface PriceListVersion extends PriceRules, Authorship {
  /** The name of the list and the number of the version: `partners@3`. */
  readonly id: string;
  readonly list: string;
  readonly version: number;
  readonly batchFactor: string | null;
  readonly validFrom: Date;
  readonly createdAt: Date;
}

/** The current state of a list. */
export interface PriceListSummary {
  readonly name: string;
  /** The number of accounts that use the list. */
  readonly accounts: number;
  /** The number of the current version; null before the first version is valid. */
  readonly inForce: number | null;
  /** The number of the latest version, which may not be valid yet. */
  readonly latest: number;
  readonly createdAt: Date;
}

export interface NewPriceListVersion extends PriceRules, Authorship {
  /** When absent, the version is valid as soon as every process knows it. */
  readonly validFrom?: Date | undefined;
}

type VersionRow = RowOf<PriceListVersion>;

/** A list with the name exists. */
export class PriceListExistsError extends Error {
  override readonly name = 'PriceListExistsError';
}

/** The version would be valid before every process knows it. */
export class TooSoonError extends Error {
  override readonly name = 'TooSoonError';
}

/** Creates a list with its first version. @throws PriceListExistsError, TooSoonError */
export function createPriceList(
  database: Database,
  name: string,
  first: NewPriceListVersion,
): Promise<PriceListVersion> {
  return database.transaction(async (transaction) => {
    await transaction('price_lists')
      .insert({ name })
      .catch((error: unknown) => {
        throw isDatabaseError(error, UNIQUE_VIOLATION)
          ? new PriceListExistsError(`there is a price list ${name}`, { cause: error })
          : error;
      });
    return insertVersion(transaction, name, first);
  });
}

/** Adds a version to a list. @returns null if there is no such list @throws TooSoonError */
export function addPriceListVersion(
  database: Database,
  list: string,
  version: NewPriceListVersion,
): Promise<PriceListVersion | null> {
  return database.transaction(async (transaction) => {
    // The lock makes concurrent calls number their versions in order.
    const known = await transaction('price_lists').where({ name: list }).forUpdate().first('name');
    return known ? insertVersion(transaction, list, version) : null;
  });
}

async function insertVersion(
  transaction: Database,
  list: string,
  { factor, batchFactor = null, rules, validFrom, author, reason }: NewPriceListVersion,
): Promise<PriceListVersion> {
  const { rows } = await transaction
    .raw<{ rows: VersionRow[] }>(
      /* sql */ `
      INSERT INTO price_list_versions (id, list, version, factor, batch_factor, rules, valid_from, author, reason, created_at)
      SELECT :list || '@' || next, :list, next, :factor, :batchFactor, :rules::jsonb,
        coalesce(:validFrom, moment + interval '${ANNOUNCED_SECONDS} seconds'), :author, :reason, moment
      FROM (SELECT coalesce(max(version), 0) + 1 AS next, clock_timestamp()::timestamptz(3) AS moment
        FROM price_list_versions WHERE list = :list) AS numbered
      RETURNING *`,
      { list, factor, batchFactor, rules: JSON.stringify(rules), validFrom: validFrom ?? null, author, reason },
    )
    .catch((error: unknown) => {
      throw isViolationOf(error, 'price_list_versions_are_announced')
        ? new TooSoonError(`a version is valid ${ANNOUNCED_SECONDS} seconds from now at the earliest`, { cause: error })
        : error;
    });
  return camelCased(onlyRow(rows));
}

/** Counts all lists. */
export async function countPriceLists(database: Database): Promise<number> {
  const row = await database('price_lists').count<{ count: string }[]>('*').first();
  return Number(row?.count ?? 0);
}

/** Counts the versions of a list that are not valid yet. */
export async function countPlannedVersions(database: Database, list: string): Promise<number> {
  const query = database('price_list_versions').where({ list }).whereRaw('valid_from > now()');
  const row = await query.count<{ count: string }[]>('*').first();
  return Number(row?.count ?? 0);
}

/** Lists all price lists, ordered by name. */
export async function listPriceLists(database: Database): Promise<readonly PriceListSummary[]> {
  const { rows } = await database.raw<{ rows: RowOf<PriceListSummary, 'accounts'>[] }>(/* sql */ `
    SELECT list.name, list.created_at, (SELECT count(*) FROM accounts WHERE price_list = list.name) AS accounts,
      max(version) FILTER (WHERE valid_from <= now()) AS in_force, max(version) AS latest
    FROM price_lists AS list JOIN price_list_versions ON price_list_versions.list = list.name
    GROUP BY list.name ORDER BY list.name`);
  return rows.map((row) => readRow(row, { counts: ['accounts'] }));
}

/** Lists the current and future versions of the lists that accounts use. */
export async function listCurrentVersions(database: Database, limit: number): Promise<readonly PriceListVersion[]> {
  const { rows } = await database.raw<{ rows: VersionRow[] }>(
    /* sql */ `
    SELECT * FROM price_list_versions AS one
    WHERE version >= ${IN_FORCE} AND EXISTS (SELECT FROM accounts WHERE price_list = one.list)
    ORDER BY list, version LIMIT :limit`,
    { limit },
  );
  return rows.map(camelCased);
}

/** SQL: the number of the current version of the list of `one`; 0 before the first version is valid. */
const IN_FORCE = /* sql */ `coalesce((SELECT max(version) FROM price_list_versions AS known
  WHERE known.list = one.list AND known.valid_from <= now()), 0)`;

/** SQL: the {@link PlannedVersion}s of a row of `accounts`, the latest first; null for the catalogue's prices. */
export const PLANNED_VERSIONS = /* sql */ `CASE WHEN accounts.price_list IS NOT NULL THEN (
  SELECT json_agg(json_build_object('id', id, 'fromMs', floor(extract(epoch FROM valid_from) * 1000)) ORDER BY version DESC)
  FROM price_list_versions AS one WHERE list = accounts.price_list AND version >= ${IN_FORCE}) END`;

/** Finds the current and future versions of an account's price list, the latest first. */
export async function findPlannedVersions(database: Database, accountId: string): Promise<readonly PlannedVersion[]> {
  const row = await database('accounts')
    .where({ id: accountId })
    .first<{ planned: PlannedVersion[] | null } | undefined>(database.raw(`${PLANNED_VERSIONS} AS planned`));
  return row?.planned ?? [];
}

/** Lists the versions of a list, newest first. @param before the number of the last version of the previous page */
export async function listPriceListVersions(
  database: Database,
  { list, before, limit }: { readonly list: string; readonly before: number | undefined; readonly limit: number },
): Promise<readonly PriceListVersion[]> {
  const query = database<VersionRow>('price_list_versions').where({ list });
  if (before !== undefined) void query.where('version', '<', before);
  return (await query.orderBy('version', 'desc').limit(limit)).map(camelCased);
}

/** @param id such as `partners@3` */
export async function findPriceListVersion(database: Database, id: string): Promise<PriceListVersion | null> {
  const row = await database<VersionRow>('price_list_versions').where({ id }).first();
  return row ? camelCased(row) : null;
}

/** Lists all versions of all lists. */
export async function listAllPriceListVersions(database: Database): Promise<readonly PriceListVersion[]> {
  return (await database<VersionRow>('price_list_versions')).map(camelCased);
}

/**
 * Assigns a price list to an account. Every process uses the list within about three seconds.
 *
 * @param list null for the catalogue's prices
 * @returns false if there is no such account
 */
export function assignPriceList(
  database: Database,
  { accountId, list, author, reason }: Authorship & { readonly accountId: string; readonly list: string | null },
): Promise<boolean> {
  return database.transaction(async (transaction) => {
    const changed = await transaction('accounts').where({ id: accountId }).update({ price_list: list });
    if (changed === 0) return false;
    const why = `${list === null ? 'by the catalogue' : `by ${list}`}: ${reason}`;
    await recordAccountAction(transaction, { accountId, kind: 'price', author, reason: why });
    return true;
  });
}
