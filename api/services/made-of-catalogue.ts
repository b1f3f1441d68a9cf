import type { Catalogue } from '../../catalogue/types.ts';

/** Makes something of the catalogue in force on first use, and again when another catalogue is. */
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
