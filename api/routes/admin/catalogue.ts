/** The current catalogue, for operators who are about to replace it. */
import {
  mediaPrices,
  offerOf,
  type Offer,
  type OfferedModel,
  type RouteCosts,
  type Terms,
  textCosts,
  textPrices,
} from '../../../catalogue/offer.ts';
import { listRateCards, type RateCard } from '../../../db/queries/rate-cards.ts';
import { listTextCosts } from '../../../db/queries/text-costs.ts';
import type { TextCost } from '../../../domain/pricing.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { textParameter } from '../../endpoint/query.ts';
import { text } from '../../../domain/json-schema.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested, resource } from '../../../domain/resource/resource.ts';

const TERMS = { type: 'object', additionalProperties: text() } as const;

const COSTS = { type: 'object', additionalProperties: TERMS } as const;

const MODEL = nested<OfferedModel>({
  id: field.text('id', 'The id of the model'),
  kind: field.oneOf(['video', 'image', 'text'])('kind'),
  prices: field.json({
    ...TERMS,
    description: 'Prices in USD, of text for 1M tokens, and their factors',
  })('prices'),
  costs: field.json({ ...COSTS, description: 'The costs at each route, if the catalogue has them' })('costs'),
  terms: field.json({ ...TERMS, description: 'Limits, conditions and routes' })('terms'),
});

/** An offer, with the recorded prices and costs of the requested version. */
interface ShownOffer extends Offer {
  readonly cards: readonly RateCard[];
  readonly recordedCosts: readonly TextCost[];
}

const CATALOGUE = resource<ShownOffer>('Catalogue', {
  object: field.constant('catalogue'),
  version: field.text('version', 'The name of the version'),
  models: field.list(MODEL)('models'),
  recorded_prices: field.json({
    type: 'object',
    description: 'The prices of the requested version, by model',
    additionalProperties: TERMS,
  })(({ cards }) => Object.fromEntries(cards.map((card) => [card.model, pricesOf(card)]))),
  recorded_costs: field.json({
    type: 'object',
    description: 'The costs of the requested version, by model of text and route',
    additionalProperties: COSTS,
  })(({ recordedCosts }) => costsByModel(recordedCosts)),
});

export const catalogueEndpoints = endpoints('Administration', {
  getCatalogue: endpoint({
    request: 'GET /admin/v1/catalogue',
    access: 'admin-read',
    summary: 'Show the current catalogue',
    description:
      'Shows the catalogue of the answering process. `genway config diff` compares the catalogue with a file.',
    query: { version: textParameter('A version, to read its recorded prices and costs. By default, the current one') },
    answers: { 200: dataOf(CATALOGUE.schema, 'The catalogue') },
    handle: async ({ query: { version } }, { catalogue, reports }) => {
      const offer = offerOf(catalogue);
      const requestedVersion = version ?? offer.version;
      const [cards, recordedCosts] = await Promise.all([
        listRateCards(reports, requestedVersion),
        listTextCosts(reports, requestedVersion),
      ]);
      return { data: CATALOGUE.present({ ...offer, cards, recordedCosts }) };
    },
  }),
});

function costsByModel(costs: readonly TextCost[]): Readonly<Record<string, RouteCosts>> {
  const models = new Set(costs.map(({ model }) => model));
  return Object.fromEntries([...models].map((id) => [id, textCosts(costs.filter(({ model }) => model === id))]));
}

function pricesOf(card: RateCard): Terms {
  return card.kind === 'text' ? textPrices(card.pricing) : mediaPrices(card.pricing);
}
