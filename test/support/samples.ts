/** One of each object that the pages of the console show, for tests that open all pages. */
import { Readable } from 'node:stream';
import { inviteMember } from '../../services/people/members.ts';
import type { Database } from '../../db/database.ts';
import { listDocuments, recordSeller } from '../../db/queries/billing-documents.ts';
import { topUp } from '../../db/queries/credits.ts';
import { setEndUserBudget } from '../../db/queries/end-user-budgets.ts';
import { finishTask } from '../../db/queries/finish-task.ts';
import { createPriceList } from '../../db/queries/price-lists.ts';
import { finishReconciliation, insertReconciliation } from '../../db/queries/reconciliations.ts';
import { findUserByEmail } from '../../db/queries/users.ts';
import { newId } from '../../domain/ids.ts';
import { parseUsd } from '../../domain/money.ts';
import type { TestApp } from './app.ts';
import { invite } from './console.ts';
import {
  createEndpoint,
  createTaskRow,
  createTextRequestRow,
  finishAsFailed,
  importSampleBill,
  keyOf,
  newEvent,
  newTask,
  type TestCaller,
} from './factories.ts';
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
    document_id: await issueReceipt(database, accountId),
    reconciliation_id: await makeReport(database, accountId),
    correction_id: newId('correction'),
    checkout_id: 'cs_1',
    model_id: 'vidone-3.0',
    price_list: await makePriceList(database),
    ...(await makeMember(app, accountId)),
    ...(await importSampleBill(database)),
  };
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
