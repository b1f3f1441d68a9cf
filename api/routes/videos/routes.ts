import { jsonBodyOf } from '../../endpoint/body.ts';
import { idempotentEndpoint } from '../../endpoint/idempotent.ts';
import { describeByModel } from '../../media-request.ts';
import { CREATED_TASK, createTask } from '../tasks/create.ts';
import { videoRequestSchema } from './schema.ts';

/** Contract 4.2. */
export const createVideoTask = idempotentEndpoint({
  id: 'createVideoTask',
  tag: 'Media tasks',
  path: '/v1/videos/tasks',
  summary: 'Create a video',
  description:
    'Reserves the price and answers at once; the result appears on `GET /v1/tasks/{task_id}` and through webhooks. A failed ' +
    'task costs nothing. Of the inputs only their links are looked at: one that the model cannot use fails the task afterwards.',
  body: jsonBodyOf(
    describeByModel('CreateVideoTask', ({ videoModels }) => videoModels, videoRequestSchema),
    (value, { parseVideoRequest }) => parseVideoRequest(value),
    {
      text: { value: { model: 'vidone-3.0', prompt: 'A lighthouse at dusk, waves breaking below', duration: 5 } },
      images: {
        value: {
          model: 'vidtwo-1.1',
          prompt: 'The camera circles the lighthouse',
          images: ['https://example.com/lighthouse.png'],
        },
      },
    },
  ),
  created: CREATED_TASK,
  refusals: ['insufficient_credits'],
  handle: (request, services) => createTask(request, services),
});
