import { loadCatalogue } from '../../catalogue/load.ts';
import type { TextModel } from '../../catalogue/types.ts';

/** The catalogue of this repository, read once by each test process. */
export const CATALOGUE = loadCatalogue();

export function soldTextModel(id: string): TextModel {
  const model = CATALOGUE.textModels.get(id);
  if (model === undefined) throw new Error(`no model ${id}`);
  return model;
}
