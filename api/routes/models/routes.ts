/** The models that a key may call: contract 4.6. */
import { allModels } from '../../../catalogue/types.ts';
import { isAllowedModel } from '../../../domain/api-key.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { json } from '../../endpoint/answers.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { arrayOf, exactly, object } from '../../openapi/json-schema.ts';
import { ModelSchema } from './model-schema.ts';
import { presentModel } from './present.ts';

export const listModels = endpoint({
  id: 'listModels',
  tag: 'Models',
  method: 'get',
  path: '/v1/models',
  access: 'any-key',
  summary: 'List the models that the key may call',
  description: 'Also served on the text address. The key may be sent in the header of any format.',
  answers: {
    200: {
      description: 'All models, in the list shape of widely used SDKs',
      content: json(object({ object: exactly('list'), data: arrayOf(ModelSchema) })),
    },
  },
  handle: ({ caller }, { catalogue }) => {
    const enabled = allModels(catalogue).filter(({ id }) => isAllowedModel(caller.key, id));
    return { object: 'list', data: enabled.map((model) => presentModel(model, catalogue)) };
  },
});

export const getModel = endpoint({
  id: 'getModel',
  tag: 'Models',
  method: 'get',
  path: '/v1/models/{model_id}',
  access: 'any-key',
  summary: 'Get one model',
  answers: { 200: { description: 'The model', content: json(ModelSchema) } },
  handle: ({ caller, params }, { catalogue }) => {
    const model = allModels(catalogue).find(({ id }) => id === params.model_id);
    if (!model || !isAllowedModel(caller.key, model.id)) {
      throw new ServiceError('not_found', 'There is no such model for this API key. GET /v1/models lists its models.');
    }
    return presentModel(model, catalogue);
  },
});
