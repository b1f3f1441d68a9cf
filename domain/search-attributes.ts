/**
 * The search attributes of every Genway workflow, as keys for Temporal's SDK. Operators find workflows by them in the
 * Temporal UI. The attributes must exist in the namespace before the first workflow starts.
 */
export const SEARCH_ATTRIBUTES = {
  account: keyword('GenwayAccount'),
  model: keyword('GenwayModel'),
  kind: keyword('GenwayKind'),
  outcome: keyword('GenwayOutcome'),
};

export const SEARCH_ATTRIBUTE_NAMES = Object.values(SEARCH_ATTRIBUTES).map(({ name }) => name);

function keyword(name: string) {
  return { name, type: 'KEYWORD' } as const;
}
