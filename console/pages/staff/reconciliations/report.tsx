/** What a reconciliation found, and what to do about it. Asks for itself again while it runs. */
import type { Reconciliation } from '../../../../db/queries/reconciliations.ts';
import { EXPORT_FORMATS } from '../../../export.ts';
import { Badge, Card, Empty, Table, Time } from '../../../html/components.tsx';
import { LinkedIds } from '../../../html/linked-ids.tsx';
import type { Texts } from '../../../texts/texts.ts';
import { findingsOf, ReconciliationBadge } from './list.tsx';

interface Props {
  readonly reconciliation: Reconciliation;
  readonly texts: Texts;
}

export function Report(props: Props) {
  const { reconciliation, texts } = props;
  const { reconciliation: words, common } = texts;
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
            {EXPORT_FORMATS.map((format) => (
              <a class="button quiet" href={`${path}/export?format=${format}`} download>
                {common.download[format]}
              </a>
            ))}
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
      <Table label={words.toDo} columns={[words.row, words.wrong, words.remedy]}>
        {report?.findings.map(({ check, subject, detail, remedy }) => (
          <tr>
            <th scope="row">
              <LinkedIds text={subject} />
              <p class="hint">{check}</p>
            </th>
            <td>
              <LinkedIds text={detail} />
            </td>
            <td>
              <LinkedIds text={remedy} />
            </td>
          </tr>
        ))}
      </Table>
      <p class="hint">{words.units}</p>
    </Card>
  );
}

function Checks({ reconciliation: { report }, texts: { reconciliation: words, language } }: Props) {
  if (report === null) return null;
  return (
    <Card title={words.checks}>
      <Table label={words.checks} columns={[words.question, words.result, { number: words.took }]}>
        {report.checks.map(({ check, question, findings, durationMs }) => (
          <tr>
            <th scope="row">
              {question}
              <p class="hint">{check}</p>
            </th>
            <td>
              {findings === 0 ? (
                <Badge tone="good">{words.agrees}</Badge>
              ) : (
                <Badge tone="bad">{words.findings(findings)}</Badge>
              )}
            </td>
            <td class="right number">{`${durationMs.toLocaleString(language)} ms`}</td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}
