/** A batch as clients see it: contract 4.17, in the form of OpenAI's API. */
import { type Batch, type BatchError, BATCH_ENDPOINTS, BATCH_STATUSES, type BatchStatus, pauseOf } from './batch.ts';
import { nullable, text } from './json-schema.ts';
import { BATCHES } from './policy.ts';
import * as field from './resource/field.ts';
import { nested, resource } from './resource/resource.ts';

const ERROR = nested<BatchError>({
  code: field.text('code'),
  message: field.text('message'),
  line: field.integer.orNull('line', 'The number of the line, from 1. Null for an error of the whole file'),
  param: field.text.orNull('param', 'The field of the line'),
});

const ERRORS = nested<readonly BatchError[]>({
  object: field.constant('list'),
  data: field.list(ERROR)((errors) => errors),
});

const COUNTS = nested<Batch['counts']>({
  total: field.integer('total'),
  completed: field.integer('succeeded', 'The requests with an answer'),
  failed: field.integer(
    ({ failed, expired, cancelled }) => failed + expired + cancelled,
    'The requests without an answer, including those that never ran',
  ),
});

/** The time at which a batch reached a final status; null for another status. */
const endedAs =
  (ending: BatchStatus) =>
  ({ status, endedAt }: Batch): Date | null =>
    status === ending ? endedAt : null;

export const BATCH = resource<Batch>('Batch', {
  id: field.id('batch')('id'),
  object: field.constant('batch'),
  endpoint: field.oneOf(BATCH_ENDPOINTS)('endpoint'),
  errors: field.object(ERRORS).orNull('errors', 'Why the input is refused. Null unless `failed`'),
  input_file_id: field.text('inputFileId'),
  completion_window: field.text(() => `${BATCHES.windowHours}h`),
  status: field.oneOf(BATCH_STATUSES)('status'),
  output_file_id: field.text.orNull('outputFileId', 'The file with the answers. Null before the end'),
  error_file_id: field.text.orNull(
    'errorFileId',
    'The file with the requests that have no answer. Null before the end',
  ),
  created_at: field.unixSeconds('createdAt', 'When the batch was created'),
  in_progress_at: field.unixSeconds.orNull('inProgressAt', 'When the requests started'),
  expires_at: field.unixSeconds('expiresAt', 'When requests stop to start'),
  finalizing_at: field.unixSeconds.orNull('finalizingAt', 'When the last request ended'),
  completed_at: field.unixSeconds.orNull(endedAs('completed'), 'When the batch became `completed`'),
  failed_at: field.unixSeconds.orNull(endedAs('failed'), 'When the batch became `failed`'),
  expired_at: field.unixSeconds.orNull(endedAs('expired'), 'When the batch became `expired`'),
  cancelling_at: field.unixSeconds.orNull('cancellingAt', 'When the batch was asked to stop'),
  cancelled_at: field.unixSeconds.orNull(endedAs('cancelled'), 'When the batch became `cancelled`'),
  request_counts: field.object(COUNTS)('counts'),
  paused_reason: field.text.orNull(
    pauseOf,
    'The error code for which no request starts, such as `insufficient_credits`; `processing_unavailable` while the operator pauses the batch. The batch goes on by itself',
  ),
  metadata: field.json(nullable({ type: 'object', additionalProperties: text() }))('metadata'),
});
