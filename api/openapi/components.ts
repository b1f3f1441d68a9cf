/** The named schemas of the API description. */
import type { Catalogue } from '../../catalogue/types.ts';
import { type Component, component, componentOf, type JsonSchema } from '../../domain/json-schema.ts';

type Build = (catalogue: Catalogue) => JsonSchema;

const BUILDS = new WeakMap<object, Build>();

/** A named schema that depends on the catalogue. */
export function catalogueComponent(name: string, build: Build): Component {
  const reference = component(name, {});
  BUILDS.set(reference, build);
  return reference;
}

/** All components that `root` refers to, directly or through other components, by name. */
export function componentsIn(root: unknown, catalogue: Catalogue): Readonly<Record<string, JsonSchema>> {
  const found: Record<string, JsonSchema> = {};
  const waiting: unknown[] = [root];
  for (let value = waiting.shift(); value !== undefined; value = waiting.shift()) {
    if (typeof value !== 'object' || value === null) continue;
    const named = componentOf(value);
    if (named === null) {
      waiting.unshift(...Object.values(value).filter((inner) => inner !== undefined));
    } else if (!(named.name in found)) {
      found[named.name] = BUILDS.get(value)?.(catalogue) ?? named.schema;
      waiting.push(found[named.name]);
    }
  }
  return found;
}
