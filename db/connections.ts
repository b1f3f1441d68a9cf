/**
 * What every connection to PostgreSQL has in common: limits on both sides of it, and nobody who waits for ever.
 *
 * A connection can go silent without breaking, as when something between here and there forgets it. The server ends what takes
 * longer than its limits and says so; when not even that is heard, the connection is destroyed, and with it those that lay idle
 * beside it, because what silenced one has silenced them, too. New ones take their place.
 */
import { Socket } from 'node:net';
import { type Client, type ClientConfig, DatabaseError } from 'pg';

export interface ConnectionLimits {
  /** After which the server gives a statement up; 0: never. */
  readonly statementMs: number;
  /** After which the server gives up waiting for a lock; 0: never. */
  readonly lockMs: number;
  /** After which the server ends a transaction whose client says nothing, and releases what it has locked; 0: never. */
  readonly idleInTransactionMs: number;
  /** After which a connection counts as dead that has said nothing while an answer is waited for. Above `statementMs`. */
  readonly silenceMs: number;
}

/** For whatever a request or a task waits for. Nobody holds a lock for longer than others wait for it. */
export const SERVING_LIMITS: ConnectionLimits = {
  statementMs: 3_500,
  lockMs: 2_000,
  idleInTransactionMs: 2_000,
  silenceMs: 4_000,
};

/** For reports and whatever else reads much, or changes tables, while nobody waits. */
export const REPORT_LIMITS: ConnectionLimits = {
  statementMs: 30 * 60_000,
  lockMs: 5_000,
  idleInTransactionMs: 30 * 60_000,
  silenceMs: 31 * 60_000,
};

/** For connecting, and for waiting for one of the pool's connections. */
export const CONNECT_TIMEOUT_MS = 5_000;

const KEEP_ALIVE_AFTER_MS = 5_000;

/** The connection was destroyed because it said nothing. Whether the statement was carried out is not known. */
export class SilentConnectionError extends Error {
  override readonly name = 'SilentConnectionError';
}

/** @param url a PostgreSQL connection URL; limits that it names go before these */
export function connectionConfig(url: string, name: string, limits: ConnectionLimits) {
  return {
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    statement_timeout: limits.statementMs,
    lock_timeout: limits.lockMs,
    idle_in_transaction_session_timeout: limits.idleInTransactionMs,
  } satisfies ClientConfig;
}

/** A connection that may be destroyed while nobody uses it. */
interface Watched {
  readonly openedAtMs: number;
  /** Does nothing while it is in use. */
  destroyIfIdle(): void;
}

/** All of this process: they go the same way. */
const watched = new Set<Watched>();

/** Destroys a connection that leaves a statement unanswered. @param client connected already */
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
  // Counts from the last byte sent or received, and again from the next one: an idle connection lets it pass, too.
  stream.setTimeout(silenceMs);
  stream.on('timeout', () => {
    if (!isBusy(client)) return;
    const { bytesRead } = stream;
    // A process that was held up itself has not read yet what came in the meantime.
    afterReading(() => {
      if (!isBusy(client) || stream.bytesRead !== bytesRead || stream.destroyed) return;
      // The idle ones first, so that whoever tries again finds none of them.
      const silentSinceMs = performance.now() - silenceMs;
      for (const other of watched) if (other.openedAtMs < silentSinceMs) other.destroyIfIdle();
      stream.destroy(new SilentConnectionError(`the database said nothing for ${silenceMs} ms`));
    });
  });
}

/** Whether an answer is waited for, or a transaction is open. */
function isBusy(client: Client): boolean {
  return ('readyForQuery' in client && client.readyForQuery === false) || client.getTransactionStatus() !== 'I';
}

function afterReading(then: () => void): void {
  setImmediate(() => setImmediate(then));
}

/** A statement was lost with its connection, and could not be repeated to learn whether it had been carried out. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
}

/**
 * Whether a statement failed with its connection, so that nobody knows whether it was carried out, or as the victim of a
 * deadlock; the next connection may be well. What can be repeated should be, once.
 */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof DatabaseError) return LOST_STATES.has(error.code ?? '');
  if (error instanceof SilentConnectionError) return true;
  if (!(error instanceof Error)) return false;
  if ('code' in error && typeof error.code === 'string') return LOST_CODES.has(error.code);
  return says(error, LOST_MESSAGES);
}

/** The server ends the session: it is told to, or the transaction was idle. Or it ends the transaction, to end a deadlock. */
const LOST_STATES: ReadonlySet<string> = new Set(['57P01', '57P02', '25P03', '40P01']);
const LOST_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT']);
/** As the driver words them; they have no code. */
const LOST_MESSAGES = ['Connection terminated', 'Client has encountered a connection error', 'Client was closed'];

/** Whether the database could not be reached or did not answer in time, so that the same may succeed a little later. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof OutcomeUnknownError || isConnectionLost(error)) return true;
  if (error instanceof DatabaseError) return UNAVAILABLE_STATES.has(error.code ?? '');
  if (!(error instanceof Error)) return false;
  if ('code' in error && typeof error.code === 'string') return UNREACHABLE_CODES.has(error.code);
  return says(error, UNREACHABLE_MESSAGES);
}

/** Limits of the server, and a server that is not up. */
const UNAVAILABLE_STATES: ReadonlySet<string> = new Set(['57014', '55P03', '57P03', '53300']);
const UNREACHABLE_CODES: ReadonlySet<string> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND']);
/** As the pools and the driver word them. */
const UNREACHABLE_MESSAGES = ['timeout expired', 'timeout exceeded when trying to connect', 'Knex: Timeout acquiring'];

/** The query builder puts the statement before what the driver said. */
function says({ message }: Error, beginnings: readonly string[]): boolean {
  return beginnings.some((beginning) => message.startsWith(beginning) || message.includes(` - ${beginning}`));
}

/** Does something again that failed with its connection. It must be such that once and twice are the same. */
export async function againIfLost<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!isConnectionLost(error)) throw error;
    return work();
  }
}
