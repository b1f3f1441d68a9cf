/** Chooses the model of a request, and checks that the model supports the request's options. */
import { hasFormat, isClaudeStyle, speaks, type Catalogue, type TextModel } from '../../catalogue/types.ts';
import type { ApiKey } from '../../db/queries/api-keys.ts';
import { badRequest, ServiceError } from '../../domain/errors.ts';
import type { TextRequest } from '../../text/canonical.ts';
import { noEmbeddingsError } from '../../text/embeddings/index.ts';
import { FORMATS } from '../../text/formats.ts';
import { withOfferedEffort } from '../../text/reasoning.ts';
import { unusedFields } from '../../text/unused-fields.ts';
import type { RequestFormat } from '../../text/wire-format.ts';
import { isAllowedModel, modelRefusal } from '../../domain/api-key.ts';
import type { Compatibility } from '../../domain/compatibility.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import {
  type RequestFormatName,
  SINGLE_FORMAT_NAMES,
  type SingleFormatName,
  type WireFormatName,
} from '../../domain/wire-format-name.ts';

/** Fields of the responses format that only some families support: contract 4.8.2. */
const FIELDS_OF_SOME_FAMILIES = ['reasoning', 'text'];
/** How each of these kinds of requests is made. */
const CALLS: Readonly<Record<SingleFormatName, string>> = {
  embeddings: 'POST /v1/embeddings',
  rerank: 'POST /v1/rerank',
  speech: 'POST /v1/audio/speech',
  transcriptions: 'POST /v1/audio/transcriptions',
  translations: 'POST /v1/audio/translations',
  realtime: 'GET /v1/realtime',
};
/** No id of the catalogue is longer, so an error message shows only this many characters. */
const MAX_SHOWN_ID = 100;

/** A model, and the request adapted to the model. */
export interface ChosenModel {
  readonly model: TextModel;
  readonly request: TextRequest;
}

/** How much of a request's fields the requested model honours. @param modelId as sent */
export function compatibilityOf(modelId: unknown, { textModels }: Catalogue): Compatibility {
  return (typeof modelId === 'string' ? textModels.get(modelId)?.compatibility : undefined) ?? 'specification';
}

/** The body of a request as models of this compatibility get it. */
export function adoptedBody(
  { client }: { readonly client: Pick<RequestFormat, 'adoptBody'> },
  body: JsonObject,
  compatibility: Compatibility,
): JsonObject {
  return compatibility === 'full' ? (client.adoptBody?.(body) ?? body) : body;
}

/**
 * The model of a request.
 *
 * @param body the request as sent
 * @throws ServiceError the errors of {@link findModel}; 400 `bad_request` for options that the model does not support
 */
export function chooseModel(
  format: RequestFormatName,
  body: JsonObject,
  request: TextRequest,
  key: ApiKey,
  catalogue: Catalogue,
): ChosenModel {
  const model = findModel(format, request.model, key, catalogue);
  if (isSingle(format)) return { model, request };
  return adaptRequest(
    format,
    body,
    request,
    request.audioOutput === undefined ? model : withSpeakingRoutes(format, model, request),
  );
}

function adaptRequest(format: WireFormatName, body: JsonObject, request: TextRequest, model: TextModel): ChosenModel {
  if (model.compatibility === 'full') {
    const offered = withOfferedEffort(request, model);
    const isDropped = request.reasoningEffort !== undefined && offered.reasoningEffort === undefined;
    const dropped = { always: isDropped ? [effortField(format)] : [], converted: [] };
    return { model, request: { ...offered, unused: unusedFields(request.unused, dropped) } };
  }
  if (format === 'responses') checkFieldsOfSome(body, model);
  const isMinimal = format === 'chat-completions' && request.reasoningEffort === 'minimal';
  if (isMinimal) return { model, request: withOfferedEffort(request, { ...model, reasoning: true }) };
  checkEffort(format, request, model);
  return { model, request };
}

/** How a request asks for audio, where the format can. */
const AUDIO_FIELDS: Readonly<Partial<Record<WireFormatName, string>>> = {
  'chat-completions': 'modalities',
  'generate-content': 'generationConfig.responseModalities',
};

/** The model with only the routes that answer with audio. */
function withSpeakingRoutes(format: WireFormatName, model: TextModel, { outputFormat }: TextRequest): TextModel {
  const field = AUDIO_FIELDS[format];
  const [first, ...others] = model.routes.filter(speaks);
  if (first === undefined) {
    throw badRequest(
      `"${field}": ${model.id} does not answer with audio; use a model that GET /v1/models lists with audio in "output_modalities"`,
    );
  }
  if (outputFormat !== undefined)
    throw badRequest(`"${field}": an answer with audio cannot be JSON; ask for text alone`);
  return { ...model, routes: [first, ...others] };
}

/**
 * The model with this id.
 *
 * @throws ServiceError 404 `not_found` for an id that is unknown or not served in this format; 403 `access_denied` for
 *   one outside the key's group; 400 `bad_request` for a family that the format does not serve
 */
export function findModel(format: RequestFormatName, modelId: string, key: ApiKey, catalogue: Catalogue): TextModel {
  const id = modelId.slice(0, MAX_SHOWN_ID);
  const model = catalogue.textModels.get(modelId);
  if (format === 'responses' && isClaudeStyle(catalogue, id) && model?.compatibility !== 'full') {
    throw badRequest(`"model": ${id} is not served on /v1/responses; use /v1/messages or /v1/chat/completions`);
  }
  if (model === undefined) throw unknownModel(id, catalogue);
  if (!hasFormat(model, format)) throw notServed(model, format);
  if (!isAllowedModel(key, model.id)) throw new ServiceError('access_denied', modelRefusal(model.id));
  return model;
}

function checkFieldsOfSome(body: JsonObject, model: TextModel): void {
  for (const field of FIELDS_OF_SOME_FAMILIES) {
    if (asksForSomething(body[field]) && !model.responsesFields.includes(field)) {
      throw badRequest(`field "${field}" is not supported by model ${model.id}`);
    }
  }
}

/** Clients send these fields empty, or with the format that every answer has anyway. */
function asksForSomething(settings: unknown): boolean {
  if (settings === undefined || settings === null) return false;
  if (!isObject(settings)) return true;
  return Object.entries(settings).some(
    ([name, value]) => value !== null && !(name === 'format' && isObject(value) && value['type'] === 'text'),
  );
}

function checkEffort(format: WireFormatName, { reasoningEffort }: TextRequest, model: TextModel): void {
  if (reasoningEffort === undefined || model.reasoningEfforts.length === 0) return;
  if (model.reasoningEfforts.includes(reasoningEffort)) return;
  throw badRequest(`"${effortField(format)}" must be one of: [${model.reasoningEfforts.join(' ')}]`);
}

function effortField(format: WireFormatName): string {
  return FORMATS[format].client.settingNames.reasoningEffort;
}

function isSingle(format: RequestFormatName): format is SingleFormatName {
  return SINGLE_FORMAT_NAMES.some((name) => name === format);
}

function unknownModel(id: string, { imageModels, videoModels }: Catalogue): ServiceError {
  if (imageModels.has(id)) return notFound(`The model ${id} creates images: use POST /v1/images/tasks.`);
  if (videoModels.has(id)) return notFound(`The model ${id} creates videos: use POST /v1/videos/tasks.`);
  return notFound(`There is no text model "${id}". Ids are exact and case-sensitive: GET /v1/models lists them.`);
}

function notServed({ id, formats }: TextModel, format: RequestFormatName): ServiceError {
  if (format === 'embeddings') return noEmbeddingsError();
  if (isSingle(format)) {
    return notFound(
      `The model ${id} has no ${format}. Use a model that GET /v1/models lists with "${format}" in "formats".`,
    );
  }
  const [own] = formats.filter(isSingle);
  if (own !== undefined) return notFound(`The model ${id} has only ${formats.join(' and ')}: use ${CALLS[own]}.`);
  return notFound(`The model ${id} is not served in the ${format} format.`);
}

function notFound(message: string): ServiceError {
  return new ServiceError('not_found', message);
}
