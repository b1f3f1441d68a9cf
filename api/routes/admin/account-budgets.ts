/** The budgets of accounts and of groups of their models: contract 4.11. */
import { listAccountBudgets as findAccountBudgets } from '../../../db/queries/account-budgets.ts';
import { deleteBudget } from '../../../db/queries/budgets.ts';
import { notFoundError } from '../../../domain/not-found.ts';
import { accountBudgetSchema } from '../../../services/input/admin.ts';
import { toAccountBudget } from '../../../services/input/budgets.ts';
import { setAccountBudget as setBudget } from '../../../services/money/budgets.ts';
import { existingAccount } from '../../../services/people/existing-account.ts';
import { ACCOUNT_BUDGET, DELETED_ACCOUNT_BUDGET } from '../../../services/resources/admin.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';

export const accountBudgetEndpoints = endpoints('Administration', {
  setAccountBudget: endpoint({
    request: 'POST /admin/v1/accounts/{account_id}/budgets',
    access: 'admin',
    summary: 'Set the budget of an account or of a group of its models',
    description:
      'After the budget is spent, the requests that count towards it are refused until the budget renews. A budget with the same ' +
      'models, the same period and the same `is_ceiling` gets the new limit, at once. A new budget applies within three seconds.',
    body: jsonBody('SetAccountBudget', accountBudgetSchema),
    answers: { 200: dataOf(ACCOUNT_BUDGET.schema, 'The budget') },
    handle: async ({ params, body }, { database }) => {
      const { id: accountId } = await existingAccount(database, params.account_id);
      return { data: ACCOUNT_BUDGET.present(await setBudget(database, toAccountBudget(accountId, body))) };
    },
  }),
  listAccountBudgets: endpoint({
    request: 'GET /admin/v1/accounts/{account_id}/budgets',
    access: 'admin-read',
    summary: 'List the budgets of an account and of groups of its models, newest first',
    query: pageById('budget'),
    answers: { 200: pageOf(ACCOUNT_BUDGET.schema, 'A page of budgets') },
    handle: async ({ params, query }, { database }) => {
      const { id: accountId } = await existingAccount(database, params.account_id);
      return listPage(query, (slice) => findAccountBudgets(database, { accountId, ...slice }), ACCOUNT_BUDGET.present);
    },
  }),
  deleteAccountBudget: endpoint({
    request: 'DELETE /admin/v1/account-budgets/{account_budget_id}',
    access: 'admin',
    summary: 'Delete the budget of an account or of a group of its models, within three seconds',
    answers: { 200: dataOf(DELETED_ACCOUNT_BUDGET.schema, 'The deleted budget') },
    handle: async ({ params: { account_budget_id: id } }, { database }) => {
      if (!(await deleteBudget(database, { id, accountId: null, ofEndUser: false }))) throw notFoundError('budget');
      return { data: DELETED_ACCOUNT_BUDGET.present({ id }) };
    },
  }),
});
