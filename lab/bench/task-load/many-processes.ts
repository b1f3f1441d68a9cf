/** Checks that two api processes and two workers share tasks: each rendered and charged once, accounts in turn. */
import { Client, Connection } from '@temporalio/client';
import Joi from 'joi';
import { createDatabase, type Database } from '../../../db/database.ts';
import { openAccount } from '../../stack/accounts.ts';
import { listReader } from '../../stack/answers.ts';
import { type Stack, startStack } from '../../stack/stack.ts';
import { whenAllFinal } from '../load/database.ts';
import { rounded } from '../statistics.ts';
import { createInClosedLoop } from './creates.ts';

const PROCESSES = { api: 2, text: 0, worker: 2 } as const;
const ACCOUNTS = 4;
const TASKS_EACH = 40;
const CLIENTS_EACH = 4;
const TOP_UP_USD = 1_000;

const readJobs = listReader<{ key: string; submissions: number }>({ key: Joi.string(), submissions: Joi.number() });

export interface ManyProcesses {
  readonly api_processes: number;
  readonly workers: number;
  readonly accounts: number;
  readonly tasks: number;
  readonly finished_per_second: number;
  /** The share of the account with the fewest tasks among the first half of all final tasks, in fair shares. */
  readonly least_share_of_an_account: number;
  /** The number of steps of the less busy worker, in fair shares. */
  readonly least_share_of_a_worker: number;
  readonly rendered_more_or_less_than_once: number;
  readonly accounts_with_a_wrong_balance: number;
}

/** Half of the clients of each account call each api process. */
export async function measureManyProcesses(): Promise<ManyProcesses> {
  const stack = await startStack({
    processes: PROCESSES,
    settings: { GENWAY_MAX_CONCURRENT_TASKS: '1000000', GENWAY_POLL_MS: '500' },
  });
  const database = createDatabase(stack.databaseUrl, 2);
  const connection = await Connection.connect({ address: stack.temporalAddress });
  try {
    const startedAt = performance.now();
    await createForAll(stack);
    await whenAllFinal(database);
    const tasks = await database<{ id: string; account_id: string }>('tasks')
      .orderBy('completed_at')
      .select('id', 'account_id');
    return {
      api_processes: PROCESSES.api,
      workers: PROCESSES.worker,
      accounts: ACCOUNTS,
      tasks: tasks.length,
      finished_per_second: rounded((tasks.length * 1_000) / (performance.now() - startedAt)),
      least_share_of_an_account: leastShare(
        tasks.slice(0, tasks.length / 2).map((task) => task.account_id),
        ACCOUNTS,
      ),
      least_share_of_a_worker: leastShare(await workersOf(new Client({ connection }), tasks), PROCESSES.worker),
      rendered_more_or_less_than_once: await countWronglyRendered(stack, tasks),
      accounts_with_a_wrong_balance: await countWrongBalances(database),
    };
  } finally {
    await connection.close();
    await database.destroy();
    await stack.stop();
  }
}

async function createForAll({ apiUrls, adminToken }: Stack): Promise<void> {
  const [firstUrl = ''] = apiUrls;
  const open = () => openAccount({ apiUrl: firstUrl, adminToken }, TOP_UP_USD);
  const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, open));
  await Promise.all(
    accounts.flatMap(({ apiKey }) =>
      apiUrls.map((apiUrl) =>
        createInClosedLoop(
          { apiUrl, apiKey },
          { clients: CLIENTS_EACH / apiUrls.length, count: TASKS_EACH / apiUrls.length },
        ),
      ),
    ),
  );
}

/** Which worker took each step: `pid@host`. */
async function workersOf(temporal: Client, tasks: readonly { readonly id: string }[]): Promise<readonly string[]> {
  const histories = await Promise.all(tasks.map(({ id }) => temporal.workflow.getHandle(id).fetchHistory()));
  return histories.flatMap(({ events }) =>
    (events ?? []).flatMap(({ activityTaskStartedEventAttributes: started }) => started?.identity ?? []),
  );
}

async function countWronglyRendered(
  { simulatorUrl }: Stack,
  tasks: readonly { readonly id: string }[],
): Promise<number> {
  const answer = await fetch(`${simulatorUrl}/_sim/jobs?limit=2000`);
  const submissions = new Map(readJobs(await answer.text()).map((job) => [job.key, job.submissions]));
  return tasks.filter(({ id }) => submissions.get(id) !== 1).length;
}

/** Counts accounts that still hold money, or whose balance is not their top-ups less their charges. */
async function countWrongBalances(database: Database): Promise<number> {
  const { rows } = await database.raw<{ rows: { wrong: string }[] }>(
    /* sql */ `
    SELECT count(*) AS wrong FROM accounts JOIN (
      SELECT account_id, count(*) AS tasks, sum(price) FILTER (WHERE status = 'succeeded') AS charged FROM tasks GROUP BY account_id)
      AS used ON used.account_id = accounts.id
    WHERE funded_available + charged <> :usd * 1000000000000::numeric OR funded_reserved <> 0 OR used.tasks <> :tasks`,
    { usd: TOP_UP_USD, tasks: TASKS_EACH },
  );
  return Number(rows[0]?.wrong);
}

/** @param takers who took each item */
function leastShare(takers: readonly string[], count: number): number {
  const taken = new Map<string, number>();
  for (const taker of takers) taken.set(taker, (taken.get(taker) ?? 0) + 1);
  const least = taken.size < count ? 0 : Math.min(...taken.values());
  return rounded((least * count) / takers.length, 2);
}
