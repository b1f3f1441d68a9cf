/** Finds the account, if there is one, and the timeline of any id. */
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
import { findGiftBatch, findGiftCode, type GiftBatch } from '../../db/queries/gift-codes.ts';
import { listAccountActions } from '../../db/queries/operator-actions.ts';
import { findRefusedCall } from '../../db/queries/refused-calls.ts';
import { findPromoGrantById } from '../../db/queries/promo-grants.ts';
import { findTask } from '../../db/queries/tasks.ts';
import { findTransferById, listTransfersOfText } from '../../db/queries/transfers.ts';
import { type FailedTextAttempt, listFailedAttempts } from '../../db/queries/failed-text-attempts.ts';
import { listTextAttempts, type RecordedAttempt } from '../../db/queries/upstream-calls.ts';
import { findTextUsage } from '../../db/queries/usage.ts';
import { giftStatusOf } from '../../domain/gift-code.ts';
import { ID_PREFIX, type IdKind, isId } from '../../domain/ids.ts';
import { formatDollars } from '../../domain/money.ts';
import { explainBatch, findBatchWithMoney } from '../batches/explain-batch.ts';
import { explainTask } from '../tasks/explain-task.ts';
import { TIMELINE_TEXTS, type TimelineTexts, timelineLabel } from '../tasks/timeline-texts.ts';
import { oldestFirst, type Timeline, type TimelineEvent, deliveryEvents, transferEvent } from '../tasks/timeline.ts';
import type { Services } from '../services.ts';

interface Sources extends Pick<Services, 'database' | 'tasks'> {
  readonly texts: TimelineTexts;
}

/** The timeline of a resource, and its account; null if no account has it. */
interface OwnedTimeline extends Timeline {
  readonly accountId: string | null;
}

export interface Found extends Timeline {
  readonly kind: FindableKind;
  /** Null for gift codes that nobody redeemed, and for their batches. */
  readonly account: Account | null;
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

async function findAccountTimeline({ database, texts }: Sources, id: string): Promise<OwnedTimeline | null> {
  const account = await findAccount(database, id);
  if (!account) return null;
  const [keys, actions] = await Promise.all([
    listApiKeys(database, { accountId: id, limit: MAX_KEYS }),
    listAccountActions(database, id, MAX_ACTIONS),
  ]);
  const { suspendedAt, closedAt, mergedInto, toppedUpAt, createdAt } = account;
  const { account: phrases } = texts;
  const label = (value: string): string => timelineLabel(value, texts);
  const available = formatDollars(account.fundedAvailable + account.signupAvailable);
  const reserved = formatDollars(account.fundedReserved + account.signupReserved);
  return {
    id,
    accountId: id,
    verdict: closedAt
      ? phrases.closed(account.name, closedAt.toISOString(), available, reserved)
      : suspendedAt === null
        ? phrases.open(account.name, available, reserved)
        : mergedInto === null
          ? phrases.suspended(account.name, suspendedAt.toISOString(), available, reserved)
          : phrases.merged(account.name, mergedInto, suspendedAt.toISOString(), available, reserved),
    events: oldestFirst([
      { at: createdAt, source: 'account', text: phrases.created },
      ...at(toppedUpAt, 'account', phrases.toppedUp),
      ...keys.map((key): TimelineEvent => ({
        at: key.createdAt,
        source: 'key',
        text: phrases.key(key.id, key.hint, label(key.disabledAt ? 'disabled' : 'enabled')),
      })),
      ...actions.map(({ createdAt, kind, amount, author, reason }): TimelineEvent => ({
        at: createdAt,
        source: 'operator',
        text: texts.operator(label(kind), amount === null ? null : formatDollars(amount), author, reason),
      })),
    ]),
  };
}

const findKeyTimeline = createFinder(findKeyById, (key, { texts }) => {
  const { deletedAt, disabledAt, expiresAt, createdAt, usageLimit } = key;
  const state = deletedAt ? 'deleted' : disabledAt ? 'disabled' : 'enabled';
  const { key: phrases } = texts;
  const limit = usageLimit === null ? null : formatDollars(usageLimit);
  return {
    verdict: phrases.verdict(key.hint, timelineLabel(state, texts), formatDollars(key.used), limit),
    events: oldestFirst([
      { at: createdAt, source: 'key', text: phrases.created(key.name) },
      ...at(disabledAt, 'key', phrases.disabled),
      ...at(expiresAt, 'key', phrases.expires),
      ...at(deletedAt, 'key', phrases.deleted),
    ]),
  };
});

const findTaskTimeline = createFinder(findTask, async (task, sources) => {
  const { verdict, events, pending } = await explainTask(sources, task, sources.texts);
  return { verdict, events, pending };
});

async function findBatchTimeline(sources: Sources, id: string): Promise<OwnedTimeline | null> {
  const batch = await findBatchWithMoney(sources.database, id);
  if (batch === null) return null;
  const { batch: _, actions: __, ...timeline } = await explainBatch(sources, batch, sources.texts);
  return { ...timeline, accountId: batch.accountId };
}

const findTextTimeline = createFinder(findTextUsage, async (request, { database, texts }, id) => {
  const { text: phrases } = texts;
  const label = (value: string): string => timelineLabel(value, texts);
  const { accountId, createdAt, requestId, apiKeyId, model } = request;
  const [transfers, attempts, failed] = await Promise.all([
    listTransfersOfText(database, { accountId, textRequestId: id, since: createdAt }),
    listTextAttempts(database, requestId),
    listFailedAttempts(database, id),
  ]);
  const started: TimelineEvent = {
    at: createdAt,
    source: 'text',
    text: phrases.asked(model, requestId, apiKeyId),
  };
  const { outcome, errorCode, charged, absorbed, upstream, upstreamModel, inputTokens, outputTokens, latencyMs } =
    request;
  const loss = absorbed > 0n ? formatDollars(absorbed) : null;
  // The clocks of the request and of its attempts differ by a round trip to the database.
  const ends = [createdAt.getTime() + (latencyMs ?? 0), ...attempts.map((attempt) => attempt.endedAt.getTime())];
  const endedAt = new Date(Math.max(...ends));
  const answered: TimelineEvent = {
    at: endedAt,
    source: 'upstream',
    text: phrases.answered(upstream, upstreamModel ?? model, label(outcome), phrases.tokens(inputTokens, outputTokens)),
  };
  return {
    verdict: phrases.verdict(
      label(outcome),
      errorCode === null ? null : label(errorCode),
      formatDollars(charged),
      loss,
    ),
    events: oldestFirst([
      started,
      ...attempts.map((attempt) => attemptEvent(attempt, texts)),
      ...failed.map((attempt) => costEvent(attempt, endedAt, texts)),
      answered,
      ...transfers.map((transfer) => transferEvent(transfer, texts)),
    ]),
  };
});

function attemptEvent(attempt: RecordedAttempt, texts: TimelineTexts): TimelineEvent {
  const { number, upstream, format, model, key, decision, fault, status, message, durationMs, endedAt } = attempt;
  const { text: phrases } = texts;
  const label = (value: string): string => timelineLabel(value, texts);
  const answer = [status && `HTTP ${status}`, fault && label(fault), message].filter(Boolean).join(', ');
  const route = phrases.route(upstream, model, format, key);
  return {
    at: endedAt,
    source: 'upstream',
    text: phrases.attempt(number, route, answer, label(decision), durationMs),
  };
}

/** The vendor may bill a failed attempt. The customer does not pay for it. */
function costEvent(
  { upstream, upstreamModel, inputTokens, outputTokens, cost }: FailedTextAttempt,
  at: Date,
  { text: phrases }: TimelineTexts,
): TimelineEvent {
  const tokens = phrases.tokens(inputTokens, outputTokens);
  return {
    at,
    source: 'upstream',
    text: phrases.failedAttempt(upstream, upstreamModel, tokens, cost === null ? null : formatDollars(cost)),
  };
}

const findRefusalTimeline = createFinder(findRefusedCall, (call, { texts: { refusal: phrases } }) => {
  const { status, code, method, path, apiKeyId, reason, refusedAt } = call;
  return {
    verdict: phrases.verdict(status, code),
    events: [{ at: refusedAt, source: 'key', text: phrases.refused(`${method} ${path}`.trim(), apiKeyId, reason) }],
  };
});

/** Returns the timeline of the task, batch or text request that the request created, or why the request was refused. */
async function findRequestTimeline(sources: Sources, requestId: string): Promise<OwnedTimeline | null> {
  const id = await findCreatedByRequest(sources.database, requestId);
  if (id === null) return findRefusalTimeline(sources, requestId);
  if (isId('batch', id)) return findBatchTimeline(sources, id);
  return isId('task', id) ? findTaskTimeline(sources, id) : findTextTimeline(sources, id);
}

async function findTransferTimeline(sources: Sources, id: string): Promise<OwnedTimeline | null> {
  const transfer = await findTransferById(sources.database, id);
  if (!transfer) return null;
  const { accountId, taskId, textRequestId, kind, amount } = transfer;
  const cause = await (taskId !== null
    ? findTaskTimeline(sources, taskId)
    : textRequestId !== null && findTextTimeline(sources, textRequestId));
  const { texts } = sources;
  const { transfer: phrases } = texts;
  const [word, usd] = [timelineLabel(kind, texts), formatDollars(amount)];
  if (cause) return { ...cause, id, verdict: phrases.forCause(word, usd, cause.id, cause.verdict) };
  const why = transfer.reference ?? transfer.reason ?? phrases.noReference;
  return { id, accountId, verdict: phrases.alone(word, usd, why), events: [transferEvent(transfer, texts)] };
}

const findEndpointTimeline = createFinder(findEndpointById, (endpoint, { texts }) => {
  const { endpoint: phrases } = texts;
  const { url, deletedAt, disabledAt, disabledReason, failingSince, createdAt } = endpoint;
  const state = deletedAt ? 'deleted' : disabledAt ? 'disabled' : failingSince ? 'failing' : 'enabled';
  return {
    verdict: phrases.verdict(url, timelineLabel(state, texts)),
    events: oldestFirst([
      { at: createdAt, source: 'webhook', text: phrases.created(url) },
      ...at(failingSince, 'webhook', phrases.failing),
      ...at(disabledAt, 'webhook', phrases.disabled(timelineLabel(String(disabledReason), texts))),
      ...at(deletedAt, 'webhook', phrases.deleted),
    ]),
  };
});

const findEventTimeline = createFinder(
  findEventById,
  async ({ accountId, type, taskId, createdAt }, { database, texts }, id) => {
    const deliveries = await listDeliveries(database, { accountId, eventId: id, limit: MAX_DELIVERIES });
    return {
      verdict: texts.event.verdict(type, taskId, deliveries.length),
      events: oldestFirst([
        { at: createdAt, source: 'webhook', text: texts.event.happened(type, taskId) },
        ...deliveries.flatMap((delivery) => deliveryEvents(delivery, texts)),
      ]),
    };
  },
);

const findDeliveryTimeline = createFinder(
  (database, deliveryId) => findDelivery(database, { deliveryId }),
  (delivery, { texts }) => {
    const { eventType, endpointId, status, attempts } = delivery;
    return {
      verdict: texts.delivery.verdict(eventType, endpointId, timelineLabel(status, texts), attempts.length),
      events: oldestFirst(deliveryEvents(delivery, texts)),
    };
  },
);

const findFileTimeline = createFinder(findUploadById, (file, { texts: { file: phrases } }) => {
  const { filename, mimeType, bytes, createdAt, storedAt, usedAt, deletedAt } = file;
  return {
    verdict: phrases.verdict(filename, mimeType, bytes),
    events: oldestFirst([
      { at: createdAt, source: 'file', text: phrases.uploading },
      ...at(storedAt, 'file', phrases.stored),
      ...at(usedAt, 'file', phrases.used),
      ...at(deletedAt, 'file', phrases.deleted),
    ]),
  };
});

async function findActionTimeline(sources: Sources, id: string): Promise<OwnedTimeline | null> {
  const action = await findActionById(sources.database, id);
  if (!action) return null;
  const { texts } = sources;
  const { accountId, taskId, batchId, kind, author, reason } = action;
  const subject = await (taskId !== null
    ? findTaskTimeline(sources, taskId)
    : batchId !== null
      ? findBatchTimeline(sources, batchId)
      : accountId !== null && findAccountTimeline(sources, accountId));
  return subject
    ? { ...subject, id, verdict: texts.action(timelineLabel(kind, texts), subject.id, author, reason) }
    : null;
}

const findPromoTimeline = createFinder(findPromoGrantById, (grant, { texts: { promo: phrases } }) => {
  const { amount, available, reserved, spent, expired, createdAt, expiresAt, author, reason } = grant;
  const usd = formatDollars;
  return {
    verdict: `${phrases.verdict(usd(amount), grant.reference)}${phrases.parts(usd(available), usd(reserved), usd(spent), usd(expired))}`,
    events: oldestFirst([
      { at: createdAt, source: 'operator', text: phrases.given(usd(amount), author, reason) },
      { at: expiresAt, source: 'ledger', text: phrases.expires },
    ]),
  };
});

async function findGiftBatchTimeline({ database, texts }: Sources, id: string): Promise<OwnedTimeline | null> {
  const batch = await findGiftBatch(database, id);
  return batch && { id, accountId: null, ...tellGiftBatch(batch, texts) };
}

function tellGiftBatch(batch: GiftBatch, texts: TimelineTexts): TimelineParts {
  const { gift: phrases } = texts;
  const { label, codes, redeemedCodes, amount, author, createdAt, expiresAt } = batch;
  const { approvedAt, approvedBy, withdrawnAt, withdrawnBy, withdrawalReason } = batch;
  const status = timelineLabel(giftStatusOf(batch, new Date()), texts);
  return {
    verdict: phrases.batch(label, codes, formatDollars(amount), redeemedCodes, status),
    events: oldestFirst([
      { at: createdAt, source: 'operator', text: phrases.issued(author) },
      ...at(approvedAt, 'operator', phrases.approved(approvedBy ?? '')),
      ...at(withdrawnAt, 'operator', phrases.withdrawn(withdrawnBy ?? '', withdrawalReason ?? '')),
      { at: expiresAt, source: 'ledger', text: phrases.expires },
    ]),
  };
}

/** Returns the timeline of the code's batch, and the redemption. The code itself is not stored. */
async function findGiftCodeTimeline({ database, texts }: Sources, id: string): Promise<OwnedTimeline | null> {
  const code = await findGiftCode(database, id);
  const batch = code && (await findGiftBatch(database, code.batchId));
  if (!code || !batch) return null;
  const { accountId, redeemedAt, creditId } = code;
  const { verdict, events } = tellGiftBatch(batch, texts);
  const { gift: phrases } = texts;
  return {
    id,
    accountId,
    verdict: phrases.code(accountId, batch.id, verdict),
    events: oldestFirst([...events, ...at(redeemedAt, 'ledger', phrases.redeemed(creditId ?? ''))]),
  };
}

const FINDERS = {
  account: findAccountTimeline,
  apiKey: findKeyTimeline,
  task: findTaskTimeline,
  batch: findBatchTimeline,
  textRequest: findTextTimeline,
  request: findRequestTimeline,
  transfer: findTransferTimeline,
  webhookEndpoint: findEndpointTimeline,
  event: findEventTimeline,
  delivery: findDeliveryTimeline,
  file: findFileTimeline,
  operatorAction: findActionTimeline,
  promoGrant: findPromoTimeline,
  giftBatch: findGiftBatchTimeline,
  giftCode: findGiftCodeTimeline,
} as const satisfies Partial<Record<IdKind, Finder>>;

export type FindableKind = keyof typeof FINDERS;

export const FINDABLE_KINDS = Object.keys(FINDERS).filter((kind): kind is FindableKind => kind in FINDERS);
/** The prefixes of ids that can be found, including the ids of answers. */
export const FINDABLE_PREFIXES = [...FINDABLE_KINDS.map((kind) => ID_PREFIX[kind]), 'chatcmpl-', 'resp_', 'msg_'];

/** The id of an answer that Genway writes itself has the characters of its request's id. */
const ANSWER_ID = /^(?:chatcmpl-|resp_|msg_)([0-9a-z]{32})$/;

/** @returns null for an unknown id, and for a request that created nothing */
export async function findById(
  services: Omit<Sources, 'texts'>,
  given: string,
  texts = TIMELINE_TEXTS,
): Promise<Found | null> {
  const sources = { database: services.database, tasks: services.tasks, texts };
  const answer = ANSWER_ID.exec(given)?.[1];
  const id = answer === undefined ? given : `${ID_PREFIX.request}${answer}`;
  const kind = FINDABLE_KINDS.find((candidate) => isId(candidate, id));
  const timeline = kind && (await FINDERS[kind](sources, id));
  if (!timeline) return null;
  const account = timeline.accountId === null ? null : await findAccount(sources.database, timeline.accountId);
  return { ...timeline, kind, account };
}

/** The event at a time; none if the time is null. */
function at(moment: Date | null, source: TimelineEvent['source'], text: string): TimelineEvent[] {
  return moment === null ? [] : [{ at: moment, source, text }];
}
