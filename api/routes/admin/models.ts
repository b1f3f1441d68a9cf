/** Models for operators: listing them, and disabling or enabling a model for all customers. */
import { allModels, type MediaModel, type TextModel } from '../../../catalogue/types.ts';
import type { Authorship } from '../../../db/queries/operator-actions.ts';
import type { ModelOverride } from '../../../db/queries/model-overrides.ts';
import { arrayOf, text } from '../../../domain/json-schema.ts';
import * as field from '../../../domain/resource/field.ts';
import { resource } from '../../../domain/resource/resource.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody, optionalJsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { authorshipOf } from '../../../services/people/administrator.ts';
import { overrideModel } from '../../../services/operations/override-model.ts';
import type { ApiServices } from '../../services.ts';
import { operatorActionSchema, optionalReasonSchema } from '../../../services/input/admin.ts';

/** A model, and the override that disables it. */
interface SoldModel {
  readonly model: MediaModel | TextModel;
  readonly disabled: ModelOverride | null;
}

const SOLD_MODEL = resource<SoldModel>('SoldModel', {
  id: field.text(({ model }) => model.id, 'The id of the model'),
  object: field.constant('sold_model'),
  kind: field.oneOf(['video', 'image', 'text'])(({ model }) => ('kind' in model ? model.kind : 'text')),
  providers: field.texts(text())(
    ({ model }) => [...new Set(model.routes.map(({ provider }) => provider))],
    'The upstreams of the model’s routes',
  ),
  enabled: field.boolean(({ disabled }) => disabled === null, 'False while requests for the model are refused'),
  disabled_at: field.isoTime.orNull(
    ({ disabled }) => disabled?.createdAt ?? null,
    'When the model was disabled. Null if enabled',
  ),
  disabled_by: field.text.orNull(({ disabled }) => disabled?.author ?? null, 'Who disabled the model. Null if enabled'),
  disabled_reason: field.text.orNull(
    ({ disabled }) => disabled?.reason ?? null,
    'Why it was disabled. Null if enabled',
  ),
});

export const soldModelEndpoints = endpoints('Administration', {
  listSoldModels: endpoint({
    request: 'GET /admin/v1/models',
    access: 'admin-read',
    summary: 'List the models of the catalogue, and which are disabled',
    answers: { 200: dataOf(arrayOf(SOLD_MODEL.schema), 'The models') },
    handle: (_call, { catalogue, operations: { models } }) => ({
      data: allModels(catalogue).map((model) => SOLD_MODEL.present({ model, disabled: models.disabledBy(model.id) })),
    }),
  }),
  disableModel: endpoint({
    request: 'POST /admin/v1/models/{model_id}/disable',
    access: 'admin',
    summary: 'Refuse requests for a model',
    description:
      'All processes answer 503 `processing_unavailable` within two seconds. Running requests and tasks continue.',
    body: jsonBody('DisableModel', operatorActionSchema),
    answers: { 200: dataOf(SOLD_MODEL.schema, 'The disabled model') },
    refusals: ['not_found'],
    handle: ({ params, caller, body }, services) =>
      change(services, params.model_id, 'disable', authorshipOf(caller, body)),
  }),
  enableModel: endpoint({
    request: 'POST /admin/v1/models/{model_id}/enable',
    access: 'admin',
    summary: 'Accept requests for a model again',
    description: 'Applies to all processes within two seconds.',
    body: optionalJsonBody('EnableModel', optionalReasonSchema),
    answers: { 200: dataOf(SOLD_MODEL.schema, 'The enabled model') },
    refusals: ['not_found'],
    handle: ({ params, caller, body }, services) =>
      change(services, params.model_id, 'enable', authorshipOf(caller, body)),
  }),
});

async function change(services: ApiServices, id: string, kind: ModelOverride['kind'], why: Authorship) {
  const model = await overrideModel(services, { model: id, kind, ...why });
  return { data: SOLD_MODEL.present({ model, disabled: services.operations.models.disabledBy(id) }) };
}
