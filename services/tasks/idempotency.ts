/** The `Idempotency-Key` of create calls: contract 4.1. */
import { createHash } from 'node:crypto';
import { retryOnLostConnection } from '../../db/connections.ts';
import type { Database } from '../../db/database.ts';
import {
  claimIdempotencyKey,
  completeIdempotencyKey,
  releaseIdempotencyKey,
  releaseKeysOfTasks,
} from '../../db/queries/idempotency.ts';
import { findAccountTask } from '../../db/queries/tasks.ts';
import type { Encryption } from '../../db/encryption.ts';
import { badRequest, ServiceError, UNREPEATABLE } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { notFoundError } from '../../domain/not-found.ts';
import { IDEMPOTENCY } from '../../domain/policy.ts';
import { TASK } from '../../domain/task-object.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import { storedMinutesOf } from '../text/stored-responses.ts';

/** A claim on a key, which the create call must complete in the transaction that creates the resource. */
export interface IdempotencyClaim {
  readonly key: string;
  readonly claimToken: string;
  /** Encrypts the response to be stored with the claim. */
  encrypt(body: string): Buffer;
}

export interface CreatedResponse {
  readonly status: number;
  /** The exact JSON text, which a replay repeats. */
  readonly body: string;
}

/** Longer than any create call takes; the key of a crashed call becomes free after this. */
const LEASE_SECONDS = 60;
/** The same for a call that waits for a whole answer in text. */
const TEXT_LEASE_SECONDS = 600;

/** The parts of a create call that identify the call, and where a replay is announced. */
export interface CreateCall {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Sets a header of the answer. */
  set(name: string, value: string): void;
}

interface CreateOnce {
  readonly caller: Caller;
  readonly context: CreateCall;
  /** As sent. */
  readonly body: unknown;
  /** Used instead of the header. */
  readonly key?: string | undefined;
  /** The place of the task in a request that creates several equal ones. */
  readonly index?: number;
  readonly leaseSeconds?: number;
}

/**
 * Runs a create call under its idempotency key, if it has one. A repeated request gets the first response. A request
 * with a different body, or while the first one is in progress, is refused. A create call that fails releases the key.
 *
 * @param create must store the response with the claim in its own transaction, or fail
 */
export async function createOnce(
  { caller, context, body, key: given, index = 0, leaseSeconds = LEASE_SECONDS }: CreateOnce,
  { database, encryption }: { database: Database; encryption: Encryption },
  create: (claim: IdempotencyClaim | null) => Promise<CreatedResponse>,
): Promise<CreatedResponse> {
  const sent = given ?? idempotencyKeyOf(context);
  if (sent === null) return create(null);
  const key = keyOfTask(sent, index);

  const accountId = caller.account.id;
  const requestDigest = digestRequest(context.method, context.path, body);
  const claim = await claimIdempotencyKey(database, { accountId, key, requestDigest, leaseSeconds });
  switch (claim.outcome) {
    case 'different_request':
      throw new ServiceError(
        'idempotency_conflict',
        'This Idempotency-Key was used with a different request. Use a new key.',
      );
    case 'in_progress':
      throw new ServiceError(
        'idempotency_conflict',
        'The first request with this Idempotency-Key is still running. Wait until it is complete.',
      );
    case 'replay':
      context.set('Idempotent-Replayed', 'true');
      return { status: claim.status, body: encryption.decrypt(claim.encryptedBody) };
    case 'erased': {
      const task = await findAccountTask(database, accountId, claim.taskId);
      if (!task) throw notFoundError('task');
      context.set('Idempotent-Replayed', 'true');
      // The row has the name until the sweep.
      return { status: claim.status, body: JSON.stringify({ data: TASK.present({ ...task, endUser: null }) }) };
    }
    default:
      return createUnder({ accountId, key, claimToken: claim.claimToken }, { database, encryption }, create);
  }
}

/** Creates the resource. After a failure, releases the key, or returns the response if it was committed. */
async function createUnder(
  claim: { readonly accountId: string; readonly key: string; readonly claimToken: string },
  { database, encryption }: { database: Database; encryption: Encryption },
  create: (claim: IdempotencyClaim) => Promise<CreatedResponse>,
): Promise<CreatedResponse> {
  try {
    return await create({ ...claim, encrypt: (body) => encryption.encrypt(body) });
  } catch (error) {
    // If this fails too, the lease frees the key; the client gets the first error.
    const stored = await retryOnLostConnection(() => releaseIdempotencyKey(database, claim)).catch(() => null);
    if (stored === null) throw error;
    return { status: stored.status, body: encryption.decrypt(stored.encryptedBody) };
  }
}

/**
 * Generates text under the idempotency key of the call, if it has one: a repeated call gets the first answer, as long as
 * the account's responses are stored.
 */
export async function generateOnce(
  call: Omit<CreateOnce, 'index' | 'leaseSeconds'>,
  services: { database: Database; encryption: Encryption },
  generate: () => Promise<JsonObject>,
): Promise<unknown> {
  const { account } = call.caller;
  const minutes = storedMinutesOf(account);
  if (minutes === 0) return generate();
  const { body } = await createOnce({ ...call, leaseSeconds: TEXT_LEASE_SECONDS }, services, async (claim) => {
    const answer = JSON.stringify(await generate());
    if (claim !== null) {
      const { key, claimToken } = claim;
      const completion = { accountId: account.id, key, claimToken, status: 200, encryptedBody: claim.encrypt(answer) };
      // The answer is charged, so the client gets it even if it cannot be stored.
      await completeIdempotencyKey(services.database, completion, minutes).catch(() => false);
    }
    return { status: 200, body: answer };
  });
  return JSON.parse(body);
}

/** The error for a claim whose lease expired, so that another request took it over. */
export function claimLostError(): ServiceError {
  return new ServiceError('idempotency_conflict', 'Another request with this Idempotency-Key has taken over.');
}

/**
 * Releases the idempotency key, if there is one, of a call that answers with the failure of its tasks. If this fails, a
 * repetition gets the failure again, and releases the key.
 *
 * @param count the number of tasks that the request creates
 */
export async function releaseFailedTasks(
  { caller, context, count }: Pick<CreateOnce, 'caller' | 'context'> & { readonly count: number },
  taskIds: readonly string[],
  database: Database,
): Promise<void> {
  const sent = idempotencyKeyOf(context);
  if (sent === null) return;
  const keys = Array.from({ length: count }, (_, index) => keyOfTask(sent, index));
  const released = { accountId: caller.account.id, keys, taskIds };
  await retryOnLostConnection(() => releaseKeysOfTasks(database, released)).catch(() => {});
}

const UNCONFIRMED_RETRY_SECONDS = 10;

/**
 * The error for a create call whose commit and its repetition are both lost.
 *
 * @param created what may exist, such as `task task_…`
 * @param isRepeatable whether a repetition returns what exists, as under an `Idempotency-Key`
 */
export function unconfirmedError(created: string, isRepeatable: boolean, cause: Error): ServiceError {
  const unconfirmed = `The database did not confirm ${created}, but it may have been created.`;
  return isRepeatable
    ? new ServiceError('processing_unavailable', `${unconfirmed} Send the request again with its Idempotency-Key.`, {
        retryAfterSeconds: UNCONFIRMED_RETRY_SECONDS,
        cause,
      })
    : new ServiceError(
        'processing_unavailable',
        `${unconfirmed} Look it up before sending the request again, or send an Idempotency-Key with each request.`,
        { ...UNREPEATABLE, cause },
      );
}

function idempotencyKeyOf(context: CreateCall): string | null {
  const header = context.headers['idempotency-key'];
  if (header === undefined) return null;
  const key = typeof header === 'string' ? header : header.join(',');
  if (key.length === 0 || key.length > IDEMPOTENCY.maxKeyLength) {
    throw badRequest(`"Idempotency-Key" must have 1 to ${IDEMPOTENCY.maxKeyLength} characters`);
  }
  return key;
}

/** The key of a task of the request. A hash for further tasks, because the client's key may already have the maximum length. */
function keyOfTask(sent: string, index: number): string {
  return index === 0 ? sent : `${createHash('sha256').update(sent).digest('hex')}/${index}`;
}

/** Two bodies are equal if they are the same JSON value, however they are written. */
function digestRequest(method: string, path: string, body: unknown): Buffer {
  return createHash('sha256')
    .update(`${method} ${path}\n${canonicalJson(body)}`)
    .digest();
}

function canonicalJson(value: unknown): string {
  const text = JSON.stringify(value, (_name, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
  return text ?? '';
}
