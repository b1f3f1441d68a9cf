/** The catalogue in force, for operators who are about to replace it. */
import {
  mediaPrices,
  offerOf,
  type Offer,
  type RouteCosts,
  type Terms,
  textCosts,
  textPrices,
} from '../../../catalogue/offer.ts';
import { listRateCardsOf, type RateCard } from '../../../db/queries/rate-cards.ts';
import { listTextCostsOf } from '../../../db/queries/text-costs.ts';
import type { TextCost } from '../../../domain/pricing.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { anyText } from '../../endpoint/query.ts';
import { arrayOf, exactly, fieldsOf, namedObject, object, oneOfTexts, text } from '../../openapi/json-schema.ts';

type CatalogueObject = ReturnType<typeof presentOffer>;

const TERMS = { type: 'object', additionalProperties: text() } as const;

const COSTS = { type: 'object', additionalProperties: TERMS } as const;

const CatalogueSchema = namedObject<CatalogueObject>('Catalogue', {
  object: exactly('catalogue'),
  version: text('The name of the edition'),
  models: arrayOf(
    object(
      fieldsOf<CatalogueObject['models'][number]>({
        id: text('The model'),
        kind: oneOfTexts(['video', 'image', 'text']),
        prices: { ...TERMS, description: 'In USD, of text for 1M tokens, and the factors that apply to them' },
        costs: { ...COSTS, description: 'By route, what the vendor charges, where it is written' },
        terms: { ...TERMS, description: 'Limits, conditions and routes' },
      }),
    ),
  ),
  recorded_prices: {
    type: 'object',
    description: 'By model, the prices that were charged under the version that was asked about',
    additionalProperties: TERMS,
  },
  recorded_costs: {
    type: 'object',
    description: 'By model of text, the costs of its routes on record for that version',
    additionalProperties: COSTS,
  },
});

export const getCatalogue = endpoint({
  id: 'getCatalogue',
  tag: 'Administration',
  method: 'get',
  path: '/admin/v1/catalogue',
  access: 'admin-read',
  summary: 'See the catalogue in force',
  description: 'As the process has it that answers. `genway config diff` compares it with a file.',
  query: { version: anyText('Another version, whose recorded prices and costs are wanted; that in force when absent') },
  answers: { 200: dataOf(CatalogueSchema, 'The catalogue') },
  handle: async ({ query: { version } }, { catalogue, reports }) => {
    const offer = offerOf(catalogue);
    const asked = version ?? offer.version;
    const [cards, costs] = await Promise.all([listRateCardsOf(reports, asked), listTextCostsOf(reports, asked)]);
    return { data: presentOffer(offer, cards, costs) };
  },
});

function presentOffer({ version, models }: Offer, cards: readonly RateCard[], costs: readonly TextCost[]) {
  return {
    object: 'catalogue',
    version,
    models: models.map(({ id, kind, prices, costs: routeCosts, terms }) => ({
      id,
      kind,
      prices,
      costs: routeCosts,
      terms,
    })),
    recorded_prices: Object.fromEntries(cards.map((card) => [card.model, pricesOf(card)])),
    recorded_costs: costsByModel(costs),
  };
}

function costsByModel(costs: readonly TextCost[]): Readonly<Record<string, RouteCosts>> {
  const models = new Set(costs.map(({ model }) => model));
  return Object.fromEntries([...models].map((id) => [id, textCosts(costs.filter(({ model }) => model === id))]));
}

function pricesOf(card: RateCard): Terms {
  return card.kind === 'text' ? textPrices(card.pricing) : mediaPrices(card.pricing);
}
