/** The shapes of price lists. */
import type { SoldBelowCost } from '../../catalogue/below-cost.ts';
import { type PriceListSummary, type PriceListVersion } from '../../db/queries/price-lists.ts';
import { ANY_OBJECT, arrayOf } from '../../domain/json-schema.ts';
import type { PriceRules } from '../../domain/price-list.ts';
import * as field from '../../domain/resource/field.ts';
import { nested, resource } from '../../domain/resource/resource.ts';
import { type PricedModel, type ShownPriceList } from '../money/price-lists.ts';

const SUMMARY = {
  name: field.text<'name'>('name', 'The name of the list'),
  accounts: field.count<'accounts'>('accounts', 'The number of accounts with this list'),
  version_in_force: field.integer.orNull<'inForce'>('inForce', 'The current version. Null before the first starts'),
  latest_version: field.integer<'latest'>('latest', 'The latest version, which may take effect later'),
};

export const PRICE_LIST = resource<PriceListSummary>('PriceList', {
  ...SUMMARY,
  object: field.constant('price_list'),
  created_at: field.unixSeconds('createdAt', 'When the list was created'),
});

const VERSION = {
  id: field.text<'id'>('id', 'The id of the version in charges: the list and the number'),
  object: field.constant('price_list_version'),
  price_list: field.text<'list'>('list', 'The name of the list'),
  version: field.integer<'version'>('version', 'The number of the version, from 1'),
  valid_from: field.isoTime<'validFrom'>('validFrom', 'When the version starts and replaces all earlier versions'),
  factor: field.text<'factor'>('factor', 'The factor on the prices of the catalogue that no rule covers'),
  batch_factor: field.text.orNull<'batchFactor'>(
    'batchFactor',
    'The factor on these prices for requests of batches. Null for the factor of the catalogue',
  ),
  rules: field.json(arrayOf(ANY_OBJECT, 'The prices of models and families, as sent'))(
    ({ rules }: PriceRules) => rules,
  ),
  author: field.text<'author'>('author', 'The author of the version'),
  reason: field.text<'reason'>('reason', 'The reason of the version'),
  created_at: field.isoTime<'createdAt'>('createdAt', 'When the version was created'),
};

export const PRICE_LIST_VERSION = resource<PriceListVersion>('PriceListVersion', VERSION);

const PRICED_MODEL = nested<PricedModel>({
  model: field.text('id'),
  kind: field.oneOf(['video', 'image', 'text'])('kind'),
  prices: field.list(
    nested<PricedModel['prices'][number]>({
      name: field.text('name'),
      catalogue: field.text.orAbsent('catalogue', 'The price in the catalogue'),
      price: field.text('price', 'The price in the list'),
    }),
  )('prices'),
});

export const BELOW_COST = nested<SoldBelowCost>({
  model: field.text('model'),
  upstream: field.text('upstream', 'The upstream of a route of the model'),
  what: field.text('what', 'The resolution, or the kind of tokens'),
  batch: field.boolean('isBatch', 'Whether only requests of batches are sold below cost'),
  price_usd: field.exactUsd('price', 'The price of a video, an image or 1M tokens'),
  cost_usd: field.exactUsd('cost', 'The cost at the upstream'),
});

export const SHOWN = resource<ShownPriceList>('ShownPriceList', {
  ...VERSION,
  accounts: field.count(({ summary }) => summary.accounts, 'The number of accounts with this list'),
  version_in_force: field.integer.orNull(
    ({ summary }) => summary.inForce,
    'The current version. Null before the first starts',
  ),
  models: field.list(PRICED_MODEL)('models', 'The models with their prices in the catalogue and in this version'),
  below_cost: field.list(BELOW_COST)('belowCost', 'The prices below the cost at an upstream'),
});
