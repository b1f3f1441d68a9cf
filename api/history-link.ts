/** Where operators look at histories. */
export interface HistoryLinks {
  readonly uiUrl: string;
  readonly namespace: string;
}

/** The page of Temporal's UI with the history of a workflow. */
export function historyUrl({ uiUrl, namespace }: HistoryLinks, workflowId: string): string {
  return `${uiUrl}/namespaces/${encodeURIComponent(namespace)}/workflows/${workflowId}`;
}
