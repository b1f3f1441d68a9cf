import { allModels, type MediaModel, type TextModel } from '../../catalogue/types.ts';
import { type NewModelOverride, recordModelOverride } from '../../db/queries/model-overrides.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Services } from '../services.ts';

/**
 * Disables a model for all customers, or enables it again: in all processes within seconds, in this one at once.
 *
 * @throws ServiceError `not_found`
 */
export async function overrideModel(
  { database, catalogue, operations: { models } }: Pick<Services, 'database' | 'catalogue' | 'operations'>,
  override: NewModelOverride,
): Promise<MediaModel | TextModel> {
  const model = allModels(catalogue).find(({ id }) => id === override.model);
  if (!model) throw new ServiceError('not_found', 'There is no such model. GET /admin/v1/models lists them.');
  await recordModelOverride(database, override);
  await models.applyOverrides();
  return model;
}
