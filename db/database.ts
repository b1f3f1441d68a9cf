/** The connection to PostgreSQL. Queries take it as their first argument; none opens its own. */
import knex, { type Knex } from 'knex';
import { type Client, DatabaseError } from 'pg';
import {
  CONNECT_TIMEOUT_MS,
  connectionConfig,
  type ConnectionLimits,
  SERVING_LIMITS,
  watchConnection,
} from './connections.ts';

export type Database = Knex;

/**
 * Opens a pool; connections are made on demand.
 *
 * @param url a PostgreSQL connection URL
 * @param poolSize the most connections
 */
export function createDatabase(url: string, poolSize: number, limits: ConnectionLimits = SERVING_LIMITS): Database {
  return knex({
    client: 'pg',
    connection: connectionConfig(url, 'genway', limits),
    pool: {
      min: 0,
      max: poolSize,
      createTimeoutMillis: CONNECT_TIMEOUT_MS,
      afterCreate: (client: Client, done: (error: null, client: Client) => void) => {
        watchConnection(client, limits.silenceMs);
        done(null, client);
      },
    },
    log: SILENT,
    // A connection that goes silent returns to the pool within its limit.
    acquireConnectionTimeout: limits.silenceMs + CONNECT_TIMEOUT_MS,
  });
}

/** Code that uses a connection that breaks learns of it by its error. */
const SILENT = { warn: () => {}, error: () => {}, debug: () => {}, deprecate: () => {} };

/** Reads a `numeric(38,0)` column, which the driver returns as text. */
export function picoUsd(column: string): bigint {
  return BigInt(column);
}

/** The time of the database in so many seconds, for an insert or an update. */
export function secondsFromNow(database: Database, seconds: number): Knex.Raw {
  return database.raw(`now() + ? * interval '1 second'`, [seconds]);
}

/** The row of a statement that always gives one, such as an insert or a sum. */
export function onlyRow<Row>([row]: readonly Row[]): Row {
  if (!row) throw new Error('a statement that always gives a row gave none');
  return row;
}

/** Whether PostgreSQL answered with a refusal, rather than being out of reach. */
export function isRefusal(error: unknown): boolean {
  return error instanceof DatabaseError;
}

/** Whether PostgreSQL refused with this SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html */
export function isDatabaseError(error: unknown, sqlState: string): boolean {
  return error instanceof Error && 'code' in error && error.code === sqlState;
}

/** Whether PostgreSQL refused by this constraint. */
export function isViolationOf(error: unknown, constraint: string): boolean {
  return error instanceof DatabaseError && error.constraint === constraint;
}

/** Whether PostgreSQL refused a text that it cannot store: one with a NUL character or an unpaired surrogate. */
export function isUnstorable(error: unknown): boolean {
  return isDatabaseError(error, '22021') || isDatabaseError(error, '22P05');
}

export const CHECK_VIOLATION = '23514';
export const UNIQUE_VIOLATION = '23505';
