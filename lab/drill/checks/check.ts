/** The checks of a drill, made once all work has completed. */
import type { Client } from '@temporalio/client';
import type { Customer } from '../customers.ts';
import type { Database } from '../../../db/database.ts';
import type { ClientBatch } from '../load/batch.ts';
import type { MediaOrder } from '../load/media.ts';
import type { RealtimeLoad } from '../load/realtime.ts';
import type { RevokedSession } from '../faults/fault.ts';
import type { LostRequest, TextAnswer } from '../load/text.ts';
import { commonTo, type Period } from '../../stack/period.ts';
import type { Stack } from '../../stack/stack.ts';
import type { Receiver } from '../receiver.ts';

export interface Evidence {
  readonly stack: Stack;
  readonly customers: readonly Customer[];
  /** The time under load. */
  readonly load: Period;
  /** The periods whose commits a restore lost. */
  readonly forgotten: readonly Period[];
  /** How much slower the machine was than with one process: limits in seconds are multiplied by it. */
  readonly slowness: number;
  /** When create calls were answered 201, in milliseconds since 1970. */
  readonly createdAtMs: readonly number[];
  readonly orders: readonly MediaOrder[];
  /** Answers to create calls and polls, by status; 0 for no answer. */
  readonly mediaAnswers: ReadonlyMap<number, number>;
  readonly textAnswers: readonly TextAnswer[];
  readonly textLost: readonly LostRequest[];
  readonly batches: readonly ClientBatch[];
  /** The key of the account that has all batches, and nothing else. */
  readonly batchKey: string;
  readonly realtime: Pick<RealtimeLoad, 'turns' | 'errors'>;
  readonly revoked: readonly RevokedSession[];
  readonly receiver: Pick<Receiver, 'events' | 'complaints' | 'hangs'>;
  readonly database: Database;
  readonly temporal: Client;
}

/** A promise, and its violations. */
export interface CheckResult {
  readonly promise: string;
  /** One line each; empty if the promise was kept. */
  readonly failures: readonly string[];
}

/** @typeParam Needs the parts of the evidence that it reads */
export type Check<Needs = Evidence> = (evidence: Needs) => Promise<CheckResult>;

/** Whether a restore may have lost the event of a moment. */
export function isForgotten({ forgotten }: Pick<Evidence, 'forgotten'>, atMs: number | null): boolean {
  return atMs !== null && forgotten.some(({ fromMs, untilMs }) => fromMs <= atMs && atMs <= untilMs);
}

/** The periods in which no Temporal server worked. */
export function temporalOutages({ stack }: Pick<Evidence, 'stack'>): readonly Period[] {
  return commonTo(stack.members.filter(({ role }) => role === 'temporal').map(({ outages }) => outages));
}

/** A check whose statement returns a row, with a column `failure`, for each failure. */
export function sqlCheck(promise: string, sql: string): Check<Pick<Evidence, 'database'>> {
  return async ({ database }) => {
    const { rows } = await database.raw<{ rows: { failure: string }[] }>(sql);
    return { promise, failures: rows.map(({ failure }) => failure) };
  };
}
