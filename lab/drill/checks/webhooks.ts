/** Checks that every due event arrived, and no other. */
import type { Role } from '../../stack/member.ts';
import { readEvent, type ReceivedEvent } from '../inbox.ts';
import { type Check, type CheckResult, type Evidence, isForgotten, sqlCheck } from './check.ts';

interface EndedTask {
  readonly id: string;
  readonly account_id: string;
  readonly status: string;
  readonly error_code: string | null;
}

/** A task at an endpoint, as one word. */
function about(path: string, taskId: string, type: string): string {
  return `${type} of ${taskId} at ${path}`;
}

/** The events that are due to each endpoint. */
async function dueEvents({ customers, database }: Evidence): Promise<Set<string>> {
  const tasks = await database<EndedTask>('tasks').select('id', 'account_id', 'status', 'error_code');
  const customersById = new Map(customers.map((customer) => [customer.accountId, customer]));
  return new Set(
    tasks
      .filter(({ error_code }) => error_code !== 'processing_timeout')
      .flatMap(({ id, account_id, status }) => {
        const type = `task.${status}`;
        const endpoints = customersById.get(account_id)?.endpoints ?? [];
        return endpoints.filter(({ events }) => events.includes(type)).map(({ path }) => about(path, id, type));
      }),
  );
}

function subjectOf({ path, body }: ReceivedEvent): string {
  const { type, data } = readEvent(body);
  return about(path, data.id, type);
}

async function checkDue(evidence: Evidence): Promise<CheckResult> {
  const received = [...evidence.receiver.events.values()];
  const accepted = new Set(received.filter(({ accepted }) => accepted > 0).map(subjectOf));
  const missing = [...(await dueEvents(evidence))].filter((subject) => !accepted.has(subject));
  return {
    promise: 'every event that was due was delivered',
    failures: missing.map((subject) => `${subject} is missing`),
  };
}

async function checkNotDue(evidence: Evidence): Promise<CheckResult> {
  const due = await dueEvents(evidence);
  // A restored database has lost the events that it sent later, and may send them under another id.
  const known = [...evidence.receiver.events.values()].filter(({ seenAtMs }) => !isForgotten(evidence, seenAtMs));
  const subjects = known.map(subjectOf);
  return {
    promise: 'no event came that was not due, none of a timeout, and each under one id',
    failures: [
      ...subjects.filter((subject) => !due.has(subject)).map((subject) => `${subject} was not due`),
      ...subjects
        .filter((subject, index) => subjects.indexOf(subject) !== index)
        .map((subject) => `${subject} came under two ids`),
    ],
  };
}

async function checkSignatures({ receiver }: Evidence): Promise<CheckResult> {
  return { promise: 'every delivery was signed, and repeats were the same to the byte', failures: receiver.complaints };
}

/** The processes that record attempts, and the ones that the records pass. */
const RECORDERS: readonly Role[] = ['worker', 'temporal', 'postgres'];

/** An attempt that could not be recorded is repeated. */
async function checkRepeats({ receiver, stack }: Evidence): Promise<CheckResult> {
  const disturbed = stack.members
    .filter(({ role }) => RECORDERS.includes(role))
    .flatMap(({ outages, troubles }) => [...outages, ...troubles]);
  const failures = [...receiver.events.values()].flatMap(({ id, path, accepted, acceptedAtMs, lastAcceptedAtMs }) => {
    if (accepted < 2 || acceptedAtMs === null || lastAcceptedAtMs === null) return [];
    const hadReason = disturbed.some(({ fromMs, untilMs }) => fromMs < lastAcceptedAtMs && acceptedAtMs < untilMs);
    return hadReason ? [] : [`${id} was taken ${accepted} times at ${path}`];
  });
  return { promise: 'no event was sent again that had been taken, unless its record was disturbed', failures };
}

const checkDeliveries = sqlCheck(
  'every delivery is on record as delivered',
  /* sql */ `
  SELECT format('%s is %s after %s attempts', id, status, attempts) AS failure FROM deliveries WHERE status <> 'delivered'`,
);

export const WEBHOOK_CHECKS: readonly Check[] = [checkDue, checkNotDue, checkSignatures, checkRepeats, checkDeliveries];
