/**
 * The Keyword search attributes that every Genway workflow carries, by which operators find it in the Temporal UI.
 * The namespace must know them before the first workflow starts.
 */
export const SEARCH_ATTRIBUTES = {
  account: 'GenwayAccount',
  model: 'GenwayModel',
  kind: 'GenwayKind',
  outcome: 'GenwayOutcome',
} as const;

export type SearchAttributeName = (typeof SEARCH_ATTRIBUTES)[keyof typeof SEARCH_ATTRIBUTES];
