/** Compares the plans of a site with the catalogue. */
import { matchesModels } from '../domain/model-patterns.ts';
import type { Finding, OperatorFile } from './operator-file.ts';
import type { Site } from './site.ts';
import type { Catalogue } from './types.ts';

/** Finds models of plans that the catalogue does not have. */
export function checkPlans(
  file: OperatorFile,
  { plans }: Pick<Site, 'plans'>,
  { videoModels, imageModels, textModels }: Pick<Catalogue, 'videoModels' | 'imageModels' | 'textModels'>,
): readonly Finding[] {
  const ids = [...videoModels.keys(), ...imageModels.keys(), ...textModels.keys()];
  return plans.flatMap(({ id, models }, plan) =>
    (models ?? []).flatMap((pattern, index) =>
      ids.some((model) => matchesModels([pattern], model))
        ? []
        : [
            file.finding(
              ['plans', plan, 'models', index],
              `the plan "${id}" has "${pattern}", which is no model of the catalogue`,
            ),
          ],
    ),
  );
}
