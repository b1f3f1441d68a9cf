/** What a reconciliation found, and what to do about it. Asks for itself again while it runs. */
import type { Reconciliation } from '../../../../db/queries/reconciliations.ts';
import { Badge, Card, Empty, Time } from '../../../html/components.tsx';
import { DataTable } from '../../../html/data-table.tsx';
import { Downloads } from '../../../html/filters.tsx';
import { LinkedIds } from '../../../html/linked-ids.tsx';
import type { Texts } from '../../../texts/texts.ts';
import { findingsOf, ReconciliationBadge } from './list.tsx';

interface Props {
  readonly reconciliation: Reconciliation;
  readonly texts: Texts;
}

export function Report(props: Props) {
  const { reconciliation, texts } = props;
  const { reconciliation: words } = texts;
  const path = `/console/staff/reconciliations/${reconciliation.id}`;
  const live =
    reconciliation.report === null
      ? { 'hx-get': `${path}/report`, 'hx-trigger': 'every 2s', 'hx-swap': 'outerHTML' }
      : {};
  return (
    <div {...live}>
      <p>
        <ReconciliationBadge reconciliation={reconciliation} texts={texts} /> <Time at={reconciliation.createdAt} />{' '}
        <span class="soft">{words.requesters[reconciliation.requestedBy]}</span>
      </p>
      {reconciliation.report === null ? <Empty>{words.wait}</Empty> : null}
      {(findingsOf(reconciliation) ?? 0) === 0 ? null : (
        <>
          <div class="row actions">
            <Downloads path={path} texts={texts} />
          </div>
          <Findings {...props} />
        </>
      )}
      <Checks {...props} />
    </div>
  );
}

function Findings({ reconciliation: { report }, texts: { reconciliation: words } }: Props) {
  return (
    <Card title={words.toDo}>
      <DataTable
        label={words.toDo}
        rows={report?.findings ?? []}
        columns={[
          [
            words.row,
            ({ check, subject }) => (
              <>
                <LinkedIds text={subject} />
                <p class="hint">{check}</p>
              </>
            ),
            'name',
          ],
          [words.wrong, ({ detail }) => <LinkedIds text={detail} />],
          [words.remedy, ({ remedy }) => <LinkedIds text={remedy} />],
        ]}
      />
      <p class="hint">{words.units}</p>
    </Card>
  );
}

function Checks({ reconciliation: { report }, texts: { reconciliation: words, language } }: Props) {
  if (report === null) return null;
  return (
    <Card title={words.checks}>
      <DataTable
        label={words.checks}
        rows={report.checks}
        columns={[
          [
            words.question,
            ({ check, question }) => (
              <>
                {question}
                <p class="hint">{check}</p>
              </>
            ),
            'name',
          ],
          [
            words.result,
            ({ findings }) =>
              findings === 0 ? (
                <Badge tone="good">{words.agrees}</Badge>
              ) : (
                <Badge tone="bad">{words.findings(findings)}</Badge>
              ),
          ],
          [words.took, ({ durationMs }) => `${durationMs.toLocaleString(language)} ms`, 'number'],
        ]}
      />
    </Card>
  );
}
