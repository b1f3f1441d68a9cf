/** Models as operators see them: which are sold, and disabling one for all customers at once. */
import { allModels, type MediaModel, type TextModel } from '../../../catalogue/types.ts';
import type { ModelOrder } from '../../../db/queries/model-orders.ts';
import { nullable } from '../../../domain/json-schema.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody, optionalJsonBody } from '../../endpoint/body.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { arrayOf, boolean, exactly, isoTime, namedObject, oneOfTexts, text } from '../../openapi/json-schema.ts';
import { type Administrator, authorOf } from '../../services/administrator.ts';
import { orderModel } from '../../services/order-model.ts';
import type { ApiServices } from '../../services/services.ts';
import { operatorActionSchema, optionalReasonSchema } from './schema.ts';

const SoldModelSchema = namedObject<ReturnType<typeof presentSold>>('SoldModel', {
  id: text('Its id'),
  object: exactly('sold_model'),
  kind: oneOfTexts(['video', 'image', 'text']),
  providers: arrayOf(text(), 'The upstreams of its routes'),
  enabled: boolean('False while requests for it are refused'),
  disabled_at: nullable(isoTime('Since when it is disabled')),
  disabled_by: nullable(text('Who disabled it')),
  disabled_reason: nullable(text('Why')),
});

export const listSoldModels = endpoint({
  id: 'listSoldModels',
  tag: 'Administration',
  method: 'get',
  path: '/admin/v1/models',
  access: 'admin-read',
  summary: 'List the models of the catalogue, and which are disabled',
  answers: { 200: dataOf(arrayOf(SoldModelSchema), 'The models') },
  handle: (_call, { catalogue, models }) => ({
    data: allModels(catalogue).map((model) => presentSold(model, models.disabledBy(model.id))),
  }),
});

export const disableModel = endpoint({
  id: 'disableModel',
  tag: 'Administration',
  method: 'post',
  path: '/admin/v1/models/{model_id}/disable',
  access: 'admin',
  summary: 'Refuse requests for a model',
  description:
    'With 503 `processing_unavailable`, in all processes, within two seconds. Requests and tasks under way go on.',
  body: jsonBody('DisableModel', operatorActionSchema),
  answers: { 200: dataOf(SoldModelSchema, 'The model, disabled') },
  refusals: ['not_found'],
  handle: ({ params, caller, body }, services) => order(services, params.model_id, 'disable', { ...body, by: caller }),
});

export const enableModel = endpoint({
  id: 'enableModel',
  tag: 'Administration',
  method: 'post',
  path: '/admin/v1/models/{model_id}/enable',
  access: 'admin',
  summary: 'Take requests for a model again',
  description: 'In all processes, within two seconds.',
  body: optionalJsonBody('EnableModel', optionalReasonSchema),
  answers: { 200: dataOf(SoldModelSchema, 'The model, enabled') },
  refusals: ['not_found'],
  handle: ({ params, caller, body }, services) => order(services, params.model_id, 'enable', { ...body, by: caller }),
});

interface Why {
  readonly author?: string;
  readonly reason?: string;
  readonly by: Administrator;
}

async function order(
  services: ApiServices,
  id: string,
  kind: ModelOrder['kind'],
  { author: given, reason = 'not given', by }: Why,
) {
  const author = authorOf(by, given);
  const model = await orderModel(services, { model: id, kind, author, reason });
  return { data: presentSold(model, services.models.disabledBy(id)) };
}

function presentSold(model: MediaModel | TextModel, disabled: ModelOrder | null) {
  return {
    id: model.id,
    object: 'sold_model',
    kind: 'kind' in model ? model.kind : 'text',
    providers: [...new Set(model.routes.map(({ provider }) => provider))],
    enabled: disabled === null,
    disabled_at: disabled?.createdAt.toISOString() ?? null,
    disabled_by: disabled?.author ?? null,
    disabled_reason: disabled?.reason ?? null,
  };
}
