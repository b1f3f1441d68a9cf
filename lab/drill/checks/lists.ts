/** Checks that the lists of the API show clients and operators every object once. */
import Joi from 'joi';
import { ask } from '../../stack/client.ts';
import { type Check, type CheckResult, type Evidence, isForgotten } from './check.ts';

type Item = Readonly<Record<string, unknown>>;

const LARGEST_PAGE = 500;

const pageSchema = Joi.object<{ data: Item[]; next_cursor: string | null }>({
  data: Joi.array().items(Joi.object()).required(),
  next_cursor: Joi.string().allow(null).required(),
}).required();

/** All pages of a list. */
async function listAll(url: string, token: string): Promise<readonly Item[]> {
  const items: Item[] = [];
  let cursor: string | null = '';
  do {
    const { text } = await ask(`${url}?limit=${LARGEST_PAGE}&cursor=${cursor}`, { token });
    const page = Joi.attempt(JSON.parse(text), pageSchema, { convert: false });
    items.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return items;
}

async function checkTasks(evidence: Evidence): Promise<CheckResult> {
  const { stack, customers } = evidence;
  const orders = evidence.orders.filter(({ answeredAtMs }) => !isForgotten(evidence, answeredAtMs));
  const failures: string[] = [];
  for (const customer of customers) {
    const shown = (await listAll(`${stack.apiUrls[0]}/v1/tasks`, customer.apiKey)).map(({ id }) => id);
    const ordered = orders.filter((order) => order.customer === customer).flatMap(({ taskId }) => taskId ?? []);
    failures.push(...ordered.filter((id) => !shown.includes(id)).map((id) => `${id} is not in its owner's list`));
    if (new Set(shown).size < shown.length) failures.push(`the list of ${customer.accountId} shows a task twice`);
  }
  return { promise: "every task is in its owner's list, once", failures };
}

async function checkDeliveries(evidence: Evidence): Promise<CheckResult> {
  const { stack, customers, receiver } = evidence;
  const failures: string[] = [];
  for (const { apiKey, endpoints } of customers) {
    for (const { id, path } of endpoints) {
      const deliveries = await listAll(`${stack.apiUrls[0]}/v1/webhooks/${id}/deliveries`, apiKey);
      const shown = deliveries.map(({ event_id: eventId }) => eventId);
      const taken = [...receiver.events.values()].filter(
        (event) => event.path === path && event.accepted > 0 && !isForgotten(evidence, event.seenAtMs),
      );
      failures.push(
        ...taken.flatMap((event) => (shown.includes(event.id) ? [] : [`${event.id} at ${path} is in no list`])),
      );
      if (new Set(shown).size < shown.length) failures.push(`the list of ${path} shows a delivery twice`);
    }
  }
  return { promise: 'every event that an endpoint took is in the list of its deliveries, once', failures };
}

async function checkLedgers(evidence: Evidence): Promise<CheckResult> {
  const { stack, customers } = evidence;
  const orders = evidence.orders.filter(({ answeredAtMs }) => !isForgotten(evidence, answeredAtMs));
  const failures: string[] = [];
  for (const customer of customers) {
    const url = `${stack.apiUrls[0]}/admin/v1/accounts/${customer.accountId}/ledger`;
    const transfers = await listAll(url, stack.adminToken);
    for (const { taskId } of orders.filter((order) => order.customer === customer)) {
      if (taskId === null) continue;
      const kinds = transfers.flatMap(({ task_id, kind }) => (task_id === taskId ? [kind] : []));
      const isResolved = kinds.includes('reservation') && kinds.length === 2;
      if (!isResolved) failures.push(`the ledger shows of ${taskId}: ${kinds.join(', ') || 'nothing'}`);
    }
  }
  return { promise: 'the ledger that operators see has one reservation and one resolution of every task', failures };
}

export const LIST_CHECKS: readonly Check[] = [checkTasks, checkDeliveries, checkLedgers];
