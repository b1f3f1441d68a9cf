/** The link to the history of a workflow in Temporal's UI. */
import { type HistoryLinks, historyUrl } from '../../services/operations/history-link.ts';
import { useTexts } from './page-context.ts';

export function HistoryLink({
  temporal,
  workflowId,
}: {
  readonly temporal: HistoryLinks;
  readonly workflowId: string;
}) {
  const { staffTasks } = useTexts();
  return (
    <a href={historyUrl(temporal, workflowId)} target="_blank" rel="noreferrer">
      {staffTasks.openTemporal}
    </a>
  );
}
