/**
 * The search attributes of every Genway workflow, by which operators find it in the Temporal UI, as keys for Temporal's
 * SDK. They must exist in the namespace before the first workflow starts.
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
