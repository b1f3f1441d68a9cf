import { endpoints } from '../../endpoint/endpoint.ts';
import { jsonBodyOf } from '../../endpoint/body.ts';
import { idempotentEndpoint } from '../../endpoint/idempotent.ts';
import { describeByModel } from '../../openapi/describe-by-model.ts';
import { CREATED_TASK, createTask } from '../tasks/create.ts';
import { videoRequestSchema } from '../../../services/input/video-request.ts';

export const videoTaskEndpoints = endpoints('Media tasks', {
  /** Contract 4.2. */
  createVideoTask: idempotentEndpoint({
    request: 'POST /v1/videos/tasks',
    summary: 'Create a video',
    description:
      'Reserves the price and answers at once. `GET /v1/tasks/{task_id}` and webhooks return the result. A failed task costs ' +
      'nothing. The call checks only the links of inputs: a file that the model cannot use fails the task later.',
    body: jsonBodyOf(
      describeByModel('CreateVideoTask', ({ videoModels }) => videoModels, videoRequestSchema),
      (value, { tasks: { parseVideoRequest } }) => parseVideoRequest(value),
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
  }),
});
