/** The models that a key may call: contract 4.6. */
import { allModels, type MediaModel, type TextModel } from '../../../catalogue/types.ts';
import { isAllowedModel } from '../../../domain/api-key.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { json } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { choiceParameter, flagParameter, textParameter } from '../../endpoint/query.ts';
import { arrayOf, exactly, nullable, number, object, text } from '../../../domain/json-schema.ts';
import { withPrices } from '../../../services/money/customer-prices.ts';
import { publicOffer } from '../../../services/operations/public-offer.ts';
import { findUnavailableReason } from '../../../services/operations/unavailable-model.ts';
import { isNativeClient, presentNativeModel, presentNativeModels } from './native.ts';
import { isMessagesClient, presentMessagesModel, presentMessagesModels } from './messages.ts';
import { MODEL_SCHEMA, presentModel } from './present.ts';

export const modelEndpoints = endpoints('Models', {
  listModels: endpoint({
    request: 'GET /v1/models',
    access: 'any-key',
    summary: 'List the callable models, at the prices of the account',
    description:
      'The text address serves this call too. Send the key in the header of any format. With `x-goog-api-key` and no bearer token, ' +
      'the answer is that of `/v1beta/models`; with `anthropic-version`, the list of that API.',
    query: {
      all: flagParameter('True: also models that the key cannot call, each with the reason'),
      kind: choiceParameter(['text', 'video', 'image'], 'Only models of this kind'),
      limit: textParameter('With `anthropic-version`: the number of models in a page, 1 to 1,000'),
      after_id: textParameter('With `anthropic-version`: only models after this one'),
      before_id: textParameter('With `anthropic-version`: only models before this one'),
    },
    answers: {
      200: {
        description: 'The models, as a list that common SDKs can read',
        content: json(object({ object: exactly('list'), data: arrayOf(MODEL_SCHEMA) })),
      },
    },
    handle: async ({ caller, query: { all = false, kind, ...page }, context }, services) => {
      if (isNativeClient(context)) return presentNativeModels(caller, services);
      if (isMessagesClient(context)) return presentMessagesModels(caller, page, services);
      const { catalogue, clock } = services;
      const prices = await services.money.findPrices(caller.account, clock.nowMs());
      const judged = textFirst(allModels(catalogue)).map((model) => ({
        model,
        reason: findUnavailableReason(model, caller, services.operations),
      }));
      const listed = judged.filter(({ reason }) => all || reason === null);
      const shown = listed.filter(({ model }) => kind === undefined || kindOf(model) === kind);
      const data = shown.map(({ model, reason }) => presentModel(withPrices(model, prices), catalogue, reason));
      return { object: 'list', data };
    },
  }),
  getModel: endpoint({
    request: 'GET /v1/models/{model_id}',
    access: 'any-key',
    summary: 'Get one model',
    answers: { 200: { description: 'The model', content: json(MODEL_SCHEMA) } },
    handle: async ({ caller, params, context }, services) => {
      if (isNativeClient(context)) return presentNativeModel(params.model_id, caller, services);
      if (isMessagesClient(context)) return presentMessagesModel(params.model_id, caller, services);
      const { catalogue, clock } = services;
      const model = allModels(catalogue).find(({ id }) => id === params.model_id);
      if (!model || !isAllowedModel(caller.key, model.id)) {
        throw new ServiceError(
          'not_found',
          'There is no such model for this API key. GET /v1/models lists its models.',
        );
      }
      const prices = await services.money.findPrices(caller.account, clock.nowMs());
      return presentModel(
        withPrices(model, prices),
        catalogue,
        findUnavailableReason(model, caller, services.operations),
      );
    },
  }),
});

const DISPLAY_CURRENCY = object(
  {
    code: text('The code of ISO 4217'),
    usd_rate: number('The units of the currency for one USD'),
    date: text('The day of the rate, such as `2026-11-29`'),
  },
  'A currency for orientation beside USD, in which all prices and charges are. Null for none',
);

/** The prices for everybody, of a site that shows them: contract 4.6. */
export const pricingEndpoints = endpoints('Service', {
  getPricing: endpoint({
    request: 'GET /pricing.json',
    access: 'open',
    summary: 'List the public prices',
    description: 'Only if the operator shows the prices to everybody.',
    answers: {
      200: {
        description: 'The models in the form of `GET /v1/models`, at the catalogue’s prices',
        content: json(
          object({
            object: exactly('list'),
            version: text('The version of the catalogue'),
            display_currency: nullable(DISPLAY_CURRENCY),
            data: arrayOf(MODEL_SCHEMA),
          }),
        ),
      },
    },
    refusals: ['not_found'],
    handle: ({ context }, { catalogue, site, operations: { models } }) => {
      if (!site.isPublic) throw new ServiceError('not_found', 'The prices are not public. Sign in to see them.');
      context.set({ 'Cache-Control': 'public, max-age=60', 'Access-Control-Allow-Origin': '*' });
      const data = publicOffer(catalogue, models).map(({ model }) => presentModel(model, catalogue));
      const { displayCurrency: currency } = site;
      return {
        object: 'list',
        version: catalogue.version,
        display_currency:
          currency === null ? null : { code: currency.code, usd_rate: currency.usdRate, date: currency.date },
        data,
      };
    },
  }),
});

function kindOf(model: MediaModel | TextModel): 'text' | MediaModel['kind'] {
  return 'kind' in model ? model.kind : 'text';
}

/** Clients of text offer the first model of the list. */
function textFirst(models: readonly (MediaModel | TextModel)[]): readonly (MediaModel | TextModel)[] {
  return models.toSorted((a, b) => Number(kindOf(a) !== 'text') - Number(kindOf(b) !== 'text'));
}
