/** The statement of each month: opening balance, changes and closing balance. */
import { linesOf, STATEMENT_LINE } from '../../../api/routes/admin/present-finance.ts';
import type { ApiServices } from '../../../api/services/services.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { type Month, parseMonth } from '../../../domain/month.ts';
import { exportFile } from '../../export.ts';
import { Card } from '../../html/components.tsx';
import { Downloads } from '../../html/filters.tsx';
import { monthName } from '../../html/months.ts';
import { StatementTable } from '../../html/statement-table.tsx';
import { member, type MemberVisit, showPage } from '../../page.ts';

export const statementPages = [
  member.page('/accounts/{account_id}/billing/statements/{month}', 'pay', async (visit, services) => {
    const month = monthOf(visit);
    const { billing: words, language } = visit.texts;
    return showPage(
      'billing',
      words.statement(monthName(month.name, language)),
      <Statement lines={await statementLines(visit, services)} month={month} visit={visit} services={services} />,
    );
  }),
  member.page('/accounts/{account_id}/billing/statements/{month}/export', 'pay', async (visit, services) => {
    const lines = await statementLines(visit, services);
    return exportFile(`statement-${monthOf(visit).name}`, visit.query, lines, STATEMENT_LINE);
  }),
];

/** @throws ServiceError `not_found` */
function monthOf({ params }: MemberVisit): Month {
  const month = parseMonth(params['month'] ?? '');
  if (!month) throw new ServiceError('not_found', 'There is no such month.');
  return month;
}

async function statementLines(visit: MemberVisit, { readStatement }: ApiServices) {
  const { from, to } = monthOf(visit);
  return linesOf(await readStatement({ accountId: visit.account.accountId, from, to }));
}

/** The days of a month as filters of the ledger. */
function daysOf({ from, to }: Month): string {
  const lastDay = new Date(to.getTime() - 1);
  return `from=${from.toISOString().slice(0, 10)}&to=${lastDay.toISOString().slice(0, 10)}`;
}

function Statement({
  lines,
  month,
  visit: { account, texts },
  services,
}: {
  readonly lines: Awaited<ReturnType<typeof statementLines>>;
  readonly month: Month;
  readonly visit: MemberVisit;
  readonly services: ApiServices;
}) {
  const { billing: words } = texts;
  const billing = `/console/accounts/${account.accountId}/billing`;
  const names = { ...words.kinds, opening: words.opening, closing: words.closing };
  return (
    <Card>
      {month.to.getTime() > services.clock.nowMs() ? <p class="soft">{words.soFar}</p> : null}
      <StatementTable lines={lines} label={words.statement(month.name)} names={names} />
      <p class="row">
        <Downloads />
        <a class="button quiet" href={`${billing}/ledger?${daysOf(month)}`}>
          {words.ledger}
        </a>
      </p>
    </Card>
  );
}
