/** Accounts: who the customers are, and whether their keys work. */
import {
  type AccountDetails,
  ExternalIdTakenError,
  insertAccount,
  listAccounts as findAccounts,
  updateAccount as change,
} from '../../../db/queries/accounts.ts';
import { grantSignupCredit } from '../../../db/queries/credits.ts';
import { recordAccountAction } from '../../../db/queries/operator-actions.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { newId } from '../../../domain/ids.ts';
import { parseUsd } from '../../../domain/money.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody, optionalJsonBody } from '../../endpoint/body.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { noSuch } from '../../endpoint/path.ts';
import { aFlag, anyText } from '../../endpoint/query.ts';
import { reopenAccount as reopen, suspendAccount as suspend } from '../../services/account-actions.ts';
import { authorOf, authorshipOf } from '../../services/administrator.ts';
import { addUp } from '../../services/finance/four-eyes.ts';
import { ACCOUNT, LISTED_ACCOUNT } from './present.ts';
import {
  type AccountDetailsBody,
  createAccountSchema,
  operatorActionSchema,
  reopenAccountSchema,
  updateAccountSchema,
} from './schema.ts';
import { showAccount } from './show-account.ts';

export const createAccount = endpoint({
  id: 'createAccount',
  method: 'post',
  path: '/admin/v1/accounts',
  access: 'admin',
  summary: 'Create an account',
  body: jsonBody('CreateAccount', createAccountSchema),
  answers: { 201: dataOf(ACCOUNT.schema, 'The account') },
  refusals: ['idempotency_conflict'],
  handle: async ({ body, caller }, services) => {
    const id = newId('account');
    const author = authorOf(caller, undefined);
    const signupCredit = parseUsd(body.signup_credit_usd ?? 0);
    await unlessTaken(
      services.database.transaction(async (transaction) => {
        await insertAccount(transaction, { id, ...toDetails(body), name: body.name });
        if (signupCredit === 0n) return;
        const transferId = await grantSignupCredit(transaction, id, signupCredit);
        await addUp(transaction, services, { id: transferId, accountId: id, amount: signupCredit, author });
      }),
    );
    return { data: await showAccount(services, id) };
  },
});

export const listAccounts = endpoint({
  id: 'listAccounts',
  method: 'get',
  path: '/admin/v1/accounts',
  access: 'admin-read',
  summary: 'List and search accounts, newest first',
  query: {
    search: anyText('A part of the name, the e-mail address or the external id, in any case, or the whole id'),
    email: anyText('Only accounts with that e-mail address, in any case'),
    external_id: anyText('Only the account with that external id'),
    suspended: aFlag('Only accounts that are suspended, or only those that are not'),
    ...pageById('account'),
  },
  answers: { 200: pageOf(LISTED_ACCOUNT.schema, 'A page of accounts') },
  handle: ({ query }, { reports }) => {
    const filter = { ...query, externalId: query.external_id };
    return listPage(query, (slice) => findAccounts(reports, { ...filter, ...slice }), LISTED_ACCOUNT.present);
  },
});

export const getAccount = endpoint({
  id: 'getAccount',
  method: 'get',
  path: '/admin/v1/accounts/{account_id}',
  access: 'admin-read',
  summary: 'Get an account with its balances',
  answers: { 200: dataOf(ACCOUNT.schema, 'The account') },
  handle: async ({ params }, services) => ({ data: await showAccount(services, params.account_id) }),
});

export const updateAccount = endpoint({
  id: 'updateAccount',
  method: 'patch',
  path: '/admin/v1/accounts/{account_id}',
  access: 'admin',
  summary: 'Edit an account',
  description: 'Fields that are not sent stay unchanged; null removes a detail.',
  body: jsonBody('UpdateAccount', updateAccountSchema),
  answers: { 200: dataOf(ACCOUNT.schema, 'The changed account') },
  refusals: ['idempotency_conflict'],
  handle: async ({ params: { account_id: accountId }, caller, body: { author: given, ...details } }, services) => {
    const author = authorOf(caller, given);
    const reason = `set ${Object.keys(details).join(', ') || 'nothing'}`;
    await unlessTaken(
      services.database.transaction(async (transaction) => {
        if (!(await change(transaction, accountId, toDetails(details)))) throw noSuch('account');
        await recordAccountAction(transaction, { accountId, kind: 'edit', author, reason });
      }),
    );
    return { data: await showAccount(services, accountId) };
  },
});

export const suspendAccount = endpoint({
  id: 'suspendAccount',
  method: 'post',
  path: '/admin/v1/accounts/{account_id}/suspend',
  access: 'admin',
  summary: 'Suspend an account; all of its keys stop working at once',
  description: 'In all processes. Running tasks and text requests continue, and webhooks are still delivered.',
  body: jsonBody('SuspendAccount', operatorActionSchema),
  answers: { 200: dataOf(ACCOUNT.schema, 'The account, suspended') },
  handle: async ({ params, caller, body }, services) => {
    await suspend(services.database, params.account_id, authorshipOf(caller, body));
    return { data: await showAccount(services, params.account_id) };
  },
});

export const reopenAccount = endpoint({
  id: 'reopenAccount',
  method: 'post',
  path: '/admin/v1/accounts/{account_id}/reopen',
  access: 'admin',
  summary: 'Reopen a suspended account; its keys work again',
  body: optionalJsonBody('ReopenAccount', reopenAccountSchema),
  answers: { 200: dataOf(ACCOUNT.schema, 'The account, open') },
  handle: async ({ params, caller, body }, services) => {
    await reopen(services.database, params.account_id, authorshipOf(caller, body));
    return { data: await showAccount(services, params.account_id) };
  },
});

function toDetails(body: AccountDetailsBody): AccountDetails {
  const { name, email, external_id: externalId, max_concurrent_tasks: maxConcurrentTasks } = body;
  return { name, email, externalId, maxConcurrentTasks };
}

async function unlessTaken<Result>(change: Promise<Result>): Promise<Result> {
  try {
    return await change;
  } catch (error) {
    if (!(error instanceof ExternalIdTakenError)) throw error;
    throw new ServiceError(
      'idempotency_conflict',
      'Another account has that external id. GET /admin/v1/accounts?external_id= finds it.',
    );
  }
}
