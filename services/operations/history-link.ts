/** The pages on which operators view workflow histories. */
export interface HistoryLinks {
  readonly uiUrl: string;
  readonly namespace: string;
}

/** The page of a workflow's history in Temporal's UI. */
export function historyUrl({ uiUrl, namespace }: HistoryLinks, workflowId: string): string {
  return `${uiUrl}/namespaces/${encodeURIComponent(namespace)}/workflows/${workflowId}`;
}
