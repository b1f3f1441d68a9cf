/**
 * Many media tasks of accounts with one webhook endpoint each, some of which fail: in the end every task must have been told of
 * once and paid or refunded once. Sees of Genway only what its clients, receivers and operators see.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, createClient } from './client.ts';
import { type ReceivedEvent, startSoakReceiver, type SoakReceiver } from './receiver.ts';

export interface SoakOptions {
  readonly baseUrl: string;
  readonly adminToken: string;
  readonly tasks: number;
  /** Over how many accounts the tasks are spread. */
  readonly accounts: number;
  /** How many tasks are under way at once: the next is created when one has been told of. */
  readonly atOnce: number;
  /** How long all tasks together may take. */
  readonly timeoutMs: number;
  /** How long nothing more may arrive after the last event. */
  readonly quietMs: number;
  /** Called with the number of tasks that have been told of, after each. */
  readonly onTold?: (tasks: number) => void;
}

/** Something that must be so many times. */
export interface Count {
  readonly what: string;
  readonly expected: number;
  readonly found: number;
}

interface Account {
  readonly id: string;
  readonly apiKey: string;
  readonly webhookId: string;
  /** What its endpoint is called at the receiver. */
  readonly path: string;
}

interface OrderedTask {
  readonly id: string;
  readonly account: Account;
  readonly status: 'succeeded' | 'failed';
}

const TOP_UP_USD = 10_000;
/** One of so many tasks fails, so that there are refunds among the resolutions and both events among the deliveries. */
const FAILING = 10;
const PROMPTS = {
  succeeded: 'A lighthouse [sim:render_ms=10]',
  failed: 'A lighthouse [sim:render_ms=10,fail=processing_failed]',
};

/** @throws Error when a call is refused */
export async function soakWebhooks(options: SoakOptions): Promise<readonly Count[]> {
  const client = createClient(options.baseUrl);
  const receiver = await startSoakReceiver();
  try {
    const numbers = Array.from({ length: options.accounts }, (_, number) => number);
    const accounts = await Promise.all(numbers.map((number) => openAccount(client, receiver, number, options)));
    const created = await runTasks(client, receiver, accounts, options);
    await sleep(options.quietMs);
    return await count(client, { ...options, created, accounts, events: receiver.events });
  } finally {
    await receiver.close();
    await client.close();
  }
}

async function openAccount(
  { post }: Client,
  receiver: SoakReceiver,
  number: number,
  { adminToken }: SoakOptions,
): Promise<Account> {
  const { id } = await post('/admin/v1/accounts', adminToken, { name: `soak ${number}` });
  const account = `/admin/v1/accounts/${id}`;
  await post(`${account}/topups`, adminToken, { amount_usd: TOP_UP_USD, reference: `soak ${id}` });
  const { api_key: apiKey } = await post(`${account}/keys`, adminToken, {});
  const path = `account-${number}`;
  const { id: webhookId, secret } = await post('/v1/webhooks', apiKey, { url: `${receiver.url}/${path}` });
  receiver.setSecret(path, secret);
  return { id, apiKey, webhookId, path };
}

/** Ends early when time is up: then the counts tell what is missing. */
async function runTasks(
  { post }: Client,
  receiver: SoakReceiver,
  accounts: readonly Account[],
  { tasks: count, atOnce, timeoutMs, onTold }: SoakOptions,
): Promise<OrderedTask[]> {
  const tasks: OrderedTask[] = [];
  const timeUp = AbortSignal.timeout(timeoutMs);
  setMaxListeners(0, timeUp);
  let ordered = 0;
  const order = async (): Promise<void> => {
    while (ordered < count && !timeUp.aborted) {
      const number = (ordered += 1);
      const account = accounts[number % accounts.length];
      if (!account) throw new Error('there must be an account');
      const status = number % FAILING === 0 ? 'failed' : 'succeeded';
      const body = { model: 'vidone-3.0', prompt: PROMPTS[status], duration: 2 };
      const { id } = await post('/v1/videos/tasks', account.apiKey, body);
      tasks.push({ id, account, status });
      await receiver.told(id, timeUp);
      onTold?.(receiver.events.length);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, order));
  return tasks;
}

interface Findings {
  readonly created: readonly OrderedTask[];
  readonly accounts: readonly Account[];
  readonly events: readonly ReceivedEvent[];
}

async function count(
  { list }: Client,
  { created, accounts, events, adminToken, tasks }: Findings & Pick<SoakOptions, 'adminToken' | 'tasks'>,
): Promise<readonly Count[]> {
  const perAccount = await Promise.all(
    accounts.map(async ({ id, apiKey, webhookId }) => ({
      shown: await list('/v1/tasks', apiKey),
      deliveries: await list(`/v1/webhooks/${webhookId}/deliveries`, apiKey),
      transfers: await list(`/admin/v1/accounts/${id}/ledger`, adminToken),
    })),
  );
  const shown = new Map(perAccount.flatMap((account) => account.shown).map((task) => [task['id'], task]));
  const deliveries = perAccount.flatMap((account) => account.deliveries);
  const transfers = perAccount.flatMap((account) => account.transfers);
  const resolutions = transfers.filter(({ kind }) => kind === 'settlement' || kind === 'refund');
  const told = new Map(events.map((event) => [event.taskId, event]));
  const failing = Math.floor(tasks / FAILING);
  return [
    { what: 'tasks created', expected: tasks, found: new Set(created.map(({ id }) => id)).size },
    {
      what: 'tasks that ended as they should',
      expected: tasks,
      found: created.filter(({ id, status }) => shown.get(id)?.['status'] === status).length,
    },
    { what: 'deliveries received', expected: tasks, found: events.length },
    { what: 'different events among them', expected: tasks, found: new Set(events.map(({ id }) => id)).size },
    {
      what: 'tasks told of, to their own account',
      expected: tasks,
      found: created.filter(({ id, account }) => told.get(id)?.path === account.path).length,
    },
    {
      what: 'events of the right type',
      expected: tasks,
      found: created.filter(({ id, status }) => told.get(id)?.type === `task.${status}`).length,
    },
    { what: 'valid signatures', expected: tasks, found: events.filter(({ isSigned }) => isSigned).length },
    {
      what: 'deliveries logged with one attempt',
      expected: tasks,
      found: deliveries.filter(({ status, attempts }) => status === 'delivered' && lengthOf(attempts) === 1).length,
    },
    { what: 'ledger resolutions', expected: tasks, found: resolutions.length },
    {
      what: 'tasks resolved among them',
      expected: tasks,
      found: new Set(resolutions.map((resolution) => resolution['task_id'])).size,
    },
    {
      what: 'refunds among them',
      expected: failing,
      found: resolutions.filter(({ kind }) => kind === 'refund').length,
    },
  ];
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}
