/** Calls of upstreams by all processes: see `db/schema/0010-operations.sql`. */
import { addCalls, type CallSum, NO_CALLS } from '../../domain/upstream-calls.ts';
import type { Database } from '../database.ts';
import { camelCased, columnsOf, type RowOf } from '../row.ts';

/** The target of calls: a model at an upstream, with a key. */
export interface CallTarget {
  readonly upstream: string;
  /** Empty for media. */
  readonly format: string;
  /** The upstream's name for the model. */
  readonly model: string;
  /** The last four characters of the key; empty for media. */
  readonly key: string;
}

/** A failure of an upstream. */
export interface CallFailure {
  readonly fault: string;
  /** The HTTP status of the answer; null if there was none. */
  readonly status: number | null;
  /** The upstream's message without secrets; empty if it sent none. */
  readonly message: string;
}

/** The failures of a target by reason and account. */
export interface FailureSum extends Omit<CallTarget, 'key'> {
  readonly fault: string;
  readonly accountId: string;
  readonly failures: number;
}

export type LatestFailure = CallTarget & CallFailure & { readonly failedAt: Date };

/** An attempt of a text request at an upstream. */
export interface TextAttempt extends CallTarget, Omit<CallFailure, 'fault'> {
  readonly accountId: string;
  readonly requestId: string;
  /** Counts the attempts of the request from 1. */
  readonly number: number;
  readonly decision: string;
  /** Null if the upstream did not fail. */
  readonly fault: string | null;
  readonly durationMs: number;
}

export type RecordedAttempt = TextAttempt & { readonly endedAt: Date };

/** An open circuit of a process. */
export interface OpenCircuit extends CallTarget {
  readonly cause: string;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** The calls that a process has seen since its last report. */
export interface CallReport {
  readonly processId: string;
  readonly sums: readonly (CallTarget & CallSum)[];
  readonly failureSums: readonly FailureSum[];
  /** The latest failure of each target with each fault. */
  readonly failures: readonly (CallTarget & CallFailure)[];
  /** Each with the time since it ended. */
  readonly attempts: readonly (TextAttempt & { readonly ageMs: number })[];
  /** All open circuits of the process; null to keep the last reported ones. */
  readonly circuits: readonly OpenCircuit[] | null;
}

const rowsOf = (rows: readonly object[]): string => JSON.stringify(rows.map((row) => columnsOf(row)));

/** Adds a report to the tables. Writes rows in a fixed order, to avoid deadlocks between processes. */
export async function recordCalls(
  database: Database,
  { processId, sums, failureSums, failures, attempts, circuits }: CallReport,
): Promise<void> {
  await database.raw(
    /* sql */ `
    WITH summed AS (
      INSERT INTO upstream_calls AS known (span, start, upstream, format, model, key, requests, failures, durations)
      SELECT span, date_trunc(span, now()), upstream, format, model, key, requests, failures, durations
      FROM json_populate_recordset(NULL::upstream_calls, :sums) AS called (span_, start_, upstream, format, model, key,
        requests, failures, durations), unnest(ARRAY['hour', 'minute']) AS span
      ORDER BY span, upstream, format, model, key
      ON CONFLICT ON CONSTRAINT upstream_calls_pkey DO UPDATE SET
        requests = known.requests + excluded.requests, failures = known.failures + excluded.failures,
        durations = ARRAY(SELECT one + other FROM unnest(known.durations, excluded.durations) AS pair (one, other))),
    failures_summed AS (
      INSERT INTO upstream_call_failures AS known (span, start, upstream, format, model, fault, account_id, failures)
      SELECT span, date_trunc(span, now()), upstream, format, model, fault, account_id, failures
      FROM json_to_recordset(:failureSums) AS failed (upstream text, format text, model text, fault text, account_id text,
        failures integer), unnest(ARRAY['hour', 'minute']) AS span
      ORDER BY span, upstream, format, model, fault, account_id
      ON CONFLICT ON CONSTRAINT upstream_call_failures_pkey DO UPDATE SET failures = known.failures + excluded.failures),
    failed AS (
      INSERT INTO upstream_failures AS known (upstream, format, model, key, failed_at, fault, status, message)
      SELECT upstream, format, model, key, now(), fault, status, message
      FROM json_populate_recordset(NULL::upstream_failures, :failures)
      ORDER BY upstream, format, model, key, fault
      ON CONFLICT ON CONSTRAINT upstream_failures_pkey DO UPDATE SET
        failed_at = excluded.failed_at, status = excluded.status, message = excluded.message),
    attempted AS (
      INSERT INTO text_attempts (account_id, request_id, number, ended_at, upstream, format, model, key, decision, fault,
        status, message, duration_ms)
      SELECT account_id, request_id, number, now() - age_ms * interval '1 millisecond', upstream, format, model, key,
        decision, fault, status, message, duration_ms
      FROM json_to_recordset(:attempts) AS attempt (account_id text, request_id text, number integer, age_ms float8, upstream text,
        format text, model text, key text, decision text, fault text, status integer, message text,
        duration_ms integer)
      ON CONFLICT DO NOTHING)
    INSERT INTO process_circuits SELECT :processId, now(), circuits FROM CAST(:circuits AS jsonb) AS circuits
    WHERE circuits IS NOT NULL
    ON CONFLICT (process_id) DO UPDATE SET reported_at = excluded.reported_at, circuits = excluded.circuits`,
    {
      processId,
      sums: rowsOf(sums),
      failureSums: rowsOf(failureSums),
      failures: rowsOf(failures),
      attempts: rowsOf(attempts),
      circuits: circuits && JSON.stringify(circuits),
    },
  );
}

/** The calls of one target by all processes. */
export interface TargetCalls extends CallTarget {
  readonly lastFiveMinutes: CallSum;
  readonly lastHour: CallSum;
  readonly lastDay: CallSum;
}

export const nameOfTarget = ({ upstream, format, model, key }: CallTarget): string =>
  JSON.stringify([upstream, format, model, key]);

/** Sums the calls of the last day. The spans start at a whole minute, or for the day at a whole hour. */
export async function listCalls(database: Database): Promise<ReadonlyMap<string, TargetCalls>> {
  const { rows } = await database.raw<{
    rows: (CallTarget & CallSum & { span: string; is_recent: boolean })[];
  }>(/* sql */ `
    SELECT span, upstream, format, model, key, requests, failures, durations,
      start > now() - interval '5 minutes' AS is_recent
    FROM upstream_calls
    WHERE (span = 'minute' AND start > now() - interval '1 hour')
      OR (span = 'hour' AND start > now() - interval '1 day')`);
  const targets = new Map<string, TargetCalls>();
  for (const { span, is_recent: isRecent, upstream, format, model, key, ...sum } of rows) {
    const target = { upstream, format, model, key };
    const name = nameOfTarget(target);
    const known = targets.get(name) ?? {
      ...target,
      lastFiveMinutes: NO_CALLS,
      lastHour: NO_CALLS,
      lastDay: NO_CALLS,
    };
    targets.set(name, {
      ...known,
      ...(span === 'hour' && { lastDay: addCalls(known.lastDay, sum) }),
      ...(span === 'minute' && { lastHour: addCalls(known.lastHour, sum) }),
      ...(span === 'minute' && isRecent && { lastFiveMinutes: addCalls(known.lastFiveMinutes, sum) }),
    });
  }
  return targets;
}

/** Lists the latest failure of each target. */
export async function listLatestFailures(database: Database): Promise<ReadonlyMap<string, LatestFailure>> {
  const rows = await database<RowOf<LatestFailure>>('upstream_failures').orderBy('failed_at');
  return new Map(rows.map(camelCased).map((failure) => [nameOfTarget(failure), failure]));
}

/** A process that has not reported for longer has stopped, or cannot reach the database. */
const REPORTING_SECONDS = 15;

/** Lists the open circuits of the running processes. */
export async function listOpenCircuits(
  database: Database,
): Promise<readonly (OpenCircuit & { readonly processId: string })[]> {
  const { rows } = await database.raw<{ rows: { process_id: string; circuits: readonly OpenCircuit[] }[] }>(
    `SELECT process_id, circuits FROM process_circuits WHERE reported_at > now() - make_interval(secs => :seconds)`,
    { seconds: REPORTING_SECONDS },
  );
  return rows.flatMap(({ process_id: processId, circuits }) => circuits.map((circuit) => ({ ...circuit, processId })));
}

/** Lists the attempts of a text request in order; empty if the first attempt was answered. */
export async function listTextAttempts(database: Database, requestId: string): Promise<readonly RecordedAttempt[]> {
  const rows = await database<RowOf<RecordedAttempt>>('text_attempts')
    .where({ request_id: requestId })
    .orderBy('number');
  return rows.map(camelCased);
}
