/**
 * The search attributes that every Genway workflow carries, by which operators find it in the Temporal UI, as the keys that
 * Temporal's SDK takes. The namespace must know them before the first workflow starts.
 */
export const SEARCH_ATTRIBUTES = {
  account: keyword('GenwayAccount'),
  model: keyword('GenwayModel'),
  kind: keyword('GenwayKind'),
  outcome: keyword('GenwayOutcome'),
};

/** Their names. */
export const SEARCH_ATTRIBUTE_NAMES = Object.values(SEARCH_ATTRIBUTES).map(({ name }) => name);

function keyword(name: string) {
  return { name, type: 'KEYWORD' } as const;
}
