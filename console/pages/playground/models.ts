/** The models of the playground, by kind. */
import type { Catalogue, MediaModel, TextModel } from '../../../catalogue/types.ts';

export type PlaygroundModel = MediaModel | TextModel;

export type PlaygroundKind = MediaModel['kind'] | 'text';

/** In the order of lists. */
export const MODEL_KINDS: readonly PlaygroundKind[] = ['video', 'image', 'text'];

export type ModelGroups = readonly (readonly [kind: PlaygroundKind, models: readonly PlaygroundModel[]])[];

/** Groups models in the catalogue's order. Omits legacy ids, and text models without the format chat-completions. */
export function modelsByKind({ videoModels, imageModels, textModels }: Catalogue): ModelGroups {
  const texts = [...textModels.values()].filter(
    ({ formats, legacy }) => formats.includes('chat-completions') && !legacy,
  );
  return [
    ['video', [...videoModels.values()]],
    ['image', [...imageModels.values()]],
    ['text', texts],
  ];
}

/** Returns null for an unknown id. */
export function findPlaygroundModel(catalogue: Catalogue, id: string | null): PlaygroundModel | null {
  const all = modelsByKind(catalogue).flatMap(([, models]) => models);
  return all.find((model) => model.id === id) ?? null;
}

export function isMedia(model: PlaygroundModel): model is MediaModel {
  return 'kind' in model;
}

/** The endpoint of the API for a model, and the path of the result in the response. */
export function endpointOf(model: PlaygroundModel): {
  readonly path: string;
  readonly result: readonly (string | number)[];
} {
  if (!isMedia(model)) return { path: '/v1/chat/completions', result: ['choices', 0, 'message', 'content'] };
  return { path: model.kind === 'image' ? '/v1/images/tasks' : '/v1/videos/tasks', result: ['data', 'id'] };
}
