/** Finds the prices below cost in a catalogue. */
import { formatUsd } from '../domain/money.ts';
import { mediaBelowCost, type PriceBelowCost, textBelowCost } from '../domain/below-cost.ts';
import { parametersIn } from '../domain/model-parameters.ts';
import type { PriceList } from '../domain/price-list.ts';
import type { Finding, OperatorFile } from './operator-file.ts';
import { readUncheckedModels } from './unchecked-models.ts';
import { allModels, type Catalogue, type MediaModel, type TextModel } from './types.ts';

export interface SoldBelowCost extends PriceBelowCost {
  readonly model: string;
  readonly upstream: string;
}

/** Skips free models. @param prices the price list of a customer; null for the catalogue's prices */
export function soldBelowCost(catalogue: Catalogue, prices: PriceList | null): readonly SoldBelowCost[] {
  return allModels(catalogue).flatMap((model) => ('kind' in model ? mediaOf(model, prices) : textOf(model, prices)));
}

function textOf(model: TextModel, prices: PriceList | null): readonly SoldBelowCost[] {
  if (model.free) return [];
  const pricing = prices === null ? model.pricing : prices.textPricing(model);
  return model.routes.flatMap(({ provider: upstream, cost }) =>
    cost === undefined ? [] : textBelowCost(pricing, cost).map((one) => ({ model: model.id, upstream, ...one })),
  );
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
export function describeLoss({ model, upstream, what, seconds, price, cost }: SoldBelowCost): string {
  const sold = seconds === null ? what : `${what}, ${seconds} s`;
  return `${model} is sold below cost: ${sold} for ${formatUsd(price)} USD, and ${upstream} charges ${formatUsd(cost)}`;
}
