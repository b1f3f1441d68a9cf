/** The models of the native format, in the list shape of its SDKs: contract 4.6. */
import { hasFormat, type TextModel } from '../../../catalogue/types.ts';
import type { Caller } from '../../../db/queries/api-keys.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { arrayOf, object, text } from '../../../domain/json-schema.ts';
import * as field from '../../../domain/resource/field.ts';
import { resource } from '../../../domain/resource/resource.ts';
import { json } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import type { ApiServices } from '../../services.ts';
import { findUnavailableReason } from '../../../services/operations/unavailable-model.ts';
import type { Context } from '../../state.ts';

const METHODS = ['generateContent', 'streamGenerateContent'];

const NATIVE_MODEL = resource<TextModel>('NativeModel', {
  name: field.text(({ id }) => `models/${id}`, 'The path of the model below `/v1beta`'),
  displayName: field.text('id'),
  inputTokenLimit: field.integer.orAbsent(({ contextTokens }) => contextTokens ?? undefined),
  outputTokenLimit: field.integer.orAbsent(({ maxOutputTokens }) => maxOutputTokens ?? undefined),
  supportedGenerationMethods: field.texts(text())(() => METHODS),
  thinking: field.boolean('reasoning', 'Whether the model reasons before the answer'),
});

export const nativeModelEndpoints = endpoints('Models', {
  listNativeModels: endpoint({
    request: 'GET /v1beta/models',
    access: 'any-key',
    summary: 'List the callable models of the native format',
    answers: {
      200: { description: 'The models', content: json(object({ models: arrayOf(NATIVE_MODEL.schema) })) },
    },
    handle: ({ caller }, services) => presentNativeModels(caller, services),
  }),
  getNativeModel: endpoint({
    request: 'GET /v1beta/models/{model}',
    access: 'any-key',
    summary: 'Get one model of the native format',
    answers: { 200: { description: 'The model', content: json(NATIVE_MODEL.schema) } },
    handle: ({ caller, params }, services) => presentNativeModel(params.model, caller, services),
  }),
});

/** Whether the key comes in the header of the SDKs of the native format, and not as a placeholder next to a bearer token. */
export function isNativeClient({ headers }: Context): boolean {
  return headers['x-goog-api-key'] !== undefined && headers.authorization === undefined;
}

export function presentNativeModels(caller: Caller, services: ApiServices): object {
  return { models: modelsFor(caller, services).map(NATIVE_MODEL.present) };
}

/** @throws ServiceError `not_found` */
export function presentNativeModel(id: string, caller: Caller, services: ApiServices): object {
  const model = modelsFor(caller, services).find((candidate) => candidate.id === id);
  if (model) return NATIVE_MODEL.present(model);
  throw new ServiceError(
    'not_found',
    'This API key cannot call this model in the native format. GET /v1beta/models lists the models that it can call.',
  );
}

function modelsFor(caller: Caller, services: ApiServices): readonly TextModel[] {
  return [...services.catalogue.textModels.values()].filter(
    (model) =>
      hasFormat(model, 'generate-content') && findUnavailableReason(model, caller, services.operations) === null,
  );
}
