/** The models that a key may call: specification section 4.6. */
import type Router from '@koa/router';
import type { Catalogue, MediaModel, TextModel } from '../../../catalogue/types.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { isAllowedModel } from '../../../domain/api-key.ts';
import { callerOf, type Middleware, type RequestState } from '../../state.ts';
import { presentModel } from './present.ts';

export interface ModelServices {
  readonly catalogue: Catalogue;
  /** Takes the key from the headers of every format, for clients of all of them ask for the models. */
  readonly authenticateAnyFormat: Middleware;
  readonly limitRequests: Middleware;
}

export function modelRoutes(router: Router<RequestState>, services: ModelServices): void {
  const { catalogue, authenticateAnyFormat: authenticate, limitRequests } = services;
  const models = allModels(catalogue);

  router.get('/v1/models', authenticate, limitRequests, async (context) => {
    const { key } = callerOf(context);
    const enabled = [...models.values()].filter(({ id }) => isAllowedModel(key, id));
    context.body = { object: 'list', data: enabled.map((model) => presentModel(model, catalogue)) };
  });

  router.get('/v1/models/:modelId', authenticate, limitRequests, async (context) => {
    const model = models.get(context.params['modelId'] ?? '');
    if (!model || !isAllowedModel(callerOf(context).key, model.id)) {
      throw new ServiceError('not_found', 'The API key has no such model. GET /v1/models lists those it has.');
    }
    context.body = presentModel(model, catalogue);
  });
}

function allModels(catalogue: Catalogue): ReadonlyMap<string, MediaModel | TextModel> {
  return new Map<string, MediaModel | TextModel>([
    ...catalogue.videoModels,
    ...catalogue.imageModels,
    ...catalogue.textModels,
  ]);
}
