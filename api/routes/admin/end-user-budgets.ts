/** The budgets of end users: contract 4.11. */
import {
  deleteEndUserBudget as removeEndUserBudget,
  listEndUserBudgets as findEndUserBudgets,
} from '../../../db/queries/end-user-budgets.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { notFoundError } from '../../../domain/not-found.ts';
import { textParameter } from '../../endpoint/query.ts';
import { setBudget } from '../../../services/money/budgets.ts';
import { existingAccount } from '../../../services/people/existing-account.ts';
import { DELETED_BUDGET, END_USER_BUDGET } from '../../../services/resources/admin.ts';
import { endUserBudgetSchema } from '../../../services/input/admin.ts';
import { toBudget } from '../../../services/input/budgets.ts';

export const endUserBudgetEndpoints = endpoints('Administration', {
  setEndUserBudget: endpoint({
    request: 'POST /admin/v1/accounts/{account_id}/end-user-budgets',
    access: 'admin',
    summary: 'Set the budget of an end user of an account',
    description:
      'After the budget is spent, text requests that name the end user are refused until the budget renews. A new budget applies ' +
      'within three seconds, a changed budget at once. A new period starts with nothing spent.',
    body: jsonBody('SetEndUserBudget', endUserBudgetSchema),
    answers: { 200: dataOf(END_USER_BUDGET.schema, 'The budget') },
    handle: async ({ params, body }, { database }) => {
      const { id: accountId } = await existingAccount(database, params.account_id);
      return { data: END_USER_BUDGET.present(await setBudget(database, toBudget(accountId, body))) };
    },
  }),
  listEndUserBudgets: endpoint({
    request: 'GET /admin/v1/accounts/{account_id}/end-user-budgets',
    access: 'admin-read',
    summary: 'List the budgets of the end users of an account, newest first',
    query: { end_user: textParameter('Filters by end user'), ...pageById('endUserBudget') },
    answers: { 200: pageOf(END_USER_BUDGET.schema, 'A page of budgets') },
    handle: async ({ params, query }, { database }) => {
      const { id: accountId } = await existingAccount(database, params.account_id);
      const filter = { accountId, endUser: query.end_user };
      return listPage(query, (slice) => findEndUserBudgets(database, { ...filter, ...slice }), END_USER_BUDGET.present);
    },
  }),
  deleteEndUserBudget: endpoint({
    request: 'DELETE /admin/v1/end-user-budgets/{budget_id}',
    access: 'admin',
    summary: 'Delete the budget of an end user, within three seconds',
    answers: { 200: dataOf(DELETED_BUDGET.schema, 'The deleted budget') },
    handle: async ({ params: { budget_id: id } }, { database }) => {
      if (!(await removeEndUserBudget(database, { id }))) throw notFoundError('endUserBudget');
      return { data: DELETED_BUDGET.present({ id }) };
    },
  }),
});
