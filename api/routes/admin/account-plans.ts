/** The plans of accounts: contract 4.11. */
import { findAccountPlan } from '../../../db/queries/plans.ts';
import { existingAccount } from '../../../services/people/existing-account.ts';
import { ACCOUNT_PLAN, PLAN_SUBSCRIBER } from '../../../services/resources/admin.ts';
import { PLAN_STATES } from '../../../domain/plan-state.ts';
import { listPlanSubscribers as findSubscribers } from '../../../db/queries/plan-subscribers.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { choiceParameter, textParameter } from '../../endpoint/query.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';

export const accountPlanEndpoints = endpoints('Administration', {
  listPlanSubscribers: endpoint({
    request: 'GET /admin/v1/plan-subscribers',
    access: 'admin-read',
    summary: 'List the accounts that subscribe to a plan, or did, the newest account first',
    query: {
      ...pageById('account'),
      state: choiceParameter(PLAN_STATES, 'Only subscribers in this state'),
      plan: textParameter('Only subscribers whose latest paid period has this plan'),
    },
    answers: { 200: pageOf(PLAN_SUBSCRIBER.schema, 'A page of subscribers') },
    handle: ({ query: { state, plan, ...page } }, { reports }) =>
      listPage(page, (slice) => findSubscribers(reports, { state, plan, ...slice }), PLAN_SUBSCRIBER.present),
  }),
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
