/** The statement of each month: opening balance, changes and closing balance. */
import { linesOf, STATEMENT_LINE } from '../../../services/resources/finance.ts';
import type { ApiServices } from '../../../api/services.ts';
import { dayOf, daysAfter } from '../../../domain/day.ts';
import type { Month } from '../../../domain/month.ts';
import { exportFile } from '../../export.ts';
import { ButtonLink, Card } from '../../html/components.tsx';
import { findParties } from '../../../db/queries/billing-documents.ts';
import { PrintButton } from '../../html/printed.tsx';
import { Downloads } from '../../html/filters.tsx';
import { monthName } from '../../html/months.ts';
import { StatementTable } from '../../html/statement-table.tsx';
import { member, type MemberVisit, showPage } from '../../page.ts';
import { monthIn } from '../usage/period.ts';

export const statementPages = [
  member.page('/accounts/{account_id}/billing/statements/{month}', 'pay', async (visit, services) => {
    const month = monthIn(visit);
    const { billing: messages, language } = visit.texts;
    const names = { ...messages.kinds, opening: messages.opening, closing: messages.closing };
    const billing = `/console/accounts/${visit.account.accountId}/billing`;
    return showPage(
      messages.statement(monthName(month.name, language)),
      <Card>
        {month.to.getTime() > services.clock.nowMs() ? <p class="soft">{messages.soFar}</p> : null}
        <StatementTable
          lines={await statementLines(visit, services)}
          label={messages.statement(month.name)}
          names={names}
          parties={await findParties(services.database, visit.account.accountId)}
        />
        <p class="row">
          <PrintButton />
          <Downloads />
          <ButtonLink href={`${billing}/ledger?${daysOf(month)}`} label={messages.ledger} look="quiet" />
        </p>
      </Card>,
    );
  }),
  member.page('/accounts/{account_id}/billing/statements/{month}/export', 'pay', async (visit, services) => {
    const lines = await statementLines(visit, services);
    return exportFile(`statement-${monthIn(visit).name}`, visit.query, lines, STATEMENT_LINE);
  }),
];

async function statementLines(visit: MemberVisit, { money: { readStatement } }: ApiServices) {
  const { from, to } = monthIn(visit);
  return linesOf(await readStatement({ accountId: visit.account.accountId, from, to }));
}

/** The days of a month as filters of the ledger. */
function daysOf({ from, to }: Month): string {
  return `from=${dayOf(from)}&to=${dayOf(daysAfter(to, -1))}`;
}
