/** Rows for tests, made by the same queries as in production. Values without meaning for a test have defaults. */
import type { NewGiftBatch } from '../../db/queries/gift-codes.ts';
import { randomBytes } from 'node:crypto';
import { digestApiKey, newApiKey } from '../../services/people/api-key-digest.ts';
import { importBill } from '../../services/money/bills.ts';
import type { Database } from '../../db/database.ts';
import { type Account, findAccount, insertAccount } from '../../db/queries/accounts.ts';
import { type ApiKey, insertApiKey, type KeySettings } from '../../db/queries/api-keys.ts';
import { grantSignupCredit, topUp } from '../../db/queries/credits.ts';
import { sumTransfersWhere } from '../../db/queries/daily-transfers.ts';
import { type EventOfEnding, type FinishedTask, finishTask } from '../../db/queries/finish-task.ts';
import {
  type StoredSubmission,
  type NewSubmission,
  openSubmission,
  settleSubmission,
} from '../../db/queries/submissions.ts';
import { insertRegistration } from '../../db/queries/registrations.ts';
import { createTasks, findTask, type NewTask } from '../../db/queries/tasks.ts';
import { insertWebhookEndpoint, type WebhookEndpoint } from '../../db/queries/webhook-endpoints.ts';
import type { TaskErrorCode } from '../../domain/errors.ts';
import { digestToken } from '../../domain/bearer-token.ts';
import { createdAtMsOf, newId } from '../../domain/ids.ts';
import { parseUsd, PICO_PER_USD } from '../../domain/money.ts';
import { normalAddress } from '../../domain/normal-address.ts';
import { parseMonth } from '../../domain/month.ts';
import type { GeneratedMedia, Task } from '../../domain/task.ts';

/** A key as the database has it, and the digest by which it is found. */
export interface TestKey extends ApiKey {
  readonly digest: Buffer;
}

export const VIDEO: GeneratedMedia = { type: 'video', url: 'https://files.test/0.mp4', mimeType: 'video/mp4' };

const MINUTE_MS = 60_000;

/** An account with this balance; without `fundedUsd` it has never topped up. */
export async function createAccount(
  database: Database,
  { signupUsd = 0, fundedUsd = 0 }: { signupUsd?: number; fundedUsd?: number } = {},
): Promise<Account> {
  const id = newId('account');
  await insertAccount(database, { id, name: 'Test' });
  if (signupUsd > 0) await grantSignupCredit(database, id, parseUsd(signupUsd));
  if (fundedUsd > 0) await topUp(database, { accountId: id, amount: parseUsd(fundedUsd), reference: 'first' });
  return reloadAccount(database, { id });
}

/** A registration whose address is not verified. @returns its id */
export async function createRegistration(
  database: Database,
  {
    email,
    network = '192.0.2.0/24',
    sentAtMs = Date.now(),
  }: { readonly email: string; readonly network?: string; readonly sentAtMs?: number },
): Promise<string> {
  const id = newId('registration', sentAtMs);
  await insertRegistration(database, {
    id,
    email,
    network,
    normalAddressDigest: digestToken(normalAddress(email)),
    source: 'password',
    reason: null,
    name: 'Ada',
    language: 'en',
    termsVersion: null,
    passwordHash: null,
    identity: null,
    linkDigest: null,
    lifetimeSeconds: 3_600,
  });
  return id;
}

/** The current row of the account. */
export async function reloadAccount(database: Database, { id }: Pick<Account, 'id'>): Promise<Account> {
  const account = await findAccount(database, id);
  if (!account) throw new Error(`there is no account ${id}`);
  return account;
}

export async function createKey(
  database: Database,
  account: Pick<Account, 'id'>,
  settings: KeySettings = {},
  digest: Buffer = randomBytes(32),
): Promise<TestKey> {
  const key = await insertApiKey(database, {
    id: newId('apiKey'),
    accountId: account.id,
    digest,
    pepperMark: '',
    hint: 'sk-…',
    settings,
  });
  return { ...key, digest };
}

/** Credit of a new account, and settings of its key. */
export interface CallerSettings {
  readonly fundedUsd?: number;
  readonly signupUsd?: number;
  readonly key?: KeySettings;
}

export interface TestCaller {
  readonly accountId: string;
  readonly keyId: string;
  readonly apiKey: string;
}

/** The key of a caller, as rows of tasks and text requests name it. */
export function keyOf({ accountId, keyId }: TestCaller): Pick<ApiKey, 'id' | 'accountId'> {
  return { id: keyId, accountId };
}

/** Creates an account with a key that clients can use. @param pepper that of the processes which look the key up */
export async function createCaller(
  database: Database,
  pepper: Buffer,
  { key = {}, ...credit }: CallerSettings = {},
): Promise<TestCaller> {
  const { id: accountId } = await createAccount(database, credit);
  const apiKey = newApiKey();
  const { id: keyId } = await createKey(database, { id: accountId }, key, digestApiKey(apiKey, pepper));
  return { accountId, keyId, apiKey };
}

/** Puts what the key has used into an earlier period of its limit. */
export async function startNextPeriod(database: Database, { id }: Pick<TestKey, 'id'>): Promise<void> {
  await database('api_keys')
    .where({ id })
    .update({ period_since: database.raw("period_since - interval '40 days'") });
}

/** A key of a new account with 100 USD, for tests that are not about money. */
export async function createFundedKey(database: Database, fundedUsd = 100): Promise<TestKey> {
  return createKey(database, await createAccount(database, { fundedUsd }));
}

/** The row that a create call of that key would write: a video for 1 USD. */
export function newTask(key: Pick<ApiKey, 'id' | 'accountId'>, settings: Partial<NewTask> = {}): NewTask {
  const id = settings.id ?? newId('task');
  const createdAtMs = createdAtMsOf('task', id);
  return {
    id,
    reservationId: newId('transfer', createdAtMs),
    accountId: key.accountId,
    apiKeyId: key.id,
    kind: 'video',
    model: 'vidone-3.0',
    capabilityVersion: 1,
    provider: 'simulator',
    request: {
      kind: 'video',
      prompt: 'A test',
      durationSeconds: 5,
      routes: [{ provider: 'simulator', model: 'vidone-3.0' }],
    },
    price: parseUsd(1),
    priceList: null,
    billableDurationSeconds: 5,
    requestId: newId('request'),
    batchId: null,
    batchLine: null,
    endUser: null,
    createdAt: new Date(createdAtMs),
    deadlineAt: new Date(createdAtMs + 30 * MINUTE_MS),
    nextStartAt: new Date(createdAtMs),
    maxConcurrentTasks: 1_000,
    uploadIds: [],
    idempotency: null,
    ...settings,
  };
}

/** A queued task with its reservation. @throws Error when it is refused */
export async function createTaskRow(
  database: Database,
  key: Pick<ApiKey, 'id' | 'accountId'>,
  settings: Partial<NewTask> = {},
): Promise<Task> {
  const task = newTask(key, settings);
  const [outcome] = await createTasks(database, [task]);
  if (outcome !== 'created') throw new Error(`the task was refused: ${outcome}`);
  return reloadTask(database, task);
}

/** A batch of media tasks with a line that waits. @returns its id */
export async function createMediaBatchRow(
  database: Database,
  { id: apiKeyId, accountId }: Pick<ApiKey, 'id' | 'accountId'>,
): Promise<string> {
  const id = newId('batch');
  await database('batches').insert({
    id,
    account_id: accountId,
    api_key_id: apiKeyId,
    request_id: newId('request'),
    endpoint: '/v1/images/tasks',
    input_file_id: newId('file'),
    created_at: new Date(),
    expires_at: new Date(),
    next_start_at: 'infinity',
  });
  await database('batch_lines').insert({ batch_id: id, number: 1, custom_id: 'a', status: 'waiting' });
  return id;
}

/** A submission of the task to the first of its routes, before its outcome is known. */
export async function openTaskSubmission(
  database: Database,
  { id: taskId }: Pick<Task, 'id'>,
  settings: Partial<NewSubmission> = {},
): Promise<StoredSubmission> {
  const submission = {
    taskId,
    attempt: 1,
    route: 0,
    provider: 'simulator',
    vendor: 'http-jobs https://vendor.test/',
    model: 'm',
    fingerprint: 'f',
    ...settings,
  };
  const opened = await openSubmission(database, submission);
  if (!opened) throw new Error(`task ${taskId} takes no submission`);
  return opened;
}

/** Records that the upstream has a job of the task. */
export async function submitTask(database: Database, task: Pick<Task, 'id'>, jobId: string): Promise<void> {
  const submission = await openTaskSubmission(database, task);
  await settleSubmission(database, submission, { outcome: 'accepted', evidence: 'the answer', jobId });
}

/** A bill of this month with two lines that are not ours. @returns its name in paths */
export async function importSampleBill(
  database: Database,
): Promise<{ readonly month: string; readonly vendor: string }> {
  const name = new Date().toISOString().slice(0, 7);
  const month = parseMonth(name);
  if (!month) throw new Error(`${name} is no month`);
  await importBill(database, {
    month,
    vendor: 'fal',
    author: 'Ada',
    csv: 'job,model,cost\nj1,fal-ai/veo3.1,2.4\n,Storage,0.1\n',
    usdPerUnit: PICO_PER_USD,
    upstreams: ['fal'],
    columns: { job: 'job', model: 'model', amount: 'cost' },
  });
  return { month: name, vendor: 'fal' };
}

/** The current row of the task. */
export async function reloadTask(database: Database, { id }: Pick<Task, 'id'>): Promise<Task> {
  const task = await findTask(database, id);
  if (!task) throw new Error(`there is no task ${id}`);
  return task;
}

/** Makes a task succeeded, charged and announced. */
export async function finishAsSucceeded(database: Database, { id }: Pick<Task, 'id'>): Promise<FinishedTask> {
  return finishTask(database, id, { status: 'succeeded', output: [VIDEO] }, newEvent('task.succeeded'));
}

/** Makes a task failed, refunded and announced. */
export async function finishAsFailed(
  database: Database,
  { id }: Pick<Task, 'id'>,
  code: TaskErrorCode = 'processing_failed',
): Promise<FinishedTask> {
  const failure = { code, message: 'It failed. Try again.' };
  return finishTask(database, id, { status: 'failed', failure }, newEvent('task.failed'));
}

export function newEvent(type: EventOfEnding['type']): EventOfEnding {
  return { id: newId('event'), type, payload: (task) => JSON.stringify({ type, task_id: task.id }) };
}

/** A webhook endpoint that subscribes to both events. */
export async function createEndpoint(
  database: Database,
  account: Pick<Account, 'id'>,
  settings: Partial<Pick<WebhookEndpoint, 'url' | 'events' | 'description'>> = {},
): Promise<WebhookEndpoint> {
  const endpoint = await insertWebhookEndpoint(
    database,
    {
      id: newId('webhookEndpoint'),
      accountId: account.id,
      url: 'https://receiver.test/',
      description: null,
      events: ['task.succeeded', 'task.failed'],
      encryptedSecret: randomBytes(32),
      createdAt: new Date(),
      ...settings,
    },
    1_000,
  );
  if (!endpoint) throw new Error('there is no limit');
  return endpoint;
}

/** A completed text request that cost nothing. */
export async function createTextRequestRow(
  database: Database,
  key: Pick<ApiKey, 'id' | 'accountId'>,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly id: string; readonly requestId: string }> {
  const [id, requestId] = [newId('textRequest'), newId('request')];
  await database('text_requests').insert({
    id,
    created_at: new Date(createdAtMsOf('textRequest', id)),
    account_id: key.accountId,
    api_key_id: key.id,
    request_id: requestId,
    model: 'gpt-test',
    format: 'chat-completions',
    streamed: true,
    upstream: 'acme',
    upstream_format: 'chat-completions',
    upstream_model: 'acme-gpt',
    outcome: 'succeeded',
    catalogue_version: 'test',
    input_tokens: 1_234,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    cache_write_1h_tokens: 0,
    output_tokens: 56,
    estimated: false,
    held: 0,
    charge: 0,
    excess: 0,
    absorbed: 0,
    latency_ms: 900,
    first_byte_ms: 120,
    ...settings,
  });
  return { id, requestId };
}

/** Sums all transfers by day as if it were that moment: db/usage-sums.ts sums only rows that are an hour old. */
export async function sumTransfersUntil(database: Database, moment: Date): Promise<void> {
  await database.transaction(async (transaction) => {
    await transaction('daily_transfers').delete();
    await transaction.raw(`INSERT INTO daily_transfers ${sumTransfersWhere('true')}`);
    await transaction('daily_usage_summed').update({ before: moment });
  });
}

/** The terms of a batch of one gift code of 10 USD. */
export function newGiftBatch(terms: Partial<NewGiftBatch> = {}): NewGiftBatch {
  return {
    id: newId('giftBatch'),
    label: 'a test',
    kind: 'funds',
    amount: parseUsd(10),
    codes: 1,
    creditDays: null,
    oncePer: null,
    expiresAt: new Date(Date.now() + 86_400_000),
    author: 'ada',
    ...terms,
  };
}
