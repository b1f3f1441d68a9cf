/** The catalogue in force, for operators who are about to replace it. */
import { mediaPrices, offerOf, type Offer, type Terms, textPrices } from '../../../catalogue/offer.ts';
import { listRateCardsOf, type RateCard } from '../../../db/queries/rate-cards.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { anyText } from '../../endpoint/query.ts';
import { arrayOf, component, exactly, fieldsOf, object, oneOfTexts, text } from '../../openapi/json-schema.ts';

type CatalogueObject = ReturnType<typeof presentOffer>;

const TERMS = { type: 'object', additionalProperties: text() } as const;

const CatalogueSchema = component(
  'Catalogue',
  object(
    fieldsOf<CatalogueObject>({
      object: exactly('catalogue'),
      version: text('The name of the edition'),
      models: arrayOf(
        object(
          fieldsOf<CatalogueObject['models'][number]>({
            id: text('The model'),
            kind: oneOfTexts(['video', 'image', 'text']),
            prices: { ...TERMS, description: 'In USD, of text for 1M tokens, and the factors that apply to them' },
            terms: { ...TERMS, description: 'Limits, conditions and routes' },
          }),
        ),
      ),
      recorded_prices: {
        type: 'object',
        description: 'By model, the prices that were charged under the version that was asked about',
        additionalProperties: TERMS,
      },
    }),
  ),
);

export const getCatalogue = endpoint({
  id: 'getCatalogue',
  tag: 'Administration',
  method: 'get',
  path: '/admin/v1/catalogue',
  access: 'admin-read',
  summary: 'See the catalogue in force',
  description: 'As the process has it that answers. `genway config diff` compares it with a file.',
  query: { version: anyText('Another version, whose recorded prices are wanted; that in force when absent') },
  answers: { 200: dataOf(CatalogueSchema, 'The catalogue') },
  handle: async ({ query: { version } }, { catalogue, reports }) => {
    const offer = offerOf(catalogue);
    return { data: presentOffer(offer, await listRateCardsOf(reports, version ?? offer.version)) };
  },
});

function presentOffer({ version, models }: Offer, recorded: readonly RateCard[]) {
  return {
    object: 'catalogue',
    version,
    models: models.map(({ id, kind, prices, terms }) => ({ id, kind, prices, terms })),
    recorded_prices: Object.fromEntries(recorded.map((card) => [card.model, pricesOf(card)])),
  };
}

function pricesOf(card: RateCard): Terms {
  return card.kind === 'text' ? textPrices(card.pricing) : mediaPrices(card.pricing);
}
