/** Statements of customers for a month. */
import { LISTED_ACCOUNT } from '../../../../api/routes/admin/present.ts';
import { linesOf } from '../../../../api/routes/admin/present-finance.ts';
import type { Account } from '../../../../db/queries/accounts.ts';
import type { Statement } from '../../../../db/queries/statements.ts';
import type { Month } from '../../../../domain/month.ts';
import { Card, Pages } from '../../../html/components.tsx';
import { Downloads, FieldFilter, Filters } from '../../../html/filters.tsx';
import { TableCard } from '../../../html/resource-table.tsx';
import { StatementTable } from '../../../html/statement-table.tsx';
import type { UserVisit } from '../../../page.ts';

export function CustomerList({
  month,
  accounts,
  next,
  visit: { texts },
}: {
  readonly month: Month;
  readonly accounts: readonly Account[];
  readonly next: string | null;
  readonly visit: UserVisit;
}) {
  const { months: words, common, fields } = texts;
  return (
    <>
      <Filters>
        <FieldFilter name="search" label={words.searchCustomer} type="search" />
      </Filters>
      <TableCard
        of={LISTED_ACCOUNT}
        label={words.statements}
        rows={accounts}
        none={words.noCustomers}
        pageOf={({ id }) => `/console/staff/months/${month.name}/statements/${id}`}
        columns={[
          [common.customer, 'name'],
          [fields.account_id, 'id'],
        ]}
      >
        <Pages next={next} />
      </TableCard>
    </>
  );
}

export function StatementContent({
  month,
  account,
  statement,
  visit: { texts },
}: {
  readonly month: Month;
  readonly account: Account;
  readonly statement: Statement;
  readonly visit: UserVisit;
}) {
  const { months: words, fields } = texts;
  return (
    <>
      <div class="row actions">
        <Downloads />
        <a class="button quiet" href={`/console/staff/accounts/${account.id}`}>
          {fields.account_id}
        </a>
        <a class="button quiet" href={`/console/staff/months/${month.name}`}>
          {words.backToMonth}
        </a>
      </div>
      <Card>
        <StatementTable lines={linesOf(statement)} label={words.statements} names={words.lines} />
      </Card>
    </>
  );
}
