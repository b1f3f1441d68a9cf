import { endpoints } from '../../endpoint/endpoint.ts';
import { jsonBodyOf } from '../../endpoint/body.ts';
import { idempotentEndpoint } from '../../endpoint/idempotent.ts';
import { describeByModel } from '../../openapi/describe-by-model.ts';
import { CREATED_TASK, createTask } from '../tasks/create.ts';
import { imageRequestSchema } from '../../../services/input/image-request.ts';

export const imageTaskEndpoints = endpoints('Media tasks', {
  /** Contract 4.3. */
  createImageTask: idempotentEndpoint({
    request: 'POST /v1/images/tasks',
    summary: 'Create an image',
    description:
      'Reserves the price and answers at once, like `POST /v1/videos/tasks`. Refuses a link in `images` that does not lead to a ' +
      'PNG, JPEG or WebP picture.',
    body: jsonBodyOf(
      describeByModel('CreateImageTask', ({ imageModels }) => imageModels, imageRequestSchema),
      (value, { tasks: { parseImageRequest } }) => parseImageRequest(value),
      {
        text: { value: { model: 'imagea-2.5-sunburst', prompt: 'A lighthouse at dusk, in watercolour' } },
        size: {
          value: {
            model: 'imagea-2.5-sunburst',
            prompt: 'The same, at night',
            size: '1536x1024',
            background: 'opaque',
          },
        },
      },
    ),
    created: CREATED_TASK,
    refusals: ['insufficient_credits'],
    handle: (request, services) => createTask(request, services, services.tasks.checkImageLinks),
  }),
});
