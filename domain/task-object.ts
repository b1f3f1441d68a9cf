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
    p50: field.number('p50', 'Half of recent tasks took at most this long; seconds'),
    p90: field.number('p90', 'Nine in ten took at most this long; seconds'),
    samples: field.integer('samples', 'Number of tasks in the sample'),
  },
  'How long recent tasks of the model took; only while running, and if enough are known',
);

const MEDIA = nested<GeneratedMedia>({
  type: field.oneOf(TASK_KINDS)('type'),
  url: field.url('url', 'Link to the stored file; download and keep it'),
  mime_type: field.text('mimeType'),
  width: field.integer.orAbsent(({ width }) => width, 'Pixels; images only'),
  height: field.integer.orAbsent(({ height }) => height, 'Pixels; images only'),
});

const OUTPUT = resource<readonly GeneratedMedia[]>('TaskOutput', {
  media: field.list(MEDIA)((media) => media),
  r2_url: field.url.orNull(([first]) => first?.url ?? null, 'The first file again, for older clients; use `media`'),
});

const USAGE = nested<Task>({
  credits_reserved: field.usd('price', 'Reserved at creation'),
  credits_charged: field.usd(
    ({ status, price }) => (status === 'failed' ? 0n : price),
    'The price of the task; 0 if it failed',
  ),
  credits_settled: field.usd(
    ({ status, price }) => (status === 'succeeded' ? price : 0n),
    'Charged in the end; 0 unless it succeeded',
  ),
  credits_refunded: field.usd(
    ({ status, price }) => (status === 'failed' ? price : 0n),
    'Returned; everything if it failed',
  ),
  billable_duration_seconds: field.integer.orAbsent(
    ({ billableDurationSeconds }) => billableDurationSeconds ?? undefined,
    'Seconds that determine the price; videos only',
  ),
  price_list: field.text.orAbsent(
    ({ priceList }) => priceList ?? undefined,
    'The version of the account’s price list that set the price; absent for the prices of the catalogue',
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
    status: field.oneOf(TASK_STATUSES)('status', 'Only `succeeded` and `failed` are final'),
    stage: field.oneOf(TASK_STATUSES)('status', 'Repeats `status`, for older clients'),
    created_at: field.unixSeconds('createdAt', 'When the task was created'),
    updated_at: field.unixSeconds('updatedAt', 'When it last changed'),
    completed_at: field.unixSeconds.orNull('completedAt', 'When it ended; null while running'),
    poll_after_seconds: field.integer.orAbsent(
      ({ status, kind }) => (isFinal(status) ? undefined : POLL_AFTER_SECONDS[kind]),
      'Seconds to wait before the next poll; only while running',
    ),
    typical_seconds: field
      .object(TYPICAL_SECONDS)
      .orAbsent(({ status, typicalSeconds }) => (isFinal(status) ? undefined : (typicalSeconds ?? undefined))),
    output: field.object(OUTPUT).orNull('output'),
    usage: field.object(USAGE)((task) => task),
    request_id: field.text('requestId', 'The id of the request that created the task; quote it to support'),
    end_user: field.text.orAbsent(
      ({ endUser }) => endUser ?? undefined,
      'The end user whom the create call named; absent if it named none, and once the name is erased',
    ),
    error_code: field.oneOf(TASK_ERROR_CODES).orNull(({ failure }) => failure?.code ?? null, 'Null unless failed'),
    error_message: field.text.orNull(
      ({ failure }) => failure?.message ?? null,
      'The cause and the remedy; null unless failed',
    ),
    retryable: field.boolean.orAbsent(
      ({ failure }) => failure?.code && ERRORS[failure.code].retryable,
      'Whether the same request can succeed later; only if failed',
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
    task_id: field.id('task')('taskId', 'The task that was refunded'),
    expires_at: field.unixSeconds('expiresAt', 'Until when it can be claimed'),
    claimed_task_id: field.id('task').orNull('claimedTaskId', 'The task that it became; null until it is claimed'),
  },
  'A result that came after the refund of its task.',
);
