/** Asks before closing a month, and shows the amounts that closing freezes. */
import { ACKNOWLEDGED_FINDING } from '../../../../services/resources/months.ts';
import { sumRevenue } from '../../../../services/money/month-rows.ts';
import type { ApiServices } from '../../../../api/services.ts';
import {
  type AcknowledgedFinding,
  type MonthRefusal,
  type MonthTotals,
  closeMonth,
  findClosedMonth,
  findMonthRefusal,
  listAcknowledged,
  readMonthTotals,
} from '../../../../db/queries/closed-months.ts';
import { dayOf } from '../../../../domain/day.ts';
import { closableFrom, type Month } from '../../../../domain/month.ts';
import * as field from '../../../../domain/resource/field.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import { FormError } from '../../../form-problem.ts';
import { ButtonLink, Card, ExactMoney, FormButton, Problem } from '../../../html/components.tsx';
import { LinkedIds } from '../../../html/linked-ids.tsx';
import { monthName } from '../../../html/months.ts';
import { useTexts } from '../../../html/page-context.ts';
import { ResourceTable, TableCard } from '../../../html/resource-table.tsx';
import { openPage, type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { findingTexts, type Texts } from '../../../texts/texts.ts';
import { monthIn } from '../../usage/period.ts';
import { FoundRow } from '../found-row.tsx';
import { pathOfMonth } from './months.ts';

const closing = staff.page('/staff/months/{month}/close', 'moveMoney', confirmClosing);

export const closingPages = [
  closing,
  closing.form(
    '',
    'moveMoney',
    async (visit, services) => {
      const month = monthIn(visit);
      const outcome = await closeMonth(services.money.closing, month, visit.user.email);
      if ('refusal' in outcome) throw new FormError(reasonOf(outcome.refusal, month, visit.texts));
    },
    (visit) => openPage(pathOfMonth(visit), 'closed'),
  ),
];

type Booked = MonthTotals['amounts'] extends Iterable<infer Entry> ? Entry : never;

const BOOKED = nested<Booked>({ amount_usd: field.usd(([, amount]: Booked) => amount) });

/** Shows the amounts that closing freezes, and why the month cannot be closed yet. */
async function confirmClosing(visit: UserVisit, { reports }: ApiServices): Promise<PageResult> {
  const month = monthIn(visit);
  if (await findClosedMonth(reports, month.name)) return { kind: 'redirect', path: pathOfMonth(visit) };
  const [refusal, totals, acknowledged] = await Promise.all([
    findMonthRefusal(reports, month),
    readMonthTotals(reports, month),
    listAcknowledged(reports, month),
  ]);
  const { months: messages, common, titles, fields, language } = visit.texts;
  const path = `/console${pathOfMonth(visit)}`;
  const names: Readonly<Record<string, string>> = messages.lines;
  const page = showPage(
    messages.closeTitle(monthName(month.name, language)),
    // After a refused form, the top of the page shows the reason.
    visit.problem === null ? <Problem of={refusal && reasonOf(refusal, month, visit.texts)} /> : null,
    <Card title={messages.freezes}>
      <ul>
        {messages.frozen.map((sentence) => (
          <li>{sentence}</li>
        ))}
      </ul>
      <div class="row actions">
        {(visit.problem ?? refusal) === null ? (
          <FormButton action={`${path}/close`} label={messages.close} look="danger" />
        ) : (
          <ButtonLink href="/console/staff/reconciliations" label={titles.reconciliation} look="quiet" />
        )}
        <ButtonLink href={path} label={common.cancel} look="quiet" />
      </div>
    </Card>,
    <AcknowledgedFindings findings={acknowledged} />,
    <TableCard
      title={messages.books}
      of={BOOKED}
      rows={[...totals.amounts]}
      none={messages.nothingBooked}
      columns={[[common.what, ([kind]) => names[kind] ?? kind], 'amount_usd']}
    >
      <p class="hint">{messages.booksAre(totals.transfers.toLocaleString(language))}</p>
      <p>
        {fields.revenue_usd}: <ExactMoney amount={sumRevenue(totals)} />
      </p>
    </TableCard>,
  );
  return visit.problem === null ? page : { ...page, status: 409 };
}

/** Why an open month cannot be closed now, in the reader's language. */
function reasonOf(refusal: MonthRefusal, month: Month, { months: messages, language }: Texts): string {
  switch (refusal.reason) {
    case 'not over':
      return messages.notOver(monthName(month.name, language), dayOf(closableFrom(month)));
    case 'out of turn':
      return messages.outOfTurn(monthName(refusal.next, language));
    case 'bill not compared':
      return messages.billNotCompared(refusal.vendor);
    case 'not reconciled':
      return messages.notReconciled(monthName(month.name, language), dayOf(closableFrom(month)));
    default:
      return messages.unacknowledged(refusal.reconciliationId, refusal.findings);
  }
}

/** The acknowledged findings of a month, with author and reason. Renders nothing if there are none. */
export function AcknowledgedFindings({ findings }: { findings: readonly AcknowledgedFinding[] }) {
  const texts = useTexts();
  const { months: messages, reconciliation } = texts;
  if (findings.length === 0) return null;
  return (
    <Card title={messages.acknowledged}>
      <p class="soft">{messages.acknowledgedExplained}</p>
      <ResourceTable
        of={ACKNOWLEDGED_FINDING}
        label={messages.acknowledged}
        rows={findings}
        columns={[
          [reconciliation.row, (finding) => <FoundRow {...finding} />],
          [reconciliation.wrong, ({ detail }) => <LinkedIds text={findingTexts(texts).detail(detail)} />, 'words'],
          [
            reconciliation.acknowledged,
            ({ reason, author, confirmedBy }) => (
              <>
                {reason}
                <p class="hint">
                  {author}
                  {confirmedBy === author ? '' : `, ${reconciliation.confirmedBy(confirmedBy)}`}
                </p>
              </>
            ),
          ],
        ]}
      />
    </Card>
  );
}
