/** One of each object that the pages of the console show, for tests that open all pages. */
import { Readable } from 'node:stream';
import { OWN_SITE } from '../../catalogue/site.ts';
import { inviteMember } from '../../services/people/members.ts';
import { makeAddressLink, requestAddressChange } from '../../services/people/address-change.ts';
import { makeRegistrationLink, register } from '../../services/people/registration.ts';
import type { Database } from '../../db/database.ts';
import { listDocuments, recordSeller } from '../../db/queries/billing-documents.ts';
import { topUp } from '../../db/queries/credits.ts';
import { setEndUserBudget } from '../../db/queries/end-user-budgets.ts';
import { finishTask } from '../../db/queries/finish-task.ts';
import { issueGiftBatch, redeemGiftCode } from '../../services/money/gift-codes.ts';
import { createPriceList } from '../../db/queries/price-lists.ts';
import { finishReconciliation, insertReconciliation } from '../../db/queries/reconciliations.ts';
import { holdRegistration } from '../../db/queries/registrations.ts';
import { findUserByEmail } from '../../db/queries/users.ts';
import { newId } from '../../domain/ids.ts';
import { parseUsd } from '../../domain/money.ts';
import type { TestApp } from './app.ts';
import { invite, PASSWORD } from './console.ts';
import {
  createEndpoint,
  createRegistration,
  createTaskRow,
  createTextRequestRow,
  finishAsFailed,
  importSampleBill,
  keyOf,
  newEvent,
  newGiftBatch,
  newTask,
  type TestCaller,
} from './factories.ts';
import { call } from './stack.ts';
import { pngFile } from './media-files.ts';
import { uploadImage } from './uploads.ts';

/** Ids and names of objects, by the parameters of the paths that name them. */
export type Samples = Readonly<Record<string, string>>;

export async function makeSamples(app: TestApp, customer: TestCaller): Promise<Samples> {
  const { accountId, keyId, apiKey } = customer;
  const { database } = app;
  const key = keyOf(customer);
  const { id: webhookId } = await createEndpoint(database, { id: accountId });
  const taskId = await makeTasks(app, customer);
  const { id: textRequestId, requestId } = await createTextRequestRow(database, key);
  const budget = { endUser: 'alice', usageLimit: parseUsd(1), limitPeriod: 'month' } as const;
  const [deliveryId = ''] = await database('deliveries').where({ account_id: accountId }).pluck<string[]>('id');
  return {
    account_id: accountId,
    key_id: keyId,
    task_id: taskId,
    text_request_id: textRequestId,
    request_id: requestId,
    webhook_id: webhookId,
    delivery_id: deliveryId,
    budget_id: (await setEndUserBudget(database, { accountId, ...budget }))?.id ?? '',
    file_id: (await uploadImage(app, apiKey, 'kite')).id,
    batch_id: await makeBatch(app, apiKey),
    document_id: await issueReceipt(database, accountId),
    reconciliation_id: await makeReport(database, accountId),
    correction_id: newId('correction'),
    merge_id: newId('accountMerge'),
    registration_id: await makeWaitingRegistration(database),
    block_id: newId('registrationBlock'),
    checkout_id: 'cs_1',
    model_id: 'vidone-3.0',
    price_list: await makePriceList(database),
    gift_batch_id: await issueGifts(app, accountId),
    ...(await makeMember(app, accountId)),
    provider: 'Example',
    registration_token: await makeRegistration(database),
    address_token: await makeAddressChange(database),
    ...(await importSampleBill(database)),
  };
}

/** A batch of gift codes, of which the account redeemed one. @returns its id */
async function issueGifts({ database }: TestApp, accountId: string): Promise<string> {
  const { id, giftCodes } = await issueGiftBatch(
    { database, money: { secondApprovalAbove: null } },
    newGiftBatch({ label: 'Spring fair', codes: 2 }),
  );
  await redeemGiftCode(database, giftCodes[0] ?? '', { accountId, email: null, ip: '127.0.0.1' });
  return id;
}

/** A batch whose requests have not started. */
async function makeBatch({ baseUrl }: TestApp, key: string): Promise<string> {
  const params = { model: 'textm-opus', max_tokens: 1, messages: [{ role: 'user', content: 'Hello' }] };
  const body = { requests: [{ custom_id: 'first', params }] };
  return (await call<{ id: string }>(`${baseUrl}/v1/messages/batches`, { key, body })).body.id;
}

/** A task in each state. @returns the id of the succeeded task */
async function makeTasks({ database, storage }: TestApp, customer: TestCaller): Promise<string> {
  const key = keyOf(customer);
  const limits = { contentType: 'image/png', maxBytes: 1_000_000 };
  const { url } = await storage.put('results/sample.png', Readable.from([pngFile()]), limits);
  const request = { ...newTask(key).request, prompt: 'A lighthouse at dusk' };
  const { id } = await createTaskRow(database, key, { request });
  const output = [{ type: 'image', url, mimeType: 'image/png' }] as const;
  await finishTask(database, id, { status: 'succeeded', output }, newEvent('task.succeeded'));
  await finishAsFailed(database, await createTaskRow(database, key));
  await createTaskRow(database, key);
  return id;
}

/** @returns the name of the list */
async function makePriceList(database: Database): Promise<string> {
  const rules = [{ model: 'vidone-3.0', prices: { '720p': '0.08' } }];
  const terms = { factor: '0.9', rules, author: 'Ada', reason: 'a sample' };
  return (await createPriceList(database, 'partners', terms)).list;
}

/** A registration that waits for approval. @returns its id */
async function makeWaitingRegistration(database: Database): Promise<string> {
  const id = await createRegistration(database, { email: 'waiting@example.com' });
  await holdRegistration(database, id, 'approval');
  return id;
}

/** @returns the id of the receipt */
async function issueReceipt(database: Database, accountId: string): Promise<string> {
  const taxes = [{ name: 'VAT', percent: '19' }];
  await recordSeller(database, { name: 'Acme', address: ['Street 1'], taxId: 'DE1', taxes, taxPoint: 'paid' });
  await topUp(database, { accountId, amount: parseUsd(5), reference: 'wire 1' });
  const [document] = await listDocuments(database, { accountId, limit: 1 });
  return document?.id ?? '';
}

/** An owner who invites another person. */
async function makeMember(app: TestApp, accountId: string): Promise<{ user_id: string; invitation_token: string }> {
  const email = 'sample@example.com';
  await invite(app, { email, account_id: accountId });
  const ownerId = (await findUserByEmail(app.database, email))?.user.id ?? '';
  const joining = { email: 'joining@example.com', role: 'developer', canSendMail: false } as const;
  const made = await inviteMember(app.database, { accountId, ownerId }, joining);
  if (typeof made === 'string' || !('path' in made)) throw new Error('nobody was invited');
  return { user_id: ownerId, invitation_token: made.path.split('/').at(-1) ?? '' };
}

/** A change of an address that no mailbox has confirmed. @returns the token of a link */
async function makeAddressChange(database: Database): Promise<string> {
  const user = (await findUserByEmail(database, 'sample@example.com'))?.user;
  if (!user) throw new Error('nobody was invited');
  await requestAddressChange(database, user, 'changed@example.com');
  return (await makeAddressLink(database, user.id, user.email))?.path.split('/').at(-1) ?? '';
}

/** A registration whose address is not verified. @returns the token of its link */
async function makeRegistration(database: Database): Promise<string> {
  const site = { ...OWN_SITE, registration: { domains: null, needsApproval: false } };
  const email = 'stranger@example.com';
  await register(
    { database, site },
    {
      email,
      name: 'Stranger',
      language: 'en',
      termsVersion: null,
      password: PASSWORD,
      ip: '192.0.2.1',
      verifyCaptcha: null,
    },
  );
  const [id = ''] = await database('registrations').where({ email }).pluck<string[]>('id');
  const link = await makeRegistrationLink(database, id, null);
  if (link === null || typeof link === 'string') throw new Error('there is no link to verify');
  return link.path.split('/').at(-1) ?? '';
}

/** The report of a reconciliation with a finding. @returns its id */
async function makeReport(database: Database, accountId: string): Promise<string> {
  const id = newId('reconciliation');
  await insertReconciliation(database, { id, requestedBy: 'operator' });
  await finishReconciliation(database, id, {
    checks: [{ check: 'account_balances', question: 'Is every balance right?', findings: 1, durationMs: 3 }],
    findings: [
      { check: 'account_balances', subject: accountId, detail: 'is 1', remedy: 'Set the balance to the sum.' },
    ],
  });
  return id;
}
