import { offerOf, type OfferedModel } from '../../catalogue/offer.ts';
import type { ModelOrder } from '../../db/queries/model-orders.ts';
import type { ApiServices } from './services.ts';

/** A model of the catalogue in force, with its prices and terms. */
export interface SoldModel extends OfferedModel {
  /** By which order it is disabled; null while it is sold. */
  readonly disabledBy: ModelOrder | null;
}

export function listSoldModels({ catalogue, models }: Pick<ApiServices, 'catalogue' | 'models'>): readonly SoldModel[] {
  return offerOf(catalogue).models.map((model) => ({ ...model, disabledBy: models.disabledBy(model.id) }));
}
