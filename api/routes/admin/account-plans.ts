/** The plans of accounts: contract 4.11. */
import { findAccountPlan } from '../../../db/queries/plans.ts';
import { existingAccount } from '../../../services/people/existing-account.ts';
import { ACCOUNT_PLAN } from '../../../services/resources/admin.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';

export const accountPlanEndpoints = endpoints('Administration', {
  getAccountPlan: endpoint({
    request: 'GET /admin/v1/accounts/{account_id}/plan',
    access: 'admin-read',
    summary: 'Show the plan of an account',
    answers: { 200: dataOf(ACCOUNT_PLAN.schema, 'The plan; without one, its fields are null') },
    handle: async ({ params }, { database }) => {
      const { id } = await existingAccount(database, params.account_id);
      return { data: ACCOUNT_PLAN.present(await findAccountPlan(database, id)) };
    },
  }),
});
