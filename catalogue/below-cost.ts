/** Finds the prices below cost in a catalogue. */
import { formatUsd } from '../domain/money.ts';
import { mediaBelowCost, type PriceBelowCost, textBelowCost } from '../domain/below-cost.ts';
import { batchPricing } from '../domain/pricing.ts';
import { parametersIn } from '../domain/model-parameters.ts';
import { BATCH_FORMATS } from '../domain/batch.ts';
import type { PriceList } from '../domain/price-list.ts';
import type { Finding, OperatorFile } from './operator-file.ts';
import { readUncheckedModels } from './unchecked-models.ts';
import { allModels, type Catalogue, hasFormat, type MediaModel, type TextModel } from './types.ts';

export interface SoldBelowCost extends PriceBelowCost {
  readonly model: string;
  readonly upstream: string;
  /** Whether only requests of batches are sold below cost. */
  readonly isBatch: boolean;
}

/** Skips free models. @param prices the price list of a customer; null for the catalogue's prices */
export function soldBelowCost(catalogue: Catalogue, prices: PriceList | null): readonly SoldBelowCost[] {
  return allModels(catalogue).flatMap((model) => ('kind' in model ? mediaOf(model, prices) : textOf(model, prices)));
}

function textOf(model: TextModel, prices: PriceList | null): readonly SoldBelowCost[] {
  if (model.free) return [];
  const pricing = prices === null ? model.pricing : prices.textPricing(model);
  return model.routes.flatMap(({ provider: upstream, cost, batch }) => {
    if (cost === undefined) return [];
    const always = textBelowCost(pricing, cost);
    const costInBatches = batch === undefined ? cost : { ...cost, batch: batch.costFactor };
    const inBatches = runsInBatches(model) ? textBelowCost(batchPricing(pricing), costInBatches) : [];
    const onlyInBatches = inBatches.filter(({ what }) => always.every((one) => one.what !== what));
    const found = (isBatch: boolean) => (one: PriceBelowCost) => ({ model: model.id, upstream, isBatch, ...one });
    return [...always.map(found(false)), ...onlyInBatches.map(found(true))];
  });
}

function runsInBatches(model: TextModel): boolean {
  return BATCH_FORMATS.some((format) => hasFormat(model, format));
}

function mediaOf(model: MediaModel, prices: PriceList | null): readonly SoldBelowCost[] {
  const pricing = prices === null ? model.pricing : prices.mediaPricing(model);
  const defaults = parametersIn({}, model.parameters) ?? {};
  const durations = model.kind === 'image' ? [1] : [model.durationSeconds.min, model.durationSeconds.max];
  return model.routes.flatMap(({ provider: upstream, cost }) =>
    cost === undefined
      ? []
      : mediaBelowCost({ pricing, durations, isVideo: model.kind === 'video', defaults }, cost).map((one) => ({
          model: model.id,
          upstream,
          isBatch: false,
          ...one,
        })),
  );
}

/** Returns a warning for each price of the catalogue that is below cost, at the place of its model. */
export function findPricesBelowCost(file: OperatorFile, catalogue: Catalogue): readonly Finding[] {
  const places = new Map(readUncheckedModels(file.document).map(({ entry, path }) => [entry['id'], path]));
  return soldBelowCost(catalogue, null).map((loss) =>
    file.finding(places.get(loss.model) ?? [], describeLoss(loss), { severity: 'warning' }),
  );
}

/** Describes a price below cost in a sentence. */
export function describeLoss({ model, upstream, what, seconds, isBatch, price, cost }: SoldBelowCost): string {
  const sold = seconds === null ? `${what}${isBatch ? ' in batches' : ''}` : `${what}, ${seconds} s`;
  return `${model} is sold below cost: ${sold} for ${formatUsd(price)} USD, and ${upstream} charges ${formatUsd(cost)}`;
}
