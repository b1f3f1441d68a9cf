/** The budgets of an account and of groups of its models, for its members and for operators. */
import type { ApiServices } from '../../../api/services.ts';
import { listAccountBudgets, type StoredAccountBudget } from '../../../db/queries/account-budgets.ts';
import { deleteBudget } from '../../../db/queries/budgets.ts';
import { notFoundError } from '../../../domain/not-found.ts';
import { accountBudgetSchema } from '../../../services/input/admin.ts';
import { toAccountBudget } from '../../../services/input/budgets.ts';
import { createValidator } from '../../../services/input/validation.ts';
import { setAccountBudget } from '../../../services/money/budgets.ts';
import { existingAccount } from '../../../services/people/existing-account.ts';
import { ACCOUNT_BUDGET } from '../../../services/resources/admin.ts';
import { Card, Choice, Field, Form, WithNote } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';
import { TableCard } from '../../html/resource-table.tsx';
import { type ListPage, readListPage } from '../../list-page.ts';
import { useBudgetColumns } from '../budget-columns.tsx';
import {
  forMembersAndStaff,
  hasPermissionHere,
  isStaffPage,
  type PageResult,
  showPage,
  type UserVisit,
} from '../../page.ts';

/** The permissions to change budgets. Members change the budgets that members set, and staff change ceilings. */
const TO_CHANGE = ['own', 'operate'] as const;
const validate = createValidator(accountBudgetSchema);

export const accountBudgetPages = forMembersAndStaff((place) => {
  const page = place.page('/budgets', ['see', 'read'], showBudgets);
  return [
    page,
    page.form('', TO_CHANGE, set),
    page.form(
      '/{account_budget_id}/delete',
      TO_CHANGE,
      async (visit, { database }) => {
        const { account_budget_id: id = '', account_id: accountId = '' } = visit.params;
        const budget = { id, accountId, ofEndUser: false, isCeiling: isStaffPage(visit) };
        if (!(await deleteBudget(database, budget))) throw notFoundError('budget');
      },
      'deleted',
    ),
  ];
});

async function set(visit: UserVisit, { database }: ApiServices): Promise<void> {
  const { form, params } = visit;
  const { id: accountId } = await existingAccount(database, params['account_id'] ?? '');
  const models = form
    .text('models')
    .split(/[\s,]+/)
    .filter((model) => model !== '');
  const body = validate({
    models: models.length === 0 ? null : models,
    usage_limit_usd: form.text('usage_limit_usd'),
    limit_period: form.text('limit_period'),
    is_ceiling: isStaffPage(visit),
  });
  await setAccountBudget(database, toAccountBudget(accountId, body));
}

async function showBudgets(visit: UserVisit, { database }: ApiServices): Promise<PageResult> {
  const { accountBudgets: messages, titles, fields, common, values } = visit.texts;
  const account = await existingAccount(database, visit.params['account_id'] ?? '');
  const budgets = await readListPage(visit.query, 'budget', (slice) =>
    listAccountBudgets(database, { accountId: account.id, ...slice }),
  );
  const mayChange = hasPermissionHere(visit, TO_CHANGE);
  const isOfStaff = isStaffPage(visit);
  return showPage(
    titles.budgets,
    <BudgetTable
      page={budgets}
      path={visit.path}
      mayChange={({ isCeiling }) => mayChange && isCeiling === isOfStaff}
    />,
    mayChange ? (
      <Card title={isOfStaff ? messages.setCeiling : messages.set}>
        <Form action={visit.path} submit={common.save}>
          <p class="soft">{isOfStaff ? messages.aboutCeilings : messages.explanation}</p>
          <div class="grid">
            <Field name="models" label={fields.models} hint={messages.modelsHint} />
            <Field name="usage_limit_usd" inputMode="decimal" />
            <Choice name="limit_period" label={messages.renews} options={Object.entries(values.limit_period)} />
          </div>
        </Form>
      </Card>
    ) : null,
  );
}

interface BudgetTableProps {
  readonly page: ListPage<StoredAccountBudget>;
  readonly path: string;
  readonly mayChange: (budget: StoredAccountBudget) => boolean;
}

function BudgetTable({ page: { entries, next }, path, mayChange }: BudgetTableProps) {
  const { accountBudgets: messages, titles, fields } = useTexts();
  const budgetColumns = useBudgetColumns({ entries, path, mayChange, messages });
  return (
    <TableCard
      next={next}
      title={titles.budgets}
      of={ACCOUNT_BUDGET}
      rows={entries}
      none={messages.none}
      columns={[
        [
          fields.models,
          ({ models, isCeiling }) => (
            <WithNote note={isCeiling ? messages.ceiling : null}>
              <span class="narrow">{models?.join(', ') ?? messages.allModels}</span>
            </WithNote>
          ),
        ],
        ...budgetColumns,
      ]}
    />
  );
}
