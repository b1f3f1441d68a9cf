/** The task object as clients see it, in polling and in webhook payloads: contract 2.1 and 2.2. */
import { ERRORS, TASK_ERROR_CODES } from './errors.ts';
import * as field from './resource/field.ts';
import { nested, resource } from './resource/resource.ts';
import { type GeneratedMedia, isFinal, POLL_AFTER_SECONDS, type Task, TASK_KINDS, TASK_STATUSES } from './task.ts';

/** How long recent tasks of the same model took, in seconds. */
export interface TypicalSeconds {
  readonly p50: number;
  readonly p90: number;
  readonly samples: number;
}

const TYPICAL_SECONDS = nested<TypicalSeconds>(
  {
    p50: field.number('p50', 'The median duration, in seconds'),
    p90: field.number('p90', 'The 90th percentile of the durations, in seconds'),
    samples: field.integer('samples', 'The number of tasks in the sample'),
  },
  'The durations of recent tasks of the model. Only while running, and with enough samples',
);

const MEDIA = nested<GeneratedMedia>({
  type: field.oneOf(TASK_KINDS)('type'),
  url: field.url('url', 'The link to the stored file. Download the file and keep it'),
  mime_type: field.text('mimeType'),
  width: field.integer.orAbsent(({ width }) => width, 'In pixels. Only for images'),
  height: field.integer.orAbsent(({ height }) => height, 'In pixels. Only for images'),
});

const OUTPUT = resource<readonly GeneratedMedia[]>('TaskOutput', {
  media: field.list(MEDIA)((media) => media),
  r2_url: field.url.orNull(([first]) => first?.url ?? null, 'The first file, for older clients. Use `media`'),
});

const USAGE = nested<Task>({
  credits_reserved: field.usd('price', 'The amount reserved at creation'),
  credits_charged: field.usd(
    ({ status, price }) => (status === 'failed' ? 0n : price),
    'The price of the task. 0 if the task failed',
  ),
  credits_settled: field.usd(
    ({ status, price }) => (status === 'succeeded' ? price : 0n),
    'The amount charged. 0 unless the task succeeded',
  ),
  credits_refunded: field.usd(
    ({ status, price }) => (status === 'failed' ? price : 0n),
    'The amount refunded. 0 unless the task failed',
  ),
  billable_duration_seconds: field.integer.orAbsent(
    ({ billableDurationSeconds }) => billableDurationSeconds ?? undefined,
    'The seconds that determine the price. Only for videos',
  ),
  price_list: field.text.orAbsent(
    ({ priceList }) => priceList ?? undefined,
    'The version of the account’s price list. Absent if the catalogue’s prices applied',
  ),
});

/** A task, with how long tasks of its model take; null when too few recent tasks of the model exist. */
interface ShownTask extends Task {
  readonly typicalSeconds?: TypicalSeconds | null;
}

/** The task as its owner sees it when polling. */
export const TASK = resource<ShownTask>(
  'Task',
  {
    id: field.id('task')('id'),
    object: field.constant('task'),
    task_kind: field.oneOf(TASK_KINDS)('kind'),
    capability_id: field.text('model', 'The model id as sent'),
    capability_version: field.integer.orNull('capabilityVersion', 'The contract version of the model'),
    media_type: field.oneOf(TASK_KINDS)('kind'),
    model: field.text('model', 'The model id as sent'),
    status: field.oneOf(TASK_STATUSES)('status', 'The status. Only `succeeded` and `failed` are final'),
    stage: field.oneOf(TASK_STATUSES)('status', 'The same as `status`, for older clients'),
    created_at: field.unixSeconds('createdAt', 'When the task was created'),
    updated_at: field.unixSeconds('updatedAt', 'When the task last changed'),
    completed_at: field.unixSeconds.orNull('completedAt', 'When the task ended. Null while running'),
    poll_after_seconds: field.integer.orAbsent(
      ({ status, kind }) => (isFinal(status) ? undefined : POLL_AFTER_SECONDS[kind]),
      'The time before the next poll, in seconds. Only while running',
    ),
    typical_seconds: field
      .object(TYPICAL_SECONDS)
      .orAbsent(({ status, typicalSeconds }) => (isFinal(status) ? undefined : (typicalSeconds ?? undefined))),
    output: field.object(OUTPUT).orNull('output'),
    usage: field.object(USAGE)((task) => task),
    request_id: field.text('requestId', 'The id of the create request. Quote the id to support'),
    batch_id: field
      .id('batch')
      .orAbsent(
        ({ batchId }) => batchId ?? undefined,
        'The batch whose line created the task. Absent for a direct create',
      ),
    end_user: field.text.orAbsent(
      ({ endUser }) => endUser ?? undefined,
      'The end user. Absent if the create call names none, or the name is erased',
    ),
    error_code: field.oneOf(TASK_ERROR_CODES).orNull(({ failure }) => failure?.code ?? null, 'Null unless failed'),
    error_message: field.text.orNull(
      ({ failure }) => failure?.message ?? null,
      'The cause and the remedy. Null unless failed',
    ),
    retryable: field.boolean.orAbsent(
      ({ failure }) => failure?.code && ERRORS[failure.code].retryable,
      'Whether the same request can succeed later. Only if failed',
    ),
  },
  'A requested image or video.',
);

/** A result that was rendered after its task was refunded. */
export interface LateResult {
  /** The task that was refunded. */
  readonly taskId: string;
  readonly expiresAt: Date;
  /** The task made from the claimed result; null until the result is claimed. */
  readonly claimedTaskId: string | null;
}

export const LATE_RESULT = resource<LateResult>(
  'LateResult',
  {
    object: field.constant('late_result'),
    task_id: field.id('task')('taskId', 'The refunded task'),
    expires_at: field.unixSeconds('expiresAt', 'When the right to claim expires'),
    claimed_task_id: field.id('task').orNull('claimedTaskId', 'The task with the claimed result. Null until claimed'),
  },
  'A result that arrived after the refund of its task.',
);
