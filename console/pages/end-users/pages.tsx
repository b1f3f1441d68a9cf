/** The end users of an account, for its members and for operators: their usage and budgets. */
import { toBudget } from '../../../services/input/budgets.ts';
import { END_USER_BUDGET } from '../../../services/resources/admin.ts';
import { endUserBudgetSchema } from '../../../services/input/admin.ts';
import { END_USER_USAGE } from '../../../services/resources/usage.ts';
import { setBudget } from '../../../services/money/budgets.ts';
import { existingAccount } from '../../../services/people/existing-account.ts';
import type { ApiServices } from '../../../api/services.ts';
import { createValidator } from '../../../services/input/validation.ts';
import { deleteEndUserBudget, type StoredBudget, listEndUserBudgets } from '../../../db/queries/end-user-budgets.ts';
import { sumEndUserUsage } from '../../../db/queries/end-user-usage.ts';
import { exportFile } from '../../export.ts';
import { Card, Choice, Field, Form } from '../../html/components.tsx';
import { DayFilters, Downloads, FieldFilter, Filters, textIn } from '../../html/filters.tsx';
import { useTexts } from '../../html/page-context.ts';
import { TableCard } from '../../html/resource-table.tsx';
import { type ListPage, readListPage } from '../../list-page.ts';
import { forMembersAndStaff, hasPermissionHere, type PageResult, showPage, type UserVisit } from '../../page.ts';
import { useBudgetColumns } from '../budget-columns.tsx';
import { type NamedPeriod, readPeriod } from '../usage/period.ts';

/** The permissions to change budgets. */
const TO_CHANGE = ['develop', 'operate'] as const;
const validate = createValidator(endUserBudgetSchema);

export const endUserPages = forMembersAndStaff((place) => {
  const page = place.page('/end-users', ['see', 'read'], showEndUsers);
  return [
    page,
    place.page('/end-users/export', ['see', 'read'], async (visit, services) => {
      const { period, rows } = await askedUsage(visit, services);
      return exportFile(`end-users-${period.name}`, visit.query, rows, END_USER_USAGE);
    }),
    page.form('', TO_CHANGE, set),
    page.form(
      '/{budget_id}/delete',
      TO_CHANGE,
      ({ params }, { database }) => {
        const { budget_id: id = '', account_id: accountId = '' } = params;
        return deleteEndUserBudget(database, { id, accountId });
      },
      'deleted',
    ),
  ];
});

async function set({ form, params }: UserVisit, { database }: ApiServices): Promise<void> {
  const { id: accountId } = await existingAccount(database, params['account_id'] ?? '');
  const body = validate({
    end_user: form.text('end_user'),
    usage_limit_usd: form.text('usage_limit_usd'),
    limit_period: form.text('limit_period'),
  });
  await setBudget(database, toBudget(accountId, body));
}

async function askedUsage({ params, query }: UserVisit, { reports, clock, money: { queueReport } }: ApiServices) {
  const account = await existingAccount(reports, params['account_id'] ?? '');
  const period: NamedPeriod = readPeriod(query, clock.nowMs());
  const { from, to } = period;
  const rows = await queueReport(account.id, () => sumEndUserUsage(reports, { accountId: account.id, from, to }));
  return { account, period, rows };
}

async function showEndUsers(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const { endUsers: messages, titles, fields, common, values } = visit.texts;
  const { account, period, rows } = await askedUsage(visit, services);
  const named = textIn(visit.query, 'end_user');
  const budgets = await readListPage(visit.query, 'endUserBudget', (slice) =>
    listEndUserBudgets(services.database, { accountId: account.id, endUser: named, ...slice }),
  );
  const mayChange = hasPermissionHere(visit, TO_CHANGE);
  return showPage(
    titles.endUsers,
    <Filters downloads={<Downloads />} hasViews={false} keeps={['end_user']}>
      <DayFilters standing={period} />
    </Filters>,
    <TableCard
      title={titles.usage}
      of={END_USER_USAGE}
      rows={rows.slice(0, MAX_ROWS)}
      none={messages.noUsage}
      hasColumnMenu
      columns={[
        [fields.end_user, Name, null, 'end_user'],
        'charged_usd',
        [values.outcome.succeeded, 'requests'],
        'failed',
        'input_tokens',
        'output_tokens',
      ]}
    >
      {rows.length > MAX_ROWS ? <p class="soft">{messages.more(MAX_ROWS)}</p> : null}
    </TableCard>,
    <BudgetTable page={budgets} path={visit.path} mayChange={mayChange} />,
    mayChange ? (
      <Card title={messages.set}>
        <Form action={visit.path} submit={common.save}>
          <p class="soft">{messages.explanation}</p>
          <div class="grid">
            <Field name="end_user" hint={messages.asNamed} />
            <Field name="usage_limit_usd" inputMode="decimal" />
            <Choice name="limit_period" label={messages.renews} options={Object.entries(values.limit_period)} />
          </div>
        </Form>
      </Card>
    ) : null,
  );
}

/** The table shows only the end users with the highest charges. The export has more. */
const MAX_ROWS = 100;

/** The name of an end user, which may be long and without spaces. */
function Name({ endUser }: { endUser: string }) {
  return <span class="narrow">{endUser}</span>;
}

interface BudgetTableProps {
  readonly page: ListPage<StoredBudget>;
  readonly path: string;
  readonly mayChange: boolean;
}

function BudgetTable({ page: { entries, next }, path, mayChange }: BudgetTableProps) {
  const { endUsers: messages, fields } = useTexts();
  const budgetColumns = useBudgetColumns({ entries, path, mayChange: () => mayChange, messages });
  return (
    <TableCard
      next={next}
      title={messages.budgets}
      of={END_USER_BUDGET}
      rows={entries}
      none={messages.noBudgets}
      columns={[[fields.end_user, Name], ...budgetColumns]}
    >
      <Filters hasViews={false} keeps={['from', 'to']}>
        <FieldFilter name="end_user" />
      </Filters>
    </TableCard>
  );
}
