import type { Catalogue } from '../catalogue/types.ts';

/** Derives a value from the current catalogue on first use, and again after the catalogue has changed. */
export function cacheByCatalogue<Value>(
  currentCatalogue: () => Catalogue,
  derive: (catalogue: Catalogue) => Value,
): () => Value {
  let cached: { readonly catalogue: Catalogue; readonly value: Value } | undefined;
  return () => {
    const catalogue = currentCatalogue();
    if (cached?.catalogue !== catalogue) cached = { catalogue, value: derive(catalogue) };
    return cached.value;
  };
}
