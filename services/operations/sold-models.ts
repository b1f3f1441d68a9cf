import { offerOf, type OfferedModel } from '../../catalogue/offer.ts';
import type { ModelOverride } from '../../db/queries/model-overrides.ts';
import type { Services } from '../services.ts';

/** A model of the current catalogue, with its prices and terms. */
export interface SoldModel extends OfferedModel {
  /** The override that disables the model; null while it is sold. */
  readonly disabledBy: ModelOverride | null;
}

export function listSoldModels({
  catalogue,
  operations: { models },
}: Pick<Services, 'catalogue' | 'operations'>): readonly SoldModel[] {
  return offerOf(catalogue).models.map((model) => ({ ...model, disabledBy: models.disabledBy(model.id) }));
}
