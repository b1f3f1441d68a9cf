/** The prices that customers pay: the catalogue's, or those of a version of their price list. */
import { mediaPrices, type Terms, textPrices } from '../../catalogue/offer.ts';
import type { ImageModel, MediaModel, TextModel, VideoModel } from '../../catalogue/types.ts';
import type { Database } from '../../db/database.ts';
import { findPriceListVersion } from '../../db/queries/price-lists.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { type PlannedVersion, PriceList, versionAt } from '../../domain/price-list.ts';
import { batchPricing, priceMedia } from '../../domain/pricing.ts';
import type { ValidatedMediaRequest } from '../tasks/media-request.ts';
import { cached } from '../cached.ts';

/** Finds the version that sets an account's prices at a time; null for the catalogue's prices. */
export type FindPrices = (
  account: { readonly prices: readonly PlannedVersion[] },
  atMs: number,
) => Promise<PriceList | null>;

/** Versions never change. Above this number, the cache drops the oldest. */
const CACHE = { forMs: Number.POSITIVE_INFINITY, maxEntries: 1_000 };

/** Reads each version once per process. */
export function createFindPrices(database: Database): FindPrices {
  const load = cached(async (id) => {
    const version = await findPriceListVersion(database, id);
    if (!version) throw new Error(`the version ${id} of a price list cannot have disappeared`);
    return new PriceList(version);
  }, CACHE);
  return async ({ prices }, atMs) => {
    const id = versionAt(prices, atMs);
    return id === null ? null : load(id);
  };
}

/** A model as a customer buys it. */
export function withPrices(model: TextModel, prices: PriceList | null): TextModel;
export function withPrices(model: VideoModel, prices: PriceList | null): VideoModel;
export function withPrices(model: ImageModel, prices: PriceList | null): ImageModel;
export function withPrices(model: MediaModel, prices: PriceList | null): MediaModel;
export function withPrices(model: MediaModel | TextModel, prices: PriceList | null): MediaModel | TextModel;
export function withPrices(model: MediaModel | TextModel, prices: PriceList | null): MediaModel | TextModel {
  if (prices === null) return model;
  if ('kind' in model) return { ...model, pricing: prices.mediaPricing(model) };
  return { ...model, pricing: prices.textPricing(model) };
}

/** A model as its requests in batches are charged. */
export function withBatchPrices(model: TextModel): TextModel {
  return { ...model, pricing: batchPricing(model.pricing) };
}

/** The price of a picture or video for a customer. */
export function priceOf(
  { model, order }: Pick<ValidatedMediaRequest<MediaModel>, 'model' | 'order'>,
  prices: PriceList | null,
): PicoUsd {
  return priceMedia(withPrices(model, prices).pricing, order);
}

/** The price of a model for an account, as text with decimals. */
export function describePrices(model: MediaModel | TextModel, prices: PriceList | null): Terms {
  const priced = withPrices(model, prices);
  return 'kind' in priced ? mediaPrices(priced.pricing) : textPrices(priced.pricing);
}
