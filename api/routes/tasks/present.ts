/** The schema of tasks. They are presented by `domain/task-object.ts`, because events contain them too. */
import { TASK_ERROR_CODES } from '../../../domain/errors.ts';
import { nullable } from '../../../domain/json-schema.ts';
import type { TaskObject, TypicalSeconds } from '../../../domain/task-object.ts';
import { TASK_KINDS, TASK_STATUSES } from '../../../domain/task.ts';
import {
  arrayOf,
  boolean,
  component,
  exactly,
  fieldsOf,
  idOf,
  integer,
  namedObject,
  number,
  object,
  objectOf,
  oneOfTexts,
  optional,
  text,
  unixSeconds,
  usd,
} from '../../openapi/json-schema.ts';

type Output = NonNullable<TaskObject['output']>;

const OutputSchema = namedObject<Output>('TaskOutput', {
  media: arrayOf(
    objectOf<Output['media'][number]>({
      type: oneOfTexts(TASK_KINDS),
      url: text('Link to the stored file; download and keep it', { format: 'uri' }),
      mime_type: text(),
      width: optional(integer('Pixels; images only')),
      height: optional(integer('Pixels; images only')),
    }),
  ),
  r2_url: nullable(text('The first file again, for older clients; use `media`', { format: 'uri' })),
});

/** The fields of a task as its owner sees it. */
export const TASK_FIELDS = fieldsOf<TaskObject>({
  id: idOf('task'),
  object: exactly('task'),
  task_kind: oneOfTexts(TASK_KINDS),
  capability_id: text('The model id as sent'),
  capability_version: nullable(integer('The contract version of the model')),
  media_type: oneOfTexts(TASK_KINDS),
  model: text('The model id as sent'),
  status: oneOfTexts(TASK_STATUSES, 'Only `succeeded` and `failed` are final'),
  stage: oneOfTexts(TASK_STATUSES, 'Repeats `status`, for older clients'),
  created_at: unixSeconds('When the task was created'),
  updated_at: unixSeconds('When it last changed'),
  completed_at: nullable(unixSeconds('When it ended; null while running')),
  poll_after_seconds: optional(integer('Seconds to wait before the next poll; only while running')),
  typical_seconds: optional(
    objectOf<TypicalSeconds>(
      {
        p50: number('Half of recent tasks took at most this long; seconds'),
        p90: number('Nine in ten took at most this long; seconds'),
        samples: integer('Number of tasks in the sample'),
      },
      'How long recent tasks of the model took; only while running, and if enough are known',
    ),
  ),
  output: nullable(OutputSchema),
  usage: objectOf<TaskObject['usage']>({
    credits_reserved: usd('Reserved at creation'),
    credits_charged: usd('The price of the task; 0 if it failed'),
    credits_settled: usd('Charged in the end; 0 unless it succeeded'),
    credits_refunded: usd('Returned; everything if it failed'),
    billable_duration_seconds: optional(integer('Seconds that determine the price; videos only')),
  }),
  request_id: text('The id of the request that created the task; quote it to support'),
  error_code: nullable(oneOfTexts(TASK_ERROR_CODES, 'Null unless failed')),
  error_message: nullable(text('The cause and the remedy; null unless failed')),
  retryable: optional(boolean('Whether the same request can succeed later; only if failed')),
});

export const TaskSchema = component('Task', object(TASK_FIELDS, 'A requested image or video.'));
