/** The API description as JSON: the whole document, and the parts that the reference pages show. */
import type { OpenApiDocument } from './document.ts';
import { type DescriptionPart, partOf } from './parts.ts';

export interface Descriptions {
  readonly whole: () => string;
  readonly parts: Readonly<Record<DescriptionPart, () => string>>;
}

/** @param describe creates the API description; called on first use */
export function createDescriptions(describe: () => OpenApiDocument): Descriptions {
  const document = once(describe);
  return {
    whole: once(() => JSON.stringify(document())),
    parts: {
      client: once(() => JSON.stringify(partOf(document(), 'client'))),
      administration: once(() => JSON.stringify(partOf(document(), 'administration'))),
    },
  };
}

/** Creates a value on first use and keeps it. */
function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}
