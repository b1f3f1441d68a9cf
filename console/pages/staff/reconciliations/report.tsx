/** The findings of a reconciliation, and their remedies. The browser fetches the report again while the reconciliation runs. */
import { CHECK, FINDING, type ReportedFinding } from '../../../../api/routes/admin/reconciliations.ts';
import type { Acknowledgement } from '../../../../db/queries/acknowledgements.ts';
import type { Reconciliation } from '../../../../db/queries/reconciliations.ts';
import { Badge, Card, Empty, Field, Form, Time } from '../../../html/components.tsx';
import { Downloads } from '../../../html/filters.tsx';
import { LinkedIds } from '../../../html/linked-ids.tsx';
import { TableCard } from '../../../html/resource-table.tsx';
import { may, type UserVisit } from '../../../page.ts';
import { findingsOf, FoundRow, ReconciliationBadge } from './list.tsx';

interface Props {
  readonly reconciliation: Reconciliation;
  readonly findings: readonly ReportedFinding[];
  readonly visit: UserVisit;
}

export function Report(props: Props) {
  const { reconciliation, findings, visit } = props;
  const { texts } = visit;
  const { reconciliation: words } = texts;
  const path = pathOf(reconciliation);
  const live =
    reconciliation.report === null
      ? { 'hx-get': `${path}/report`, 'hx-trigger': 'every 2s', 'hx-swap': 'outerHTML' }
      : {};
  return (
    <div {...live}>
      <p>
        <ReconciliationBadge reconciliation={reconciliation} /> <Time at={reconciliation.createdAt} />{' '}
        <span class="soft">{texts.values.requested_by[reconciliation.requestedBy]}</span>
      </p>
      {reconciliation.report === null ? <Empty>{words.wait}</Empty> : null}
      {(findingsOf(reconciliation) ?? 0) === 0 ? null : (
        <>
          <div class="row actions">
            <Downloads />
          </div>
          <Findings {...props} />
          {findings.some(isOpen) && may(visit, 'moveMoney') ? <AcknowledgeForm {...props} /> : null}
        </>
      )}
      <Checks {...props} />
    </div>
  );
}

function pathOf({ id }: Reconciliation): string {
  return `/console/staff/reconciliations/${id}`;
}

function isOpen({ acknowledgement }: ReportedFinding): boolean {
  return acknowledgement === null;
}

/** The form of the checkboxes beside the findings. */
const FORM_ID = 'acknowledge';

function Findings({ reconciliation, findings, visit }: Props) {
  const { reconciliation: words } = visit.texts;
  const numbered = findings.map((finding, index) => ({ ...finding, number: index + 1 }));
  return (
    <TableCard
      title={words.toDo}
      of={FINDING}
      rows={numbered}
      columns={[
        [words.row, (finding) => <FoundRow {...finding} />],
        [words.wrong, ({ detail }) => <LinkedIds text={detail} />],
        [words.remedy, ({ remedy }) => <LinkedIds text={remedy} />],
        [
          words.acknowledged,
          ({ number, subject, acknowledgement }) =>
            acknowledgement === null ? (
              <Box number={number} subject={subject} visit={visit} />
            ) : (
              <Acknowledged acknowledgement={acknowledgement} path={pathOf(reconciliation)} visit={visit} />
            ),
        ],
      ]}
    >
      <p class="hint">{words.units}</p>
    </TableCard>
  );
}

function Box({
  number,
  subject,
  visit,
}: {
  readonly number: number;
  readonly subject: string;
  readonly visit: UserVisit;
}) {
  if (!may(visit, 'moveMoney')) return <>–</>;
  const label = visit.texts.reconciliation.choose(subject);
  return <input type="checkbox" name="finding" value={String(number)} form={FORM_ID} aria-label={label} />;
}

function Acknowledged({
  acknowledgement: { id, outcome, author, decidedBy, reason, createdAt },
  path,
  visit,
}: {
  readonly acknowledgement: Acknowledgement;
  readonly path: string;
  readonly visit: UserVisit;
}) {
  const { texts, user } = visit;
  const { reconciliation: words, corrections } = texts;
  return (
    <>
      <Badge tone={outcome === 'confirmed' ? 'good' : 'busy'}>
        {outcome === 'confirmed' ? words.acknowledged : corrections.pending}
      </Badge>
      <p>{reason}</p>
      <p class="hint">
        {author}
        {decidedBy === null || decidedBy === author ? '' : `, ${words.confirmedBy(decidedBy)}`} <Time at={createdAt} />
      </p>
      {outcome === null && may(visit, 'moveMoney') ? (
        <div class="row">
          {(author === user.email ? (['withdraw'] as const) : (['confirm', 'reject'] as const)).map((decision) => (
            <Form action={`${path}/${decision}`}>
              <input type="hidden" name="acknowledgement_id" value={id} />
              <button type="submit" class={decision === 'confirm' ? '' : 'quiet'}>
                {words.decisions[decision]}
              </button>
            </Form>
          ))}
        </div>
      ) : null}
    </>
  );
}

function AcknowledgeForm({ reconciliation, visit: { texts } }: Props) {
  const { reconciliation: words } = texts;
  return (
    <Card title={words.acknowledge}>
      <p>{words.acknowledgeExplained}</p>
      <Form action={`${pathOf(reconciliation)}/acknowledge`} id={FORM_ID}>
        <Field name="reason" label={words.reason} required />
        <button type="submit">{words.acknowledge}</button>
      </Form>
    </Card>
  );
}

function Checks({ reconciliation: { report }, visit: { texts } }: Props) {
  const { reconciliation: words, language } = texts;
  if (report === null) return null;
  return (
    <TableCard
      title={words.checks}
      of={CHECK}
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
  );
}
