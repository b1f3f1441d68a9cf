import type { Reconciliation } from '../../../../db/queries/reconciliations.ts';
import { Badge, Card, Empty, Form, Pages, Table, Time } from '../../../html/components.tsx';
import { FINANCE, type UserVisit } from '../../../page.ts';
import type { Texts } from '../../../texts/texts.ts';

/** How many rows disagree; null while it runs. */
export function findingsOf({ report }: Reconciliation): number | null {
  return report && report.checks.reduce((total, { findings }) => total + findings, 0);
}

export function ReconciliationBadge({
  reconciliation,
  texts: { reconciliation: words },
}: {
  readonly reconciliation: Reconciliation;
  readonly texts: Texts;
}) {
  const findings = findingsOf(reconciliation);
  if (findings === null) return <Badge tone="busy">{words.running}</Badge>;
  return findings === 0 ? (
    <Badge tone="good">{words.clean}</Badge>
  ) : (
    <Badge tone="bad">{words.findings(findings)}</Badge>
  );
}

export function ReconciliationList({
  reconciliations,
  next,
  visit: { texts, session, user, path, query },
}: {
  readonly reconciliations: readonly Reconciliation[];
  readonly next: string | null;
  readonly visit: UserVisit;
}) {
  const { reconciliation: words } = texts;
  return (
    <>
      <p class="soft">{words.explained}</p>
      {user.staffRole !== null && FINANCE.includes(user.staffRole) ? (
        <div class="row actions">
          <Form token={session.formToken} action={path}>
            <button type="submit">{words.runNow}</button>
          </Form>
        </div>
      ) : null}
      <Card>
        {reconciliations.length === 0 ? (
          <Empty>{words.none}</Empty>
        ) : (
          <Table label={words.title} columns={[words.begun, words.result, words.ended, words.requestedBy]}>
            {reconciliations.map((reconciliation) => (
              <tr>
                <th scope="row">
                  <a href={`/console/staff/reconciliations/${reconciliation.id}`}>
                    <Time at={reconciliation.createdAt} />
                  </a>
                </th>
                <td>
                  <ReconciliationBadge reconciliation={reconciliation} texts={texts} />
                </td>
                <td>{reconciliation.finishedAt === null ? '–' : <Time at={reconciliation.finishedAt} />}</td>
                <td>{words.requesters[reconciliation.requestedBy]}</td>
              </tr>
            ))}
          </Table>
        )}
        <Pages path={path} query={query} next={next} texts={texts} />
      </Card>
    </>
  );
}
