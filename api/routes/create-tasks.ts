/** `POST /v1/videos/tasks` and `POST /v1/images/tasks`: specification sections 4.1 to 4.3. */
import type Router from '@koa/router';
import { assertAllowedModel, assertNotExhausted } from '../../domain/api-key.ts';
import type { MediaRequestContext } from '../media-request.ts';
import { idempotently } from '../services/idempotency.ts';
import { assertToppedUp } from '../services/create-task.ts';
import { callerOf, type RequestState } from '../state.ts';
import type { ApiServices } from '../services/services.ts';
import { createImageRequestParser } from './images/schema.ts';
import { createVideoRequestParser } from './videos/schema.ts';

export function createTaskRoutes(router: Router<RequestState>, services: ApiServices): void {
  const context: MediaRequestContext = { isInputLink: services.isInputLink };
  const endpoints = [
    { path: '/v1/videos/tasks', parse: createVideoRequestParser(services.catalogue, context), checkInputs: null },
    {
      path: '/v1/images/tasks',
      parse: createImageRequestParser(services.catalogue, context),
      checkInputs: services.checkImageLinks,
    },
  ];
  for (const { path, parse, checkInputs } of endpoints) {
    router.post(path, services.authenticate, services.limitRequests, services.jsonBody, (context) =>
      idempotently(context, services, async (claim) => {
        const caller = callerOf(context);
        const request = parse(context.state.body);
        assertNotExhausted(caller.key);
        assertAllowedModel(caller.key, request.model.id);
        assertToppedUp(caller, request.model.id);
        const links = request.render.images ?? [];
        // Nobody else hears of a request that would not be paid for.
        if (services.moderate || (checkInputs && links.length > 0)) await services.assertAffordable(caller, request);
        await checkInputs?.(links);
        await services.moderate?.(request.render);
        const created = await services.createTask(caller, request, context.state.requestId, claim);
        context.state.createdTaskId = created.taskId;
        return created;
      }),
    );
  }
}
