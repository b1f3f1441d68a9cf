/** Lists the models and routes of a catalogue file with their paths, even if the file is invalid. */
import type { FieldPath } from '../domain/substitute-variables.ts';
import { isObject, type JsonObject, objectOf } from '../domain/json.ts';
import type { TaskKind } from '../domain/task.ts';

/** A route of the model itself or of its family. */
export interface UncheckedRoute {
  readonly path: FieldPath;
  readonly entry: JsonObject;
}

export interface UncheckedModel {
  readonly kind: TaskKind | 'text';
  readonly path: FieldPath;
  readonly entry: JsonObject;
  readonly routes: readonly UncheckedRoute[];
  /** The compatibility of a text model, as written for it or for its family. */
  readonly compatibility?: unknown;
}

/** @param document an unchecked catalogue; parts of an unexpected shape are skipped */
export function readUncheckedModels(document: unknown): readonly UncheckedModel[] {
  const { media, text } = objectOf(document);
  return [
    ...mediaModels('video', ['media', 'videos'], objectOf(media)['videos']),
    ...mediaModels('image', ['media', 'images'], objectOf(media)['images']),
    ...itemsOf(objectOf(text)['families'], ['text', 'families']).flatMap(textModels),
    ...['embeddings', 'rerank', 'voice', 'realtime'].flatMap((list) =>
      itemsOf(objectOf(text)[list], ['text', list]).map((model) => {
        return { ...model, kind: 'text' as const, routes: routesOf(model) };
      }),
    ),
  ];
}

function mediaModels(kind: TaskKind, path: FieldPath, models: unknown): readonly UncheckedModel[] {
  return itemsOf(models, path).map((model) => ({ ...model, kind, routes: routesOf(model) }));
}

function textModels(family: UncheckedRoute): readonly UncheckedModel[] {
  const familyRoutes = routesOf(family);
  return itemsOf(family.entry['models'], [...family.path, 'models']).map((model) => {
    const own = routesOf(model);
    const compatibility = model.entry['compatibility'] ?? family.entry['compatibility'];
    return { ...model, kind: 'text', routes: own.length > 0 ? own : familyRoutes, compatibility };
  });
}

function routesOf({ path, entry: { route, routes } }: UncheckedRoute): readonly UncheckedRoute[] {
  const one = isObject(route) ? [{ path: [...path, 'route'], entry: route }] : [];
  return [...one, ...itemsOf(routes, [...path, 'routes'])];
}

function itemsOf(list: unknown, path: FieldPath): readonly UncheckedRoute[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown, index) => (isObject(entry) ? [{ path: [...path, index], entry }] : []));
}
