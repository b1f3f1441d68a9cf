/**
 * How fast the pages of the console are, with 100,000 tasks and 1,000,000 transfers in the database, beside a load of create
 * calls. Prints a line for each page: the median and the 99th percentile in milliseconds, and its bytes.
 */
import { parseArgs } from 'node:util';
import { REPORT_LIMITS } from '../../db/connections.ts';
import { createDatabase, type Database } from '../../db/database.ts';
import { listTasks } from '../../db/queries/tasks.ts';
import { listTextUsage } from '../../db/queries/usage.ts';
import { sumUsage } from '../../db/usage-sums.ts';
import { make, openAccount } from '../stack/accounts.ts';
import { startStack } from '../stack/stack.ts';
import { percentile, rounded } from './statistics.ts';
import { type Browser, signIn } from './console/browser.ts';
import { seedConsole, type SeededKey } from './console/seed.ts';

const { values: options } = parseArgs({
  options: {
    tasks: { type: 'string', default: '100000' },
    transfers: { type: 'string', default: '1000000' },
    looks: { type: 'string', default: '40' },
    'creates-per-second': { type: 'string', default: '10' },
  },
});
const ACCOUNTS = 200;

// An interrupted run must stop its servers.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const stack = await startStack({ processes: { api: 1, text: 0, worker: 0 } });
try {
  const database = createDatabase(stack.databaseUrl, 2, REPORT_LIMITS);
  const amounts = { accounts: ACCOUNTS, tasks: Number(options.tasks), transfers: Number(options.transfers) };
  const keys = await seedConsole(database, amounts, (line) => console.error(line));
  // As the worker does every ten minutes.
  await sumUsage(database);
  const pages = await pagesOf(database, keys);
  await database.destroy();
  const [apiUrl = ''] = stack.apiUrls;
  const administration = { apiUrl, adminToken: stack.adminToken };
  const browser = await signIn(administration, keys[0]?.accountId ?? '');
  const { apiKey } = await openAccount(administration, 100_000);
  const load = startLoad(apiUrl, apiKey, Number(options['creates-per-second']));
  try {
    for (const path of pages) console.log(JSON.stringify(await measure(browser, path)));
  } finally {
    console.error(`${await load.stop()} create calls meanwhile`);
  }
} finally {
  await stack.stop();
}

/** Every page that lists or sums up: of customers, and of the staff; the largest account's, and deep in the lists. */
async function pagesOf(database: Database, [largest, other]: readonly SeededKey[]): Promise<readonly string[]> {
  if (!largest || !other) throw new Error('too few accounts were seeded');
  const [task] = await listTasks(database, { accountId: largest.accountId, limit: 1 });
  const [text] = await listTextUsage(database, { accountId: largest.accountId, limit: 1 });
  if (!task || !text) throw new Error('nothing was seeded');
  const oldTasks = await listTasks(database, { to: new Date(task.createdAt.getTime() - 10 * 86_400_000), limit: 1 });
  const oldTexts = await listTextUsage(database, {
    to: new Date(text.createdAt.getTime() - 10 * 86_400_000),
    limit: 1,
  });
  const month = task.createdAt.toISOString().slice(0, 7);
  const day = new Date(task.createdAt.getTime() - 10 * 86_400_000).toISOString().slice(0, 10);
  const own = `/accounts/${largest.accountId}`;
  return [
    ...['', '/tasks', `/tasks?cursor=${oldTasks[0]?.id}`, `/tasks/${task.id}`, '/keys', '/usage', '/billing'].map(
      (path) => own + path,
    ),
    ...['', `?to=${day}`, '?type=task', '?type=topup'].map((query) => `${own}/billing/ledger${query}`),
    '/staff/accounts',
    '/staff/accounts?search=seeded-17',
    `/staff/accounts?search=${task.reservationId}`,
    `/staff/accounts/${largest.accountId}`,
    '/staff/tasks',
    `/staff/tasks?account=${other.accountId}`,
    '/staff/tasks?status=failed',
    '/staff/tasks?model=none',
    `/staff/tasks?cursor=${oldTasks[0]?.id}`,
    `/staff/tasks/${task.id}`,
    '/staff/text-requests',
    `/staff/text-requests?account=${largest.accountId}&status=failed`,
    '/staff/text-requests?model=none',
    `/staff/text-requests?cursor=${oldTexts[0]?.id}`,
    `/staff/text-requests/${text.id}`,
    '/staff/upstreams',
    '/staff/models',
    '/staff/models/configuration',
    '/staff/webhooks',
    '/staff/live',
    '/staff/months',
    `/staff/months/${month}`,
    '/staff/refunds',
    '/staff/reconciliations',
  ];
}

async function measure(browser: Browser, path: string) {
  const looks = [];
  for (let count = 0; count < Number(options.looks); count += 1) looks.push(await browser.look(path));
  const ms = looks.map((look) => look.ms);
  const [last] = looks.slice(-1);
  return {
    page: path.replaceAll(/([a-z]+_)[0-9a-z]{32}/g, '$1…'),
    status: last?.status,
    p50_ms: rounded(percentile(ms, 0.5)),
    p99_ms: rounded(percentile(ms, 0.99)),
    kilobytes: rounded((last?.bytes ?? 0) / 1000),
  };
}

/** Create calls at an even pace, however long each takes. */
function startLoad(apiUrl: string, apiKey: string, perSecond: number) {
  const body = { model: 'vidone-3.0', prompt: 'A kite', duration: 5 };
  const calls: Promise<unknown>[] = [];
  const timer = setInterval(() => void calls.push(make(`${apiUrl}/v1/videos/tasks`, apiKey, body)), 1_000 / perSecond);
  return {
    /** @returns how many calls were made; all were answered 201 */
    stop: async (): Promise<number> => {
      clearInterval(timer);
      return (await Promise.all(calls)).length;
    },
  };
}
