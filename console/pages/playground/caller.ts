import { setTimeout as sleep } from 'node:timers/promises';
import { assertAllowedAddress } from '../../../services/people/allowed-address.ts';
import { createApiKey } from '../../../services/people/create-key.ts';
import type { Database } from '../../../db/database.ts';
import { type ApiKey, type Caller, findCallersOfKeys, listApiKeys } from '../../../db/queries/api-keys.ts';
import { listTasksOfKey } from '../../../db/queries/tasks.ts';
import { findTextUsageOfRequest, type TextUsage } from '../../../db/queries/usage.ts';
import { isId } from '../../../domain/ids.ts';
import type { Task } from '../../../domain/task.ts';
import type { ApiServices } from '../../../api/services.ts';
import { assertUsable } from '../../../domain/api-key.ts';
import { errorHeaders, presentError } from '../../../domain/error-envelope.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { problemMessage } from '../../form-problem.ts';
import type { MemberVisit } from '../../page.ts';

/** The key of the console's calls, since usage and limits belong to keys. Its secret is never shown. */
const KEY_NAME = 'Console';

/**
 * Returns the caller of the console's calls: the account's key named {@link KEY_NAME}, which the first call creates.
 * Counts the call against the key's rate limit.
 *
 * @throws ServiceError 401 `invalid_api_key` for a disabled key, 403 `forbidden` for an address that the key does not
 *   allow, 429 `rate_limit_exceeded`
 */
export async function consoleCaller(visit: MemberVisit, services: ApiServices): Promise<Caller> {
  const caller = await findCaller(visit, services);
  assertUsable(caller.key, caller.account, new Date(services.clock.nowMs()));
  assertAllowedAddress(caller.key, visit, 'forbidden');
  return services.http.requestLimit.enforce(visit.context, caller);
}

/**
 * Answers a call of a page's script with the refusal in the form of the API, and its message in the reader's language.
 *
 * @throws every other error
 */
export function sendRefusal({ context, requestId, texts }: MemberVisit, error: unknown): void {
  if (!(error instanceof ServiceError) || error.code === 'internal_error') throw error;
  context.status = error.status;
  context.set(errorHeaders(error));
  const { message, english } = problemMessage(error, texts);
  context.body = presentError(new ServiceError(error.code, message + (english ?? '')), requestId);
}

const RECORD_ATTEMPTS = 5;
const RECORD_PAUSE_MS = 50;

/**
 * Finds the usage of a request. Retries, because an answer ends a moment before its charge is recorded.
 *
 * @param requestId any text
 */
export async function findRecordedUsage(
  database: Database,
  accountId: string,
  requestId: string,
): Promise<TextUsage | null> {
  if (!isId('request', requestId)) return null;
  for (let attempt = 1; ; attempt += 1) {
    const usage = await findTextUsageOfRequest(database, accountId, requestId);
    if (usage || attempt === RECORD_ATTEMPTS) return usage;
    await sleep(RECORD_PAUSE_MS);
  }
}

const LATEST = { among: 500, limit: 4 };

/** The latest pictures and videos that members made in the console, among the account's {@link LATEST} tasks. */
export async function listLatestTasks({ account }: MemberVisit, { database }: ApiServices): Promise<readonly Task[]> {
  const { accountId } = account;
  const key = await findKey(database, accountId);
  return key ? listTasksOfKey(database, { accountId, apiKeyId: key.id, ...LATEST }) : [];
}

async function findKey(database: Database, accountId: string): Promise<ApiKey | undefined> {
  const [key] = await listApiKeys(database, { accountId, name: KEY_NAME, limit: 1 });
  return key;
}

async function findCaller(visit: MemberVisit, { database, people }: ApiServices): Promise<Caller> {
  const { accountId } = visit.account;
  const { id } =
    (await findKey(database, accountId)) ??
    (await createApiKey(database, people.keyPeppers, accountId, { name: KEY_NAME })).key;
  const [caller] = await findCallersOfKeys(database, [id]);
  if (caller === undefined) throw new Error(`the key ${id} cannot have disappeared`);
  return caller;
}
