/**
 * The limits of all connections to PostgreSQL, on both sides, so that nothing waits forever.
 *
 * A connection can go silent without breaking, for example when a firewall drops its state. The server ends statements
 * and transactions that exceed its limits, and reports an error. If no error arrives either, this process destroys the
 * connection together with the other idle connections, which are probably dead too. New connections replace them.
 */
import { Socket } from 'node:net';
import { type Client, type ClientConfig, DatabaseError } from 'pg';
import { afterPendingReads } from '../domain/after-pending-reads.ts';

export interface ConnectionLimits {
  /** The limit for connecting, and for waiting for a connection of the pool. */
  readonly connectMs: number;
  /** The server cancels a statement after this; 0 for never. */
  readonly statementMs: number;
  /** The server stops waiting for a lock after this; 0 for never. */
  readonly lockMs: number;
  /** The server ends a transaction whose client is silent for this long, and releases its locks; 0 for never. */
  readonly idleInTransactionMs: number;
  /** A connection is dead after a statement was unanswered for so long. Must exceed `statementMs`. */
  readonly silenceMs: number;
}

const CONNECT_TIMEOUT_MS = 5_000;

/**
 * For all work that a request or task waits for. A silent process loses its locks well before others stop waiting for
 * them, even if the others started at the same moment.
 */
export const SERVING_LIMITS: ConnectionLimits = {
  connectMs: CONNECT_TIMEOUT_MS,
  statementMs: 3_500,
  lockMs: 2_000,
  idleInTransactionMs: 1_500,
  silenceMs: 4_000,
};

/** For reports, maintenance and schema changes, for which no request waits. */
export const REPORT_LIMITS: ConnectionLimits = {
  connectMs: CONNECT_TIMEOUT_MS,
  statementMs: 30 * 60_000,
  lockMs: 5_000,
  idleInTransactionMs: 30 * 60_000,
  silenceMs: 31 * 60_000,
};

const KEEP_ALIVE_AFTER_MS = 5_000;

/** The connection was destroyed because it was silent. Whether the statement took effect is unknown. */
export class SilentConnectionError extends Error {
  override readonly name = 'SilentConnectionError';
}

/** @param url a PostgreSQL connection URL; limits in it take precedence */
export function connectionConfig(url: string, name: string, limits: ConnectionLimits) {
  return {
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: limits.connectMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    statement_timeout: limits.statementMs,
    lock_timeout: limits.lockMs,
    idle_in_transaction_session_timeout: limits.idleInTransactionMs,
  } satisfies ClientConfig;
}

/** A connection that can be destroyed while idle. */
interface Watched {
  readonly openedAtMs: number;
  /** Does nothing if the connection is in use. */
  destroyIfIdle(): void;
}

/** All connections of this process, which share a network path. */
const watched = new Set<Watched>();

/** Destroys the connection if a statement stays unanswered. @param client must be connected */
export function watchConnection(client: Client, silenceMs: number): void {
  const { stream } = client.connection;
  if (!(stream instanceof Socket)) throw new Error('a connection to PostgreSQL is a socket');
  const entry: Watched = {
    openedAtMs: performance.now(),
    destroyIfIdle: () => {
      if (!isBusy(client)) stream.destroy(new SilentConnectionError('another connection to the database went silent'));
    },
  };
  watched.add(entry);
  stream.once('close', () => watched.delete(entry));
  // The timeout counts from the last byte sent or received. It also fires on an idle connection.
  stream.setTimeout(silenceMs);
  stream.on('timeout', () => {
    if (!isBusy(client)) return;
    const { bytesRead } = stream;
    // If this process was stalled, there may be data that it has not read yet.
    afterPendingReads(() => {
      if (!isBusy(client) || stream.bytesRead !== bytesRead || stream.destroyed) return;
      // Destroys idle connections first, so that a retry does not pick one of them.
      const silentSinceMs = performance.now() - silenceMs;
      for (const other of watched) if (other.openedAtMs < silentSinceMs) other.destroyIfIdle();
      stream.destroy(new SilentConnectionError(`the database did not answer for ${silenceMs} ms`));
    });
  });
}

/** Whether a statement is unanswered or a transaction is open. */
function isBusy(client: Client): boolean {
  return ('readyForQuery' in client && client.readyForQuery === false) || client.getTransactionStatus() !== 'I';
}

/** A statement was lost with its connection, and its repetition failed, so that its outcome is unknown. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
}

/**
 * Whether a statement failed because its connection was lost, so that its effect is unknown, or as the victim of a
 * deadlock. Idempotent work should be repeated once, since the next connection may work.
 */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof DatabaseError) return LOST_STATES.has(error.code ?? '');
  if (error instanceof SilentConnectionError) return true;
  if (!(error instanceof Error)) return false;
  if ('code' in error && typeof error.code === 'string') return LOST_CODES.has(error.code);
  return hasMessage(error, LOST_MESSAGES);
}

/** The server ended the session (on request, or idle in a transaction), or a transaction to break a deadlock. */
const LOST_STATES: ReadonlySet<string> = new Set(['57P01', '57P02', '25P03', '40P01']);
const LOST_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT']);
/** The driver's messages for lost connections, which have no code. */
const LOST_MESSAGES = ['Connection terminated', 'Client has encountered a connection error', 'Client was closed'];

/** Whether the database was unreachable or did not answer in time, so that a retry may succeed soon. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof OutcomeUnknownError || isConnectionLost(error)) return true;
  if (error instanceof DatabaseError) return UNAVAILABLE_STATES.has(error.code ?? '');
  if (!(error instanceof Error)) return false;
  if ('code' in error && typeof error.code === 'string') return UNREACHABLE_CODES.has(error.code);
  return hasMessage(error, UNREACHABLE_MESSAGES);
}

/**
 * Errors of a server that exceeds its limits, or is down. The same statement may succeed once an operator has freed
 * disk space, or a standby has taken over. https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const UNAVAILABLE_STATES: ReadonlySet<string> = new Set([
  '53000', // insufficient_resources
  '53100', // disk_full
  '53200', // out_of_memory
  '53300', // too_many_connections
  '53400', // configuration_limit_exceeded
  '55P03', // lock_not_available
  '57014', // query_canceled, by a limit on time
  '57P03', // cannot_connect_now
  '57P04', // database_dropped, while it is restored
  '57P05', // idle_session_timeout
  '58000', // system_error
  '58030', // io_error
  '25006', // read_only_sql_transaction, on a standby
]);
const UNREACHABLE_CODES: ReadonlySet<string> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND']);
/** The messages of the driver and the pool for an unreachable server. */
const UNREACHABLE_MESSAGES = ['timeout expired', 'Knex: Timeout acquiring'];

/** Whether the message starts with one of the prefixes. The query builder puts the statement before the message. */
function hasMessage({ message }: Error, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => message.startsWith(prefix) || message.includes(` - ${prefix}`));
}

/** Repeats idempotent work once if its connection was lost. */
export async function retryOnLostConnection<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!isConnectionLost(error)) throw error;
    return work();
  }
}
