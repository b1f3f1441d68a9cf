/**
 * The speed of the console's pages, with 100,000 tasks and 1,000,000 transfers in the database, beside a load of create
 * calls. Prints a line for each page: the median and the 99th percentile in milliseconds, and its bytes.
 */
import { parseArgs } from 'node:util';
import type { Page } from '../../console/page.ts';
import { PAGES } from '../../console/pages.ts';
import { REPORT_LIMITS } from '../../db/connections.ts';
import { createDatabase, type Database } from '../../db/database.ts';
import { listTasks } from '../../db/queries/tasks.ts';
import { listTextUsage } from '../../db/queries/usage.ts';
import { sumUsage } from '../../db/usage-sums.ts';
import { make, openAccount } from '../stack/accounts.ts';
import { startStack } from '../stack/stack.ts';
import { percentile, rounded } from './statistics.ts';
import { type Address, type Browser, signIn } from './console/browser.ts';
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
    for (const page of pages) console.log(JSON.stringify(await measure(browser, page)));
  } finally {
    console.error(`${await load.stop()} create calls meanwhile`);
  }
} finally {
  await stack.stop();
}

/** Every page with known parameters, pages of the largest account, and lists with filters and far from their start. */
async function pagesOf(database: Database, [largest, other]: readonly SeededKey[]): Promise<readonly Address[]> {
  if (!largest || !other) throw new Error('too few accounts were seeded');
  const { accountId } = largest;
  const [task] = await listTasks(database, { accountId, limit: 1 });
  const [text] = await listTextUsage(database, { accountId, limit: 1 });
  if (!task || !text) throw new Error('nothing was seeded');
  const to = new Date(task.createdAt.getTime() - 10 * 86_400_000);
  const [[oldTask], [oldText]] = [
    await listTasks(database, { to, limit: 1 }),
    await listTextUsage(database, { to, limit: 1 }),
  ];
  const known = {
    account_id: accountId,
    key_id: largest.id,
    task_id: task.id,
    text_request_id: text.id,
    model_id: 'vidone-3.0',
    month: task.createdAt.toISOString().slice(0, 7),
  };
  const day = to.toISOString().slice(0, 10);
  const own = `/accounts/${accountId}`;
  const paths = [
    ...PAGES.flatMap((page) => addressOf(page, known) ?? []),
    `${own}/tasks?cursor=${oldTask?.id}`,
    ...[`to=${day}`, 'type=task', 'type=topup'].map((query) => `${own}/billing/ledger?${query}`),
    '/staff/accounts?search=seeded-17',
    `/staff/tasks?account=${other.accountId}`,
    '/staff/tasks?status=failed',
    '/staff/tasks?model=none',
    `/staff/tasks?cursor=${oldTask?.id}`,
    `/staff/text-requests?account=${accountId}&status=failed`,
    '/staff/text-requests?model=none',
    `/staff/text-requests?cursor=${oldText?.id}`,
  ];
  const searches = ['Seeded 17', 'seeded-17@example.com', task.id.slice(10, 30)];
  return [...paths.map((path) => ({ path })), ...searches.map((text) => ({ path: '/search', form: { text } }))];
}

/** Null for a page with other parameters, for a file, and for paths that are no page: a form, or a public path. */
function addressOf({ method, access, path }: Page, known: Readonly<Record<string, string>>): string | null {
  if (method !== 'get' || access === 'everybody' || /\/(export|story|state)$/.test(path)) return null;
  const address = path.replaceAll(/\{(\w+)\}/g, (parameter, name: string) => known[name] ?? parameter);
  return address.includes('{') ? null : address;
}

async function measure(browser: Browser, page: Address) {
  const looks = [];
  for (let count = 0; count < Number(options.looks); count += 1) looks.push(await browser.look(page));
  const ms = looks.map((look) => look.ms);
  const [last] = looks.slice(-1);
  return {
    page: page.path.replaceAll(/([a-z]+_)[0-9a-z]{32}/g, '$1…'),
    ...(page.form && { form: page.form }),
    status: last?.status,
    p50_ms: rounded(percentile(ms, 0.5)),
    p99_ms: rounded(percentile(ms, 0.99)),
    kilobytes: rounded((last?.bytes ?? 0) / 1000),
  };
}

/** Create calls at an even pace, whatever their duration. */
function startLoad(apiUrl: string, apiKey: string, perSecond: number) {
  const body = { model: 'vidone-3.0', prompt: 'A kite', duration: 5 };
  const calls: Promise<unknown>[] = [];
  const timer = setInterval(() => void calls.push(make(`${apiUrl}/v1/videos/tasks`, apiKey, body)), 1_000 / perSecond);
  return {
    /** @returns the number of calls; all were answered 201 */
    stop: async (): Promise<number> => {
      clearInterval(timer);
      return (await Promise.all(calls)).length;
    },
  };
}
