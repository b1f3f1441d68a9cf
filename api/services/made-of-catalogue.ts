import type { Catalogue } from '../../catalogue/types.ts';

/** Derives a value from the current catalogue on first use, and again after the catalogue has changed. */
export function madeOfCatalogue<Value>(
  catalogueInForce: () => Catalogue,
  make: (catalogue: Catalogue) => Value,
): () => Value {
  let made: { readonly of: Catalogue; readonly value: Value } | undefined;
  return () => {
    const catalogue = catalogueInForce();
    if (made?.of !== catalogue) made = { of: catalogue, value: make(catalogue) };
    return made.value;
  };
}
