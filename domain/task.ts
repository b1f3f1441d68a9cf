/** Media tasks: states and transitions (contract 3), and the data that polling shows (contract 2.1 and 4.4). */

import { TASK_ERROR_CODES, type TaskErrorCode } from './errors.ts';
import type { ChosenValues } from './image-choices.ts';
import type { JsonObject } from './json.ts';
import type { MediaRoute, ResultCheck } from './media-route.ts';
import type { PicoUsd } from './money.ts';
import { TASK_MESSAGES } from './task-messages.ts';

export const TASK_KINDS = ['image', 'video'] as const;
export type TaskKind = (typeof TASK_KINDS)[number];

/** A task only moves forward through these; PostgreSQL refuses other changes (`check_task_change`). */
export const TASK_STATUSES = ['queued', 'processing', 'succeeded', 'failed'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** Whether the status never changes again. */
export function isFinal(status: TaskStatus): boolean {
  return status === 'succeeded' || status === 'failed';
}

/** How long a client should wait between polls of a running task. */
export const POLL_AFTER_SECONDS: Readonly<Record<TaskKind, number>> = { image: 5, video: 8 };

/** One generated file, as stored with the task and shown as `output.media[]` (contract 2.2). */
export interface GeneratedMedia {
  readonly type: TaskKind;
  readonly url: string;
  readonly mimeType: string;
  /** Pixels; images only. */
  readonly width?: number;
  readonly height?: number;
}

/** The validated request, with defaults filled in. */
export interface RenderInputs extends ChosenValues {
  readonly kind: TaskKind;
  readonly prompt: string;
  readonly images?: readonly string[];
  readonly referenceVideos?: readonly string[];
  readonly referenceAudios?: readonly string[];
  /** Whole seconds; video only. */
  readonly durationSeconds?: number;
  /** `16:9`, …; video only. Images have explicit pixels. */
  readonly aspectRatio?: string;
  /** For example `720p` or `4k`; video only. */
  readonly resolution?: string;
  /** Pixels; image only. */
  readonly width?: number;
  readonly height?: number;
  /** The model's own fields, by name. */
  readonly parameters?: JsonObject;
  /** The links in `parameters`. */
  readonly parameterLinks?: readonly string[];
}

/** The work of a task: its inputs and its routes. */
export interface RenderOrder extends RenderInputs {
  /** In the order in which the task tries them; never empty. */
  readonly routes: readonly MediaRoute[];
  /** `exact` when absent. */
  readonly resultCheck?: ResultCheck;
}

/** Who can cancel a task. */
const CANCELLERS = ['operator', 'customer'] as const;
export type Canceller = (typeof CANCELLERS)[number];

/** Why a task failed, as the client reads it. */
export interface TaskFailure {
  readonly code: TaskErrorCode;
  readonly message: string;
  /** Absent unless somebody cancelled the task. */
  readonly cancelledBy?: Canceller;
}

/** Why a task failed, for people: the specification has no error code for a cancellation. */
export const FAILURE_REASONS = [...TASK_ERROR_CODES, ...CANCELLERS.map((by) => `cancelled_by_${by}` as const)] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

export function reasonOf({ code, cancelledBy }: TaskFailure): FailureReason {
  return cancelledBy === undefined ? code : `cancelled_by_${cancelledBy}`;
}

/** The failure of a task that an operator cancelled. */
export const CANCELLED_BY_OPERATOR: TaskFailure = {
  code: 'processing_failed',
  message: TASK_MESSAGES.cancelledByOperator,
  cancelledBy: 'operator',
};

/** The failure of a task that its customer cancelled. */
export const CANCELLED_BY_CUSTOMER: TaskFailure = {
  code: 'processing_failed',
  message: TASK_MESSAGES.cancelledByCustomer,
  cancelledBy: 'customer',
};

/** The outcome of a task. */
export type TaskEnding =
  | { readonly status: 'succeeded'; readonly output: readonly GeneratedMedia[] }
  | { readonly status: 'failed'; readonly failure: TaskFailure };

/** The ending of a task as the memo of its workflow records it, for a database that was restored to an earlier moment. */
export interface RecordedEnding {
  readonly ending: TaskEnding;
  /** The id of the settlement or refund, which contains the time at which the task ended. */
  readonly resolutionId: string;
  /** The deliveries that announced it. */
  readonly deliveryIds: readonly string[];
}

/** The field of the memo. */
export const ENDING_MEMO = 'ending';

/** The failures of tasks that are no failures of the upstream with the job. */
const OWN_CODES: ReadonlySet<TaskErrorCode> = new Set(['content_policy_violation', 'bad_request']);

/** Whether an upstream failed that accepted the job of a task. */
export function isFailureOfUpstream({ code, cancelledBy }: Omit<TaskFailure, 'message'>): boolean {
  return cancelledBy === undefined && !OWN_CODES.has(code);
}

/** The workflow that waits for a render after the refund of its task. */
export function lateResultIdOf(taskId: string): string {
  return `${taskId}-late`;
}

/** A media task, as the database stores it. */
export interface Task {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly kind: TaskKind;
  readonly model: string;
  readonly capabilityVersion: number | null;
  readonly provider: string;
  readonly request: RenderOrder;
  readonly price: PicoUsd;
  /** The version of the customer's price list that set the price; null for the catalogue's prices. */
  readonly priceList: string | null;
  readonly billableDurationSeconds: number | null;
  /** The request that created the task. */
  readonly requestId: string;
  /** The batch whose line created the task; null for a direct create. */
  readonly batchId: string | null;
  /** The end user whom the create call named; null if it named none, or after the name was erased. */
  readonly endUser: string | null;
  readonly status: TaskStatus;
  readonly reservationId: string;
  readonly resolutionId: string | null;
  readonly providerJobId: string | null;
  readonly output: readonly GeneratedMedia[] | null;
  readonly failure: TaskFailure | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly completedAt: Date | null;
  /** When the task fails with `processing_timeout`, unless it is final. */
  readonly deadlineAt: Date;
}
