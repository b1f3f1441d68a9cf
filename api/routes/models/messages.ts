/** The models of the messages format, in the list shape of its SDKs: contract 4.6. */
import { hasFormat, type TextModel } from '../../../catalogue/types.ts';
import type { Caller } from '../../../db/queries/api-keys.ts';
import { badRequest, ServiceError } from '../../../domain/errors.ts';
import * as field from '../../../domain/resource/field.ts';
import { resource } from '../../../domain/resource/resource.ts';
import type { ApiServices } from '../../services.ts';
import { findUnavailableReason } from '../../../services/operations/unavailable-model.ts';
import type { Context } from '../../state.ts';
import { dateOf } from './present.ts';

const MESSAGES_MODEL = resource<TextModel & { readonly version: string }>('MessagesModel', {
  type: field.constant('model'),
  id: field.text('id'),
  display_name: field.text('id'),
  created_at: field.isoTime(({ version }) => dateOf(version), 'The date of the catalogue’s version'),
  lifecycle: field.oneOf(['active', 'deprecated'])(
    ({ legacy }) => (legacy ? 'deprecated' : 'active'),
    '`deprecated` for older ids that still work',
  ),
  max_input_tokens: field.integer.orAbsent(({ contextTokens }) => contextTokens ?? undefined),
  max_tokens: field.integer.orAbsent(({ maxOutputTokens }) => maxOutputTokens ?? undefined),
});

const MAX_LIMIT = 1_000;

/** A page of a list: the items after or before an id. */
export interface PageQuery {
  readonly limit?: string | undefined;
  readonly after_id?: string | undefined;
  readonly before_id?: string | undefined;
}

/** Whether the SDK of the messages format sends the request. */
export function isMessagesClient({ headers }: Context): boolean {
  return headers['anthropic-version'] !== undefined;
}

/** @throws ServiceError `bad_request` for an invalid limit */
export function presentMessagesModels(caller: Caller, query: PageQuery, services: ApiServices): object {
  const limit = limitOf(query.limit);
  const models = modelsFor(caller, services);
  const indexOf = (id: string | undefined): number => models.findIndex((model) => model.id === id);
  const after = query.after_id === undefined ? 0 : indexOf(query.after_id) + 1;
  const before = query.before_id === undefined ? models.length : Math.max(indexOf(query.before_id), 0);
  const range = models.slice(after, before);
  const page = query.before_id === undefined ? range.slice(0, limit) : range.slice(-limit);
  return {
    data: page.map((model) => presentOne(model, services)),
    has_more: page.length < range.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  };
}

/** @throws ServiceError `not_found` */
export function presentMessagesModel(id: string, caller: Caller, services: ApiServices): object {
  const model = modelsFor(caller, services).find((candidate) => candidate.id === id);
  if (model) return presentOne(model, services);
  throw new ServiceError(
    'not_found',
    'This API key cannot call this model in the messages format. GET /v1/models lists the models that it can call.',
  );
}

function presentOne(model: TextModel, { catalogue: { version } }: ApiServices): object {
  return MESSAGES_MODEL.present({ ...model, version });
}

function limitOf(given: string | undefined): number {
  if (given === undefined) return MAX_LIMIT;
  const limit = Number(given);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw badRequest(`"limit" must be a whole number from 1 to ${MAX_LIMIT}`);
}

function modelsFor(caller: Caller, services: ApiServices): readonly TextModel[] {
  return [...services.catalogue.textModels.values()].filter(
    (model) => hasFormat(model, 'messages') && findUnavailableReason(model, caller, services.operations) === null,
  );
}
