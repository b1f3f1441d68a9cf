/** Batches: contract 4.17. Their endpoints, statuses, and the form of an input line. */
import type { ErrorCode } from './errors.ts';
import type { JsonObject } from './json.ts';

/** The endpoints that answer at once. */
const TEXT_ENDPOINTS = ['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/embeddings'] as const;
export type TextBatchEndpoint = (typeof TEXT_ENDPOINTS)[number];

/** The endpoints that create media tasks. */
const TASK_ENDPOINTS = ['/v1/videos/tasks', '/v1/images/tasks'] as const;
export type TaskBatchEndpoint = (typeof TASK_ENDPOINTS)[number];

/** The endpoints whose requests a batch may have. All requests of a batch have the same. */
export const BATCH_ENDPOINTS = [...TEXT_ENDPOINTS, ...TASK_ENDPOINTS] as const;
export type BatchEndpoint = (typeof BATCH_ENDPOINTS)[number];

export function createsTasks(endpoint: BatchEndpoint): endpoint is TaskBatchEndpoint {
  return TASK_ENDPOINTS.some((known) => known === endpoint);
}

/** @throws Error for the endpoint of a batch of media tasks */
export function requireTextEndpoint(endpoint: BatchEndpoint): TextBatchEndpoint {
  if (createsTasks(endpoint)) throw new Error(`${endpoint} creates tasks`);
  return endpoint;
}

/** The formats of the text endpoints. */
export const BATCH_FORMATS = ['chat-completions', 'responses', 'messages', 'embeddings'] as const;

/**
 * `validating` → `in_progress` → `finalizing` → `completed`, or `expired` if lines are left at the end of the window.
 * Refused input: `failed`. A batch that is cancelled before `finalizing`: `cancelling` → `cancelled`.
 */
export const BATCH_STATUSES = [
  'validating',
  'failed',
  'in_progress',
  'finalizing',
  'completed',
  'expired',
  'cancelling',
  'cancelled',
] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

/** The final statuses. */
const BATCH_ENDINGS = ['failed', 'completed', 'expired', 'cancelled'] as const satisfies readonly BatchStatus[];
export type BatchEnding = (typeof BATCH_ENDINGS)[number];

export function isFinalBatch(status: BatchStatus): status is BatchEnding {
  return BATCH_ENDINGS.some((ending) => ending === status);
}

/** A line is `waiting` until its final status. `failed` lines have an error as their answer, others none. */
export const BATCH_LINE_STATUSES = ['waiting', 'succeeded', 'failed', 'expired', 'cancelled'] as const;
export type BatchLineStatus = (typeof BATCH_LINE_STATUSES)[number];

/** What happens to lines that a vendor's batch leaves out: they run as direct requests, or fail. */
export const BATCH_REMAINDERS = ['direct', 'fail'] as const;
export type BatchRemainder = (typeof BATCH_REMAINDERS)[number];

/** The lines of a batch by status. The rest of `total` waits. */
export interface BatchCounts {
  readonly total: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly expired: number;
  readonly cancelled: number;
}

/** The lines that have ended. */
export function countEnded({ succeeded, failed, expired, cancelled }: BatchCounts): number {
  return succeeded + failed + expired + cancelled;
}

/** Why an input is refused, as a whole. */
export interface BatchError {
  /** The kind of the error, such as `mismatched_url`. */
  readonly code: string;
  readonly message: string;
  /** The number of the line, from 1; null for an error of the whole file. */
  readonly line: number | null;
  /** The field of the line; null for none. */
  readonly param: string | null;
}

/** Failed lines with the same error. */
export interface BatchFailures {
  /** The code of the error. */
  readonly code: string;
  readonly count: number;
}

export interface Batch {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  /** The id of the call that created the batch. */
  readonly requestId: string;
  readonly endpoint: BatchEndpoint;
  readonly status: BatchStatus;
  readonly inputFileId: string;
  /** The file with the answers; null before the end, or without an answer. */
  readonly outputFileId: string | null;
  /** The file with the lines that have no answer; null before the end, or without such lines. */
  readonly errorFileId: string | null;
  readonly metadata: Readonly<Record<string, string>> | null;
  /** The vendor's betas that its requests use: the header `anthropic-beta` of the call that created it; null for none. */
  readonly betas: string | null;
  /** Null unless `failed`. */
  readonly errors: readonly BatchError[] | null;
  /** The refusal for which the batch waits, such as `insufficient_credits`; null while its lines run. */
  readonly pausedReason: ErrorCode | null;
  readonly pausedAt: Date | null;
  /** When an operator paused the batch; null while none does. */
  readonly operatorPausedAt: Date | null;
  readonly counts: BatchCounts;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly inProgressAt: Date | null;
  readonly finalizingAt: Date | null;
  readonly cancellingAt: Date | null;
  /** When the batch became final. */
  readonly endedAt: Date | null;
}

/** What clients see as the reason of an operator's pause. */
export const OPERATOR_PAUSE: ErrorCode = 'processing_unavailable';

/** Why no line of the batch starts; null while its lines run. */
export function pauseOf({ pausedReason, operatorPausedAt }: Pick<Batch, 'pausedReason' | 'operatorPausedAt'>) {
  return operatorPausedAt === null ? pausedReason : OPERATOR_PAUSE;
}

/** A request in a batch. */
export interface BatchRequest {
  readonly customId: string;
  /** The path of the endpoint, such as `/v1/chat/completions`. */
  readonly url: string;
  readonly body: JsonObject;
}
