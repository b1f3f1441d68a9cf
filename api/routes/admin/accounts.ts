/** Accounts: creating, searching, editing, suspending and reopening them, and erasing their content. */
import { listAccounts as findAccounts } from '../../../db/queries/accounts.ts';
import { countRemainingContent } from '../../../db/queries/content.ts';
import type { Database } from '../../../db/database.ts';
import { parseUsd } from '../../../domain/money.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody, optionalJsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { flagParameter, textParameter } from '../../endpoint/query.ts';
import {
  eraseContentOf,
  reopenAccount as reopen,
  suspendAccount as suspend,
} from '../../../services/people/account-actions.ts';
import { createAccount as create, editAccount } from '../../../services/people/account-details.ts';
import { existingAccount } from '../../../services/people/existing-account.ts';
import { authorOf, authorshipOf } from '../../../services/people/administrator.ts';
import { ACCOUNT, CONTENT, LISTED_ACCOUNT } from '../../../services/resources/admin.ts';
import {
  createAccountSchema,
  operatorActionSchema,
  reopenAccountSchema,
  updateAccountSchema,
} from '../../../services/input/admin.ts';
import { showAccount } from './show-account.ts';
import { toDetails } from '../../../services/input/account-details.ts';

export const adminAccountEndpoints = endpoints('Administration', {
  createAccount: endpoint({
    request: 'POST /admin/v1/accounts',
    access: 'admin',
    summary: 'Create an account',
    body: jsonBody('CreateAccount', createAccountSchema),
    answers: { 201: dataOf(ACCOUNT.schema, 'The account') },
    refusals: ['idempotency_conflict'],
    handle: async ({ body, caller }, services) => {
      const signupCredit = parseUsd(body.signup_credit_usd ?? 0);
      const details = { ...toDetails(body), name: body.name };
      const id = await create(services, details, { author: authorOf(caller, undefined), signupCredit });
      return { data: await showAccount(services, id) };
    },
  }),
  listAccounts: endpoint({
    request: 'GET /admin/v1/accounts',
    access: 'admin-read',
    summary: 'List and search accounts, newest first',
    query: {
      search: textParameter('A part of the name, the e-mail address or the external id, in any case, or the whole id'),
      email: textParameter('Filters by e-mail address, in any case'),
      external_id: textParameter('Filters by external id'),
      suspended: flagParameter('True: suspended accounts. False: all other accounts'),
      closed: flagParameter('True: accounts that their owners closed. False: all other accounts'),
      merged: flagParameter('True: accounts that were merged into another account. False: all other accounts'),
      ...pageById('account'),
    },
    answers: { 200: pageOf(LISTED_ACCOUNT.schema, 'A page of accounts') },
    handle: ({ query }, { reports }) => {
      const filter = { ...query, externalId: query.external_id };
      return listPage(query, (slice) => findAccounts(reports, { ...filter, ...slice }), LISTED_ACCOUNT.present);
    },
  }),
  getAccount: endpoint({
    request: 'GET /admin/v1/accounts/{account_id}',
    access: 'admin-read',
    summary: 'Get an account with its balances',
    answers: { 200: dataOf(ACCOUNT.schema, 'The account') },
    handle: async ({ params }, services) => ({ data: await showAccount(services, params.account_id) }),
  }),
  updateAccount: endpoint({
    request: 'PATCH /admin/v1/accounts/{account_id}',
    access: 'admin',
    summary: 'Edit an account',
    description: 'Omitted fields stay unchanged; null removes a detail.',
    body: jsonBody('UpdateAccount', updateAccountSchema),
    answers: { 200: dataOf(ACCOUNT.schema, 'The changed account') },
    refusals: ['idempotency_conflict'],
    handle: async ({ params: { account_id: accountId }, caller, body: { author: given, ...details } }, services) => {
      const author = authorOf(caller, given);
      await editAccount(services, { accountId, details: toDetails(details), names: Object.keys(details), author });
      return { data: await showAccount(services, accountId) };
    },
  }),
  getContent: endpoint({
    request: 'GET /admin/v1/accounts/{account_id}/content',
    access: 'admin-read',
    summary: 'Show how much content of an account is still to be erased',
    answers: { 200: dataOf(CONTENT.schema, 'The content that is still to be erased') },
    handle: async ({ params: { account_id: accountId } }, { database }) => ({
      data: await showContent(database, accountId),
    }),
  }),
  eraseContent: endpoint({
    request: 'DELETE /admin/v1/accounts/{account_id}/content',
    access: 'admin',
    summary: 'Erase the content of an account up to now',
    description:
      'Erases prompts, inputs, uploads, results, events, histories in Temporal, and the messages of upstreams about them, within the ' +
      'hour or, for content in use, after its use. Keeps tasks without content, text requests without end users’ names, charges and ' +
      'refunds. Deletes the budgets of end users at once.',
    answers: { 200: dataOf(CONTENT.schema, 'The content that is still to be erased') },
    handle: async ({ params: { account_id: accountId }, caller }, { database }) => {
      await eraseContentOf(database, accountId, {
        author: authorOf(caller, undefined),
        reason: 'requested through the API',
      });
      return { data: await showContent(database, accountId) };
    },
  }),
  suspendAccount: endpoint({
    request: 'POST /admin/v1/accounts/{account_id}/suspend',
    access: 'admin',
    summary: 'Suspend an account and all of its keys at once',
    description:
      'Applies to all processes. Running tasks and text requests continue, and webhooks are still delivered.',
    body: jsonBody('SuspendAccount', operatorActionSchema),
    answers: { 200: dataOf(ACCOUNT.schema, 'The account, suspended') },
    handle: async ({ params, caller, body }, services) => {
      await suspend(services.database, params.account_id, authorshipOf(caller, body));
      return { data: await showAccount(services, params.account_id) };
    },
  }),
  reopenAccount: endpoint({
    request: 'POST /admin/v1/accounts/{account_id}/reopen',
    access: 'admin',
    summary: 'Reopen a suspended account and its keys',
    body: optionalJsonBody('ReopenAccount', reopenAccountSchema),
    description: 'An account that its owner closed gets 409.',
    answers: { 200: dataOf(ACCOUNT.schema, 'The account, open') },
    refusals: ['idempotency_conflict'],
    handle: async ({ params, caller, body }, services) => {
      await reopen(services.database, params.account_id, authorshipOf(caller, body));
      return { data: await showAccount(services, params.account_id) };
    },
  }),
});

async function showContent(database: Database, accountId: string) {
  const account = await existingAccount(database, accountId);
  return CONTENT.present({ ...account, ...(await countRemainingContent(database, accountId)) });
}
