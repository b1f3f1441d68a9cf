import type { Catalogue, NativeBatch, TextRoute } from '../../catalogue/types.ts';

export interface BatchRoute extends TextRoute {
  readonly batch: NativeBatch;
}

/** The route to a vendor's batches of each model that has one, by the model's id. Free models have other limits, and none. */
export function batchRoutesOf({ textModels }: Pick<Catalogue, 'textModels'>): ReadonlyMap<string, BatchRoute> {
  return new Map(
    [...textModels.values()].flatMap(({ id, free, routes }) => {
      const route = routes.find(hasBatches);
      return route === undefined || free ? [] : [[id, route]];
    }),
  );
}

function hasBatches(route: TextRoute): route is BatchRoute {
  return route.batch !== undefined;
}
