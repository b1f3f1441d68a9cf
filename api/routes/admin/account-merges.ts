/** Merges of two accounts of one person. */
import { listAccountMerges as findMerges } from '../../../db/queries/account-merges.ts';
import { newId } from '../../../domain/ids.ts';
import { mergeAccountSchema } from '../../../services/input/admin.ts';
import { mergeAlone } from '../../../services/money/merge-accounts.ts';
import { authorshipOf } from '../../../services/people/administrator.ts';
import { ACCOUNT_MERGE } from '../../../services/resources/account-merges.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { idParameter } from '../../endpoint/query.ts';

export const accountMergeEndpoints = endpoints('Administration', {
  mergeAccount: endpoint({
    request: 'POST /admin/v1/accounts/{account_id}/merge',
    access: 'admin-finance',
    summary: 'Merge an account into another account of the same person',
    description:
      'Suspends the account for ever, moves its money to the other account, and makes the members of both accounts members of ' +
      'both. Where two people decide about large corrections, 403: request the merge in the console.',
    body: jsonBody('MergeAccount', mergeAccountSchema),
    answers: { 201: dataOf(ACCOUNT_MERGE.schema, 'The merge') },
    handle: async ({ params: { account_id: sourceId }, body, caller }, services) => {
      const accounts = { sourceId, targetId: body.target_account_id };
      const merge = { id: newId('accountMerge'), ...accounts, ...authorshipOf(caller, body) };
      return { data: ACCOUNT_MERGE.present(await mergeAlone(services, merge)) };
    },
  }),
  listAccountMerges: endpoint({
    request: 'GET /admin/v1/account-merges',
    access: 'admin-read',
    summary: 'List merges of accounts, newest first',
    query: { account_id: idParameter('account', 'Filters by account, merged or not'), ...pageById('accountMerge') },
    answers: { 200: pageOf(ACCOUNT_MERGE.schema, 'A page of merges') },
    handle: ({ query }, { database }) =>
      listPage(
        query,
        (slice) => findMerges(database, { accountId: query.account_id, ...slice }),
        ACCOUNT_MERGE.present,
      ),
  }),
});
