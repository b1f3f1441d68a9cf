/**
 * Measures how fast media tasks are created and finished, beside the bound of the Temporal server: a bare workflow
 * of five empty activities on the same server. Both alternate in rounds, so that the load of the machine affects both,
 * and run before the first round until their code is compiled. Everything runs on this machine: the clients, api,
 * worker, simulator, PostgreSQL (with its usual durability) and the Temporal development server (in memory); with
 * `--cluster`, PostgreSQL with a synchronous standby and two nodes of the Temporal server on it. Prints JSON: the
 * rates, the create calls at a steady 300 a second while the worker runs, what a task and a bare workflow leave in
 * Temporal's history, and the CPU time of each in each process.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { createDatabase } from '../../db/database.ts';
import { openAccount } from '../stack/accounts.ts';
import { build } from '../stack/build.ts';
import { startStack } from '../stack/stack.ts';
import { bytesOf, whenAllFinal } from './load/database.ts';
import { mean, percentile, rounded } from './statistics.ts';
import { startCeiling } from './task-load/ceiling.ts';
import { type CpuTimes, cpuTimesBetween, cpuTimesOf } from './task-load/cpu-of-stack.ts';
import { type CreateTarget, createInClosedLoop, createInOpenLoop, type Creates } from './task-load/creates.ts';
import { readHistoryCost } from './task-load/history-cost.ts';

const CLIENTS = 32;
const STEADY = { perSecond: 300, seconds: 5 } as const;
/** How many tasks and bare workflows run before the measurement: a worker becomes faster over its first few hundred. */
const WARM_UP = 400;
/** The tables in which a task leaves rows. */
const TABLES = ['tasks', 'transfers', 'submissions', 'events', 'result_files'];

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    tasks: { type: 'string', default: '200' },
    cluster: { type: 'boolean', default: false },
  },
});
/** The tasks of each round; as many bare workflows follow. */
const TASKS = Number(values.tasks);

const folder = await mkdtemp(join(tmpdir(), 'genway-bench-'));
const built = await build(folder);
const stack = await startStack({
  built,
  processes: { api: 1, text: 0, worker: 1 },
  isCluster: values.cluster,
  settings: { GENWAY_MAX_CONCURRENT_TASKS: '1000000', GENWAY_POLL_MS: '2000' },
});
const [apiUrl = ''] = stack.apiUrls;
const database = createDatabase(stack.databaseUrl, 2);
const connection = await Connection.connect({ address: stack.temporalAddress });
const temporal = new Client({ connection });
const ceiling = await startCeiling(stack, temporal, built.programs);
try {
  const { apiKey } = await openAccount({ apiUrl, adminToken: stack.adminToken }, 1_000_000);
  const target = { apiUrl, apiKey };
  await createInClosedLoop(target, { clients: CLIENTS, count: WARM_UP });
  await whenAllFinal(database);
  await ceiling.run(WARM_UP);
  const bytesBefore = await bytesOf(database, TABLES);
  const rounds: Round[] = [];
  while (rounds.length < Number(values.rounds)) {
    rounds.push({ ...(await measureCeiling()), ...(await measureTasks(target)) });
  }
  report(rounds);
  print({
    database_bytes_of_a_task: Math.round(((await bytesOf(database, TABLES)) - bytesBefore) / (TASKS * rounds.length)),
  });
  await reportHistories();
  // Last, since it may leave unfinished tasks behind.
  reportSteady(await createInOpenLoop(target, STEADY));
} finally {
  await ceiling.stop();
  await connection.close();
  await database.destroy();
  await stack.stop();
  await rm(folder, { recursive: true });
}

interface Round {
  readonly barePerSecond: number;
  readonly bareCpuMs: CpuTimes;
  readonly creates: Creates;
  readonly finishedPerSecond: number;
  readonly taskCpuMs: CpuTimes;
}

async function measureCeiling(): Promise<Pick<Round, 'barePerSecond' | 'bareCpuMs'>> {
  const bareWorker = { 'bare worker': ceiling.pid };
  const cpuBefore = cpuTimesOf(stack, bareWorker);
  const startedAt = performance.now();
  await ceiling.run(TASKS);
  const barePerSecond = TASKS / seconds(startedAt);
  return {
    barePerSecond,
    bareCpuMs: cpuTimesBetween(cpuBefore, cpuTimesOf(stack, bareWorker), TASKS),
  };
}

async function measureTasks(target: CreateTarget): Promise<Omit<Round, 'barePerSecond' | 'bareCpuMs'>> {
  const cpuBefore = cpuTimesOf(stack);
  const startedAt = performance.now();
  const creates = await createInClosedLoop(target, { clients: CLIENTS, count: TASKS });
  await whenAllFinal(database);
  const finishedPerSecond = TASKS / seconds(startedAt);
  return { creates, finishedPerSecond, taskCpuMs: cpuTimesBetween(cpuBefore, cpuTimesOf(stack), TASKS) };
}

function report(rounds: readonly Round[]): void {
  const createMs = rounds.flatMap(({ creates }) => creates.durationsMs);
  const shares = rounds.map(({ finishedPerSecond, barePerSecond }) => finishedPerSecond / barePerSecond);
  const ofRounds = (valueOf: (round: Round) => number): number => rounded(mean(rounds.map(valueOf)));
  print({
    creates_per_second: ofRounds(({ creates }) => creates.perSecond),
    create_p50_ms: rounded(percentile(createMs, 0.5)),
    create_p99_ms: rounded(percentile(createMs, 0.99)),
    tasks_finished_per_second: ofRounds(({ finishedPerSecond }) => finishedPerSecond),
    ceiling_per_second: ofRounds(({ barePerSecond }) => barePerSecond),
    share_of_ceiling: rounded(mean(shares), 2),
    shares_of_rounds: shares.map((share) => rounded(share, 2)),
    clients: CLIENTS,
    tasks: TASKS * rounds.length,
    cores: cpus().length,
  });
  print({ cpu_ms_of_a_task: meanOf(rounds.map(({ taskCpuMs }) => taskCpuMs)) });
  print({ cpu_ms_of_a_bare_workflow: meanOf(rounds.map(({ bareCpuMs }) => bareCpuMs)) });
}

function reportSteady(steady: Creates): void {
  print({
    creates_asked_for_per_second: STEADY.perSecond,
    creates_per_second: rounded(steady.perSecond),
    creates_failed: steady.failed,
    create_p50_ms: rounded(percentile(steady.durationsMs, 0.5)),
    create_p99_ms: rounded(percentile(steady.durationsMs, 0.99)),
  });
}

async function reportHistories(): Promise<void> {
  const task = await database<{ id: string; status: string }>('tasks')
    .where({ status: 'succeeded' })
    .orderBy('id')
    .first('id');
  // Its workflow ends a moment after the task.
  await temporal.workflow.getHandle(task?.id ?? '').result();
  print({ history_of_a_task: await readHistoryCost(temporal, task?.id ?? '') });
  print({ history_of_a_bare_workflow: await readHistoryCost(temporal, await ceiling.run(1)) });
}

function meanOf(times: readonly CpuTimes[]): CpuTimes {
  const names = Object.keys(times[0] ?? {});
  return Object.fromEntries(names.map((name) => [name, rounded(mean(times.map((each) => each[name] ?? 0)))]));
}

function print(line: object): void {
  console.log(JSON.stringify(line));
}

function seconds(since: number): number {
  return (performance.now() - since) / 1000;
}
