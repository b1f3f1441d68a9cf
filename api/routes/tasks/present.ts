/** How tasks are described. What shows them is `domain/task-object.ts`, because events show them too. */
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
  number,
  object,
  oneOfTexts,
  optional,
  text,
  unixSeconds,
  usd,
} from '../../openapi/json-schema.ts';

type Output = NonNullable<TaskObject['output']>;

const OutputSchema = component(
  'TaskOutput',
  object(
    fieldsOf<Output>({
      media: arrayOf(
        object(
          fieldsOf<Output['media'][number]>({
            type: oneOfTexts(TASK_KINDS),
            url: text('Link to the stored file; download and keep it', { format: 'uri' }),
            mime_type: text(),
            width: optional(integer('Pixels; images only')),
            height: optional(integer('Pixels; images only')),
          }),
        ),
      ),
      r2_url: nullable(text('The first file again, for older clients; read `media`', { format: 'uri' })),
    }),
  ),
);

/** The fields of a task as its owner sees it. */
export const TASK_FIELDS = fieldsOf<TaskObject>({
  id: idOf('task'),
  object: exactly('task'),
  task_kind: oneOfTexts(TASK_KINDS),
  capability_id: text('The model ID that was sent'),
  capability_version: nullable(integer('Contract version of the model')),
  media_type: oneOfTexts(TASK_KINDS),
  model: text('The model ID that was sent'),
  status: oneOfTexts(TASK_STATUSES, 'Only `succeeded` and `failed` are final'),
  stage: oneOfTexts(TASK_STATUSES, 'Repeats `status`, for older clients'),
  created_at: unixSeconds('When the task was created'),
  updated_at: unixSeconds('When it last changed'),
  completed_at: nullable(unixSeconds('When it ended; null while running')),
  poll_after_seconds: optional(integer('Wait so long before the next poll; while running')),
  typical_seconds: optional(
    object(
      fieldsOf<TypicalSeconds>({
        p50: number('Half of the recent tasks took no longer; seconds'),
        p90: number('Nine of ten took no longer; seconds'),
        samples: integer('How many tasks that is about'),
      }),
      'How long recent tasks of the model took; while running, and when enough of them are known',
    ),
  ),
  output: nullable(OutputSchema),
  usage: object(
    fieldsOf<TaskObject['usage']>({
      credits_reserved: usd('Held at creation'),
      credits_charged: usd('What the task costs; 0 when it failed'),
      credits_settled: usd('Finally taken; 0 unless it succeeded'),
      credits_refunded: usd('Returned; all of it when it failed'),
      billable_duration_seconds: optional(integer('Seconds that the price is based on; videos only')),
    }),
  ),
  request_id: text('Of the request that created the task; quote it to support'),
  error_code: nullable(oneOfTexts(TASK_ERROR_CODES, 'Null unless failed')),
  error_message: nullable(text('The cause, and what to change; null unless failed')),
  retryable: optional(boolean('Whether the same request can succeed; when failed')),
});

export const TaskSchema = component('Task', object(TASK_FIELDS, 'An image or a video that was asked for.'));
