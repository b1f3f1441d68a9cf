/** The connection pool to PostgreSQL. Queries take it as their first argument, and open no connections of their own. */
import knex, { type Knex } from 'knex';
import { type Client, DatabaseError } from 'pg';
import { connectionConfig, type ConnectionLimits, SERVING_LIMITS, watchConnection } from './connections.ts';

export type Database = Knex;

/**
 * Opens a pool; connections are made on demand.
 *
 * @param url a PostgreSQL connection URL
 * @param poolSize the most connections
 * @param name of the connections in PostgreSQL; `min` of them stay open once they are
 */
export function createDatabase(
  url: string,
  poolSize: number,
  limits: ConnectionLimits = SERVING_LIMITS,
  { name = 'genway', min = 0 } = {},
): Database {
  return knex({
    client: 'pg',
    connection: connectionConfig(url, name, limits),
    pool: {
      min,
      max: poolSize,
      createTimeoutMillis: limits.connectMs,
      afterCreate: (client: Client, done: (error: null, client: Client) => void) => {
        watchConnection(client, limits.silenceMs);
        done(null, client);
      },
    },
    log: SILENT,
    // A silent connection is destroyed within its limit, which frees its place in the pool.
    acquireConnectionTimeout: limits.silenceMs + limits.connectMs,
  });
}

/** Logs nothing: the code that uses a broken connection gets an error. */
const SILENT = { warn: () => {}, error: () => {}, debug: () => {}, deprecate: () => {} };

/** Reads a `numeric(38,0)` column, which the driver returns as text. */
export function picoUsd(column: string): bigint {
  return BigInt(column);
}

/** SQL for the database's time in so many seconds from now, for an insert or an update. */
export function secondsFromNow(database: Database, seconds: number): Knex.Raw {
  return database.raw(`now() + :seconds * interval '1 second'`, { seconds });
}

/** Returns the row of a statement that always returns one row, such as an insert or a sum. */
export function onlyRow<Row>([row]: readonly Row[]): Row {
  if (!row) throw new Error('a statement that always gives a row gave none');
  return row;
}

/** Whether PostgreSQL refused the statement. False if PostgreSQL was unreachable. */
export function isPostgresError(error: unknown): boolean {
  return error instanceof DatabaseError;
}

/** Whether PostgreSQL refused with this SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html */
export function isDatabaseError(error: unknown, sqlState: string): boolean {
  return error instanceof Error && 'code' in error && error.code === sqlState;
}

/** Whether PostgreSQL refused the statement because of this constraint. */
export function isViolationOf(error: unknown, constraint: string): boolean {
  return error instanceof DatabaseError && error.constraint === constraint;
}

/** Whether PostgreSQL refused a text that it cannot store, also in JSON: one with a NUL character or an unpaired surrogate. */
export function isUnstorable(error: unknown): boolean {
  const isUnreadableJson = isDatabaseError(error, '22P02') && / type json\b/.test(String(error));
  return isUnreadableJson || isDatabaseError(error, '22021') || isDatabaseError(error, '22P05');
}

export const CHECK_VIOLATION = '23514';
export const UNIQUE_VIOLATION = '23505';
