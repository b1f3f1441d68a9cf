/** The task object as clients see it, in polling and in webhook payloads: contract 2.1 and 2.2. */
import { ERRORS } from './errors.ts';
import { toUsdNumber } from './money.ts';
import { type GeneratedMedia, type Task, isFinal, POLL_AFTER_SECONDS } from './task.ts';
import { toUnixSeconds } from './unix-time.ts';

/** How long recent tasks of the same model took, in seconds. */
export interface TypicalSeconds {
  readonly p50: number;
  readonly p90: number;
  readonly samples: number;
}

export interface TaskObject {
  readonly id: string;
  readonly object: 'task';
  readonly task_kind: string;
  readonly capability_id: string;
  readonly capability_version: number | null;
  readonly media_type: string;
  readonly model: string;
  readonly status: string;
  readonly stage: string;
  readonly created_at: number;
  readonly updated_at: number;
  readonly completed_at: number | null;
  readonly poll_after_seconds?: number;
  readonly typical_seconds?: TypicalSeconds;
  readonly output: TaskOutputObject | null;
  readonly usage: {
    readonly credits_reserved: number;
    readonly credits_charged: number;
    readonly credits_settled: number;
    readonly credits_refunded: number;
    readonly billable_duration_seconds?: number;
  };
  readonly request_id: string;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly retryable?: boolean;
}

interface TaskOutputObject {
  readonly media: readonly {
    readonly type: string;
    readonly url: string;
    readonly mime_type: string;
    readonly width?: number;
    readonly height?: number;
  }[];
  readonly r2_url: string | null;
}

/** The task as polling shows it. @param typicalSeconds null when too few recent tasks of the model exist */
export function presentTask(task: Task, typicalSeconds: TypicalSeconds | null = null): TaskObject {
  const running = !isFinal(task.status);
  const price = toUsdNumber(task.price);
  return {
    id: task.id,
    object: 'task',
    task_kind: task.kind,
    capability_id: task.model,
    capability_version: task.capabilityVersion,
    media_type: task.kind,
    model: task.model,
    status: task.status,
    stage: task.status,
    created_at: toUnixSeconds(task.createdAt),
    updated_at: toUnixSeconds(task.updatedAt),
    completed_at: task.completedAt && toUnixSeconds(task.completedAt),
    ...(running && { poll_after_seconds: POLL_AFTER_SECONDS[task.kind] }),
    ...(running && typicalSeconds && { typical_seconds: typicalSeconds }),
    output: task.output && presentOutput(task.output),
    usage: {
      credits_reserved: price,
      credits_charged: task.status === 'failed' ? 0 : price,
      credits_settled: task.status === 'succeeded' ? price : 0,
      credits_refunded: task.status === 'failed' ? price : 0,
      ...(task.billableDurationSeconds !== null && { billable_duration_seconds: task.billableDurationSeconds }),
    },
    request_id: task.requestId,
    error_code: task.failure?.code ?? null,
    error_message: task.failure?.message ?? null,
    ...(task.failure && { retryable: ERRORS[task.failure.code].retryable }),
  };
}

function presentOutput(media: readonly GeneratedMedia[]): TaskOutputObject {
  return {
    media: media.map(({ type, url, mimeType, width, height }) => ({
      type,
      url,
      mime_type: mimeType,
      ...(width !== undefined && { width }),
      ...(height !== undefined && { height }),
    })),
    r2_url: media[0]?.url ?? null,
  };
}
