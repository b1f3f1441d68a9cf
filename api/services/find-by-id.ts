/** Finds the account and the timeline of any id. */
import type { Database } from '../../db/database.ts';
import { type Account, findAccount } from '../../db/queries/accounts.ts';
import { listApiKeys } from '../../db/queries/api-keys.ts';
import {
  findActionById,
  findEndpointById,
  findEventById,
  findKeyById,
  findCreatedByRequest,
  findUploadById,
} from '../../db/queries/by-id.ts';
import { findDelivery, listDeliveries } from '../../db/queries/deliveries.ts';
import { listAccountActions } from '../../db/queries/operator-actions.ts';
import { findPromoGrantById } from '../../db/queries/promo-grants.ts';
import { findTask } from '../../db/queries/tasks.ts';
import { findTransferById, listTransfersOfText } from '../../db/queries/transfers.ts';
import { type FailedTextAttempt, listFailedAttempts } from '../../db/queries/failed-text-attempts.ts';
import { listTextAttempts, type RecordedAttempt } from '../../db/queries/upstream-calls.ts';
import { findTextUsage } from '../../db/queries/usage.ts';
import { ID_PREFIX, type IdKind, isId } from '../../domain/ids.ts';
import { formatUsd } from '../../domain/money.ts';
import type { WorkflowAccess } from '../../temporal/workflow-access.ts';
import { explainTask } from './explain-task.ts';
import { oldestFirst, type Timeline, type TimelineEvent, deliveryEvents, transferEvent } from './timeline.ts';

interface Sources {
  readonly database: Database;
  readonly workflows: WorkflowAccess;
}

/** The timeline of a resource, and its account. */
interface OwnedTimeline extends Timeline {
  readonly accountId: string;
}

export interface Found extends Timeline {
  readonly kind: FindableKind;
  readonly account: Account;
}

type Finder = (sources: Sources, id: string) => Promise<OwnedTimeline | null>;

type TimelineParts = Omit<Timeline, 'id'>;

/** Finds the object with an id, and its timeline. */
function createFinder<Subject extends { readonly accountId: string }>(
  find: (database: Database, id: string) => Promise<Subject | null>,
  tell: (subject: Subject, sources: Sources, id: string) => TimelineParts | Promise<TimelineParts>,
): Finder {
  return async (sources, id) => {
    const subject = await find(sources.database, id);
    return subject && { id, accountId: subject.accountId, ...(await tell(subject, sources, id)) };
  };
}

const MAX_KEYS = 500;
const MAX_DELIVERIES = 500;
const MAX_ACTIONS = 500;

async function findAccountTimeline({ database }: Sources, id: string): Promise<OwnedTimeline | null> {
  const account = await findAccount(database, id);
  if (!account) return null;
  const [keys, actions] = await Promise.all([
    listApiKeys(database, { accountId: id, limit: MAX_KEYS }),
    listAccountActions(database, id, MAX_ACTIONS),
  ]);
  const { suspendedAt, toppedUpAt, createdAt } = account;
  const state = suspendedAt ? `suspended since ${suspendedAt.toISOString()}` : 'open';
  const available = formatUsd(account.fundedAvailable + account.signupAvailable);
  const reserved = formatUsd(account.fundedReserved + account.signupReserved);
  return {
    id,
    accountId: id,
    verdict: `${account.name} is ${state}; ${available} USD are available and ${reserved} USD held.`,
    events: oldestFirst([
      { at: createdAt, source: 'account', text: 'Created' },
      ...at(toppedUpAt, 'account', 'Topped up for the first time'),
      ...keys.map((key): TimelineEvent => ({
        at: key.createdAt,
        source: 'key',
        text: `${key.id} (${key.hint}) created, now ${key.disabledAt ? 'disabled' : 'enabled'}`,
      })),
      ...actions.map(({ createdAt, kind, amount, author, reason }): TimelineEvent => ({
        at: createdAt,
        source: 'operator',
        text: `${kind}${amount === null ? '' : ` of ${formatUsd(amount)} USD`} by ${author}: ${reason}`,
      })),
    ]),
  };
}

const findKeyTimeline = createFinder(findKeyById, (key) => {
  const { deletedAt, disabledAt, expiresAt, createdAt, usageLimit } = key;
  const state = deletedAt ? 'deleted' : disabledAt ? 'disabled' : 'enabled';
  const limit = usageLimit === null ? 'without a limit' : `of at most ${formatUsd(usageLimit)} USD`;
  return {
    verdict: `${key.hint} is ${state}; it used ${formatUsd(key.used)} USD ${limit}.`,
    events: oldestFirst([
      { at: createdAt, source: 'key', text: key.name === '' ? 'Created' : `Created as ${key.name}` },
      ...at(disabledAt, 'key', 'Disabled'),
      ...at(expiresAt, 'key', 'Expires'),
      ...at(deletedAt, 'key', 'Deleted'),
    ]),
  };
});

const findTaskTimeline = createFinder(findTask, async (task, sources) => {
  const { verdict, events, workflow } = await explainTask(sources, task);
  return { verdict, events, pending: workflow?.pending ?? [] };
});

const findTextTimeline = createFinder(findTextUsage, async (request, { database }, id) => {
  const { accountId, createdAt, requestId, apiKeyId, model } = request;
  const [transfers, attempts, failed] = await Promise.all([
    listTransfersOfText(database, { accountId, textRequestId: id, since: createdAt }),
    listTextAttempts(database, requestId),
    listFailedAttempts(database, id),
  ]);
  const started: TimelineEvent = {
    at: createdAt,
    source: 'text',
    text: `${model} asked by request ${requestId} with key ${apiKeyId}`,
  };
  const { outcome, errorCode, charged, absorbed, upstream, upstreamModel, inputTokens, outputTokens, latencyMs } =
    request;
  const loss = absorbed > 0n ? `, and ${formatUsd(absorbed)} USD were our loss` : '';
  const endedAt = new Date(createdAt.getTime() + (latencyMs ?? 0));
  const answered: TimelineEvent = {
    at: endedAt,
    source: 'upstream',
    text: `${upstream ?? 'no upstream'} as ${upstreamModel ?? model}: ${outcome}, ${inputTokens} tokens in, ${outputTokens} out`,
  };
  return {
    verdict: `${outcome}${errorCode === null ? '' : ` with ${errorCode}`}; ${formatUsd(charged)} USD were charged${loss}.`,
    events: oldestFirst([
      started,
      ...attempts.map(attemptEvent),
      ...failed.map((attempt) => costEvent(attempt, endedAt)),
      answered,
      ...transfers.map(transferEvent),
    ]),
  };
});

function attemptEvent(attempt: RecordedAttempt): TimelineEvent {
  const { number, upstream, format, model, key, decision, fault, status, message, durationMs, endedAt } = attempt;
  const answer = [status && `HTTP ${status}`, fault, message].filter(Boolean).join(', ');
  const route = `${upstream} as ${model} (${format}, key …${key})`;
  return {
    at: endedAt,
    source: 'upstream',
    text: `Attempt ${number}, ${route}: ${answer === '' ? '' : `${answer}; `}${decision} after ${durationMs} ms`,
  };
}

/** The vendor may bill a failed attempt. The customer does not pay for it. */
function costEvent(
  { upstream, upstreamModel, inputTokens, outputTokens, cost }: FailedTextAttempt,
  at: Date,
): TimelineEvent {
  const price = cost === null ? 'an unknown amount' : `${formatUsd(cost)} USD`;
  const used = `${inputTokens} tokens in, ${outputTokens} out`;
  return {
    at,
    source: 'upstream',
    text: `A failed attempt at ${upstream} as ${upstreamModel} used ${used}, and cost us ${price}`,
  };
}

/** Returns the timeline of the task or text request that the request created. */
async function findRequestTimeline(sources: Sources, requestId: string): Promise<OwnedTimeline | null> {
  const id = await findCreatedByRequest(sources.database, requestId);
  if (id === null) return null;
  return isId('task', id) ? findTaskTimeline(sources, id) : findTextTimeline(sources, id);
}

async function findTransferTimeline(sources: Sources, id: string): Promise<OwnedTimeline | null> {
  const transfer = await findTransferById(sources.database, id);
  if (!transfer) return null;
  const { accountId, taskId, textRequestId, kind, amount } = transfer;
  const cause = await (taskId !== null
    ? findTaskTimeline(sources, taskId)
    : textRequestId !== null && findTextTimeline(sources, textRequestId));
  const what = `${kind} of ${formatUsd(amount)} USD`;
  if (cause) return { ...cause, id, verdict: `${what} for ${cause.id}, which ${cause.verdict}` };
  const why = transfer.reference ?? transfer.reason ?? 'no reference';
  return { id, accountId, verdict: `${what}: ${why}`, events: [transferEvent(transfer)] };
}

const findEndpointTimeline = createFinder(findEndpointById, (endpoint) => {
  const { url, deletedAt, disabledAt, disabledReason, failingSince, createdAt } = endpoint;
  const state = deletedAt ? 'deleted' : disabledAt ? 'disabled' : failingSince ? 'failing' : 'enabled';
  return {
    verdict: `${url} is ${state}.`,
    events: oldestFirst([
      { at: createdAt, source: 'webhook', text: `Created for ${url}` },
      ...at(failingSince, 'webhook', 'The first failed attempt since the last success'),
      ...at(disabledAt, 'webhook', `Disabled: ${disabledReason}`),
      ...at(deletedAt, 'webhook', 'Deleted'),
    ]),
  };
});

const findEventTimeline = createFinder(
  findEventById,
  async ({ accountId, type, taskId, createdAt }, { database }, id) => {
    const deliveries = await listDeliveries(database, { accountId, eventId: id, limit: MAX_DELIVERIES });
    const about = taskId === null ? '' : ` of ${taskId}`;
    return {
      verdict: `${type}${about}, for ${deliveries.length} endpoints.`,
      events: oldestFirst([
        { at: createdAt, source: 'webhook', text: `${type}${about} happened` },
        ...deliveries.flatMap(deliveryEvents),
      ]),
    };
  },
);

const findDeliveryTimeline = createFinder(
  (database, deliveryId) => findDelivery(database, { deliveryId }),
  (delivery) => {
    const { eventType, endpointId, status, attempts } = delivery;
    return {
      verdict: `${eventType} to ${endpointId} is ${status} after ${attempts.length} attempts.`,
      events: oldestFirst(deliveryEvents(delivery)),
    };
  },
);

const findFileTimeline = createFinder(findUploadById, (file) => {
  const { filename, mimeType, bytes, createdAt, storedAt, usedAt, deletedAt } = file;
  return {
    verdict: `${filename ?? 'a file without a name'}, ${mimeType}, ${bytes} bytes.`,
    events: oldestFirst([
      { at: createdAt, source: 'file', text: 'The upload began' },
      ...at(storedAt, 'file', 'Stored'),
      ...at(usedAt, 'file', 'Used by a task for the first time'),
      ...at(deletedAt, 'file', 'Deleted'),
    ]),
  };
});

async function findActionTimeline(sources: Sources, id: string): Promise<OwnedTimeline | null> {
  const action = await findActionById(sources.database, id);
  if (!action) return null;
  const { accountId, taskId, kind, author, reason } = action;
  const subject = await (taskId !== null
    ? findTaskTimeline(sources, taskId)
    : accountId !== null && findAccountTimeline(sources, accountId));
  return subject ? { ...subject, id, verdict: `${kind} of ${subject.id} by ${author}: ${reason}` } : null;
}

const findPromoTimeline = createFinder(findPromoGrantById, (grant) => {
  const { amount, available, reserved, spent, expired, createdAt, expiresAt, author, reason } = grant;
  const parts = `${formatUsd(available)} available, ${formatUsd(reserved)} held, ${formatUsd(spent)} spent, ${formatUsd(expired)} expired`;
  return {
    verdict: `promo credit of ${formatUsd(amount)} USD (${grant.reference}): ${parts}.`,
    events: oldestFirst([
      { at: createdAt, source: 'operator', text: `${formatUsd(amount)} USD given by ${author}: ${reason}` },
      { at: expiresAt, source: 'ledger', text: 'What is left expires' },
    ]),
  };
});

const FINDERS = {
  account: findAccountTimeline,
  apiKey: findKeyTimeline,
  task: findTaskTimeline,
  textRequest: findTextTimeline,
  request: findRequestTimeline,
  transfer: findTransferTimeline,
  webhookEndpoint: findEndpointTimeline,
  event: findEventTimeline,
  delivery: findDeliveryTimeline,
  file: findFileTimeline,
  operatorAction: findActionTimeline,
  promoGrant: findPromoTimeline,
} as const satisfies Partial<Record<IdKind, Finder>>;

export type FindableKind = keyof typeof FINDERS;

export const FINDABLE_KINDS = Object.keys(FINDERS).filter((kind): kind is FindableKind => kind in FINDERS);
/** The prefixes of ids that can be found, including the ids of answers. */
export const FINDABLE_PREFIXES = [...FINDABLE_KINDS.map((kind) => ID_PREFIX[kind]), 'chatcmpl-', 'resp_', 'msg_'];

/** The id of an answer that Genway writes itself has the characters of its request's id. */
const ANSWER_ID = /^(?:chatcmpl-|resp_|msg_)([0-9a-z]{32})$/;

/** @returns null for an unknown id, and for a request that created nothing */
export async function findById(sources: Sources, given: string): Promise<Found | null> {
  const answer = ANSWER_ID.exec(given)?.[1];
  const id = answer === undefined ? given : `${ID_PREFIX.request}${answer}`;
  const kind = FINDABLE_KINDS.find((candidate) => isId(candidate, id));
  const timeline = kind && (await FINDERS[kind](sources, id));
  const account = timeline && (await findAccount(sources.database, timeline.accountId));
  return account ? { ...timeline, kind, account } : null;
}

/** The event at a time; none if the time is null. */
function at(moment: Date | null, source: TimelineEvent['source'], text: string): TimelineEvent[] {
  return moment === null ? [] : [{ at: moment, source, text }];
}
