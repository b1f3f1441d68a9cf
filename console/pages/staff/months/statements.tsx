/** Statements of customers for a month. */
import { linesOf, STATEMENT_LINE } from '../../../../services/resources/finance.ts';
import { LISTED_ACCOUNT } from '../../../../services/resources/admin.ts';
import { existingAccount } from '../../../../services/people/existing-account.ts';
import type { ApiServices } from '../../../../api/services.ts';
import { listAccounts } from '../../../../db/queries/accounts.ts';
import { readStatements, type Statement } from '../../../../db/queries/statements.ts';
import { isCharge, TRANSFERS } from '../../../../domain/ledger.ts';
import type { PicoUsd } from '../../../../domain/money.ts';
import { exportFile } from '../../../export.ts';
import { ButtonLink, Card, ExactMoney } from '../../../html/components.tsx';
import { findParties } from '../../../../db/queries/billing-documents.ts';
import { PrintButton } from '../../../html/printed.tsx';
import { Downloads, FieldFilter, Filters, textIn } from '../../../html/filters.tsx';
import { monthName } from '../../../html/months.ts';
import { TableCard } from '../../../html/resource-table.tsx';
import { StatementTable } from '../../../html/statement-table.tsx';
import { readListPage } from '../../../list-page.ts';
import { type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { monthIn } from '../../usage/period.ts';

const PATH = '/staff/months/{month}/statements';

export const statementPages = [
  staff.page(PATH, 'read', showCustomers),
  staff.page(`${PATH}/{account_id}`, 'read', showStatement),
  staff.page(`${PATH}/{account_id}/export`, 'read', async (visit, services) => {
    const { month, account, lines } = await askedStatement(visit, services);
    return exportFile(`statement-${month.name}-${account.id}`, visit.query, lines, STATEMENT_LINE);
  }),
];

async function showCustomers(visit: UserVisit, { reports }: ApiServices): Promise<PageResult> {
  const { query, texts, path } = visit;
  const search = textIn(query, 'search');
  const { entries: accounts, next } = await readListPage(query, 'account', (slice) =>
    listAccounts(reports, { search, ...slice }),
  );
  const { name, from, to } = monthIn(visit);
  const statements = await readStatements(reports, { accountIds: accounts.map(({ id }) => id), from, to });
  const { months: messages, common, fields, language } = texts;
  return showPage(
    messages.statementsOf(monthName(name, language)),
    <Filters>
      <FieldFilter name="search" label={messages.searchCustomer} type="search" />
    </Filters>,
    <TableCard
      of={LISTED_ACCOUNT}
      label={messages.statements}
      rows={accounts.map((account) => ({ ...account, ...totalsOf(statements.get(account.id)) }))}
      none={messages.noCustomers}
      pageOf={({ id }) => `${path}/${id}`}
      columns={[
        [common.customer, 'name'],
        [messages.lines.opening, ({ opening }) => <ExactMoney amount={opening} />, 'number'],
        [messages.lines.topup, ({ paid }) => <ExactMoney amount={paid} />, 'number'],
        [fields.charged_usd, ({ charged }) => <ExactMoney amount={charged} />, 'number'],
        [messages.lines.closing, ({ closing }) => <ExactMoney amount={closing} />, 'number'],
        [fields.account_id, 'id'],
      ]}
      next={next}
    />,
  );
}

/** The amounts of a statement in the list, with holds. */
function totalsOf(statement: Statement = NO_STATEMENT) {
  const { opening, activity, closing } = statement;
  const sum = (isCounted: (kind: string) => boolean): PicoUsd =>
    activity.reduce(
      (total, change) => (isCounted(change.kind) ? total + change.available + change.reserved : total),
      0n,
    );
  return {
    opening: opening.available + opening.reserved,
    paid: sum((kind) => kind === 'topup'),
    charged: -sum((kind) => CHARGES.has(kind)),
    closing: closing.available + closing.reserved,
  };
}

const NOTHING = { available: 0n, reserved: 0n };
const NO_STATEMENT: Statement = { opening: NOTHING, activity: [], closing: NOTHING };
const CHARGES: ReadonlySet<string> = new Set(
  Object.entries(TRANSFERS).flatMap(([kind, posting]) => (isCharge(posting) ? [kind] : [])),
);

async function showStatement(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const { month, account, lines } = await askedStatement(visit, services);
  const parties = await findParties(services.reports, account.id);
  const { months: messages, fields, language } = visit.texts;
  return showPage(
    messages.statementOf(account.name, monthName(month.name, language)),
    <div class="row actions">
      <PrintButton />
      <Downloads />
      <ButtonLink href={`/console/staff/accounts/${account.id}`} label={fields.account_id} look="quiet" />
      <ButtonLink href={`/console/staff/months/${month.name}`} label={messages.backToMonth} look="quiet" />
    </div>,
    <Card>
      <StatementTable lines={lines} label={messages.statements} names={messages.lines} parties={parties} />
    </Card>,
  );
}

async function askedStatement(visit: UserVisit, { reports, money: { readStatement } }: ApiServices) {
  const month = monthIn(visit);
  const account = await existingAccount(reports, visit.params['account_id'] ?? '');
  const statement = await readStatement({ accountId: account.id, from: month.from, to: month.to });
  return { month, account, lines: linesOf(statement) };
}
