/** Which model a request is for, and whether it may be asked what it is asked. */
import { answersFormat, isClaudeStyle, type Catalogue, type TextModel } from '../../catalogue/types.ts';
import type { ApiKey } from '../../db/queries/api-keys.ts';
import { badRequest, ServiceError } from '../../domain/errors.ts';
import type { TextRequest } from '../../text/canonical.ts';
import { isAllowedModel, modelRefusal } from '../../domain/api-key.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { WireFormatName } from '../../domain/wire-format-name.ts';

/** Fields that only some families take on the responses format: contract 4.8.2. */
const FIELDS_OF_SOME = ['reasoning', 'text'];
/** How each format calls the effort of reasoning. */
const EFFORT_FIELD: Readonly<Record<WireFormatName, string>> = {
  'chat-completions': 'reasoning_effort',
  responses: 'reasoning.effort',
  messages: 'output_config.effort',
  'generate-content': 'generationConfig.thinkingConfig',
};
/** Longer ones are none of ours, and not worth repeating in whole. */
const MAX_SHOWN_ID = 100;

/**
 * The model of a request.
 *
 * @param body the request as it was sent
 * @throws ServiceError what {@link findModel} throws; 400 `bad_request` for what the model does not take
 */
export function chooseModel(
  format: WireFormatName,
  body: JsonObject,
  request: TextRequest,
  key: ApiKey,
  catalogue: Catalogue,
): TextModel {
  const model = findModel(format, request.model, key, catalogue);
  if (format === 'responses') checkFieldsOfSome(body, model);
  checkEffort(format, request, model);
  return model;
}

/**
 * The model that an id names.
 *
 * @throws ServiceError 404 `not_found` for an id that is unknown, or not on that format; 403 `access_denied` for one outside
 *   the key's group; 400 `bad_request` for a family that the format does not serve
 */
export function findModel(format: WireFormatName, modelId: string, key: ApiKey, catalogue: Catalogue): TextModel {
  const id = modelId.slice(0, MAX_SHOWN_ID);
  if (format === 'responses' && isClaudeStyle(catalogue, id)) {
    throw badRequest(`"model": ${id} is not answered on /v1/responses; use /v1/messages or /v1/chat/completions`);
  }
  const model = catalogue.textModels.get(modelId);
  if (model === undefined) throw notFound(`There is no text model "${id}". Ids are exact and case-sensitive.`);
  if (!answersFormat(model, format)) throw notFound(`The model ${id} is not answered in the ${format} format.`);
  if (!isAllowedModel(key, model.id)) throw new ServiceError('access_denied', modelRefusal(model.id));
  return model;
}

function checkFieldsOfSome(body: JsonObject, model: TextModel): void {
  for (const field of FIELDS_OF_SOME) {
    const isSent = body[field] !== undefined && body[field] !== null;
    if (isSent && !model.responsesFields.includes(field)) {
      throw badRequest(`field "${field}" is not supported by model ${model.id}`);
    }
  }
}

function checkEffort(format: WireFormatName, { reasoningEffort }: TextRequest, model: TextModel): void {
  if (reasoningEffort === undefined || model.reasoningEfforts.length === 0) return;
  if (model.reasoningEfforts.includes(reasoningEffort)) return;
  throw badRequest(`"${EFFORT_FIELD[format]}" must be one of: [${model.reasoningEfforts.join(' ')}]`);
}

function notFound(message: string): ServiceError {
  return new ServiceError('not_found', message);
}
