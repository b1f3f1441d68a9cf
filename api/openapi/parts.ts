/** Splits the API description for its two audiences: clients, and the people who run the service. */
import { isObject } from '../../domain/json.ts';
import type { OpenApiDocument } from './document.ts';
import type { Tag } from './operation.ts';

export type DescriptionPart = 'client' | 'administration';

const OF_ADMINISTRATION: ReadonlySet<unknown> = new Set<Tag>(['Administration', 'Service']);

/** The operations of one part, with the components that they use. */
export function partOf(document: OpenApiDocument, part: DescriptionPart): OpenApiDocument {
  const isIn = (tag: unknown): boolean => OF_ADMINISTRATION.has(tag) === (part === 'administration');
  const paths = Object.entries(document.paths).flatMap(([path, methods]) => {
    const kept = Object.entries(methods).filter(([, { tags }]) => Array.isArray(tags) && tags.some(isIn));
    return kept.length === 0 ? [] : [[path, Object.fromEntries(kept)] as const];
  });
  const { components, tags, webhooks, ...head } = document;
  const shown = {
    ...head,
    tags: Array.isArray(tags) ? tags.filter((tag: unknown) => isObject(tag) && isIn(tag['name'])) : [],
    paths: Object.fromEntries(paths),
    webhooks: part === 'client' ? webhooks : {},
  };
  return { ...shown, components: componentsOf(shown, components) };
}

/** The components to which the root refers, directly or through other components. */
function componentsOf(root: unknown, components: OpenApiDocument['components']): OpenApiDocument['components'] {
  const used = new Set<string>();
  const waiting: unknown[] = [root];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      if (key !== '$ref' || typeof inner !== 'string') waiting.push(inner ?? false);
      else if (!used.has(inner)) {
        used.add(inner);
        const [section = '', name = ''] = inner.split('/').slice(2);
        waiting.push(Object(components[section])[name] ?? false);
      }
    }
  }
  const keptIn = (section: string, members: object): object =>
    Object.fromEntries(Object.entries(members).filter(([name]) => used.has(`#/components/${section}/${name}`)));
  const kept = Object.entries(components).map(([section, members]) => [
    section,
    // Operations name security schemes without a reference.
    section === 'securitySchemes' ? members : keptIn(section, Object(members)),
  ]);
  return { schemas: {}, ...Object.fromEntries(kept) };
}
