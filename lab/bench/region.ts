/**
 * `node --import tsx lab/bench/region.ts`: the resources of one region for a load, by the figures of lab/README.md.
 * Prints the table of docs/scale.md, which a test compares.
 */
import { pathToFileURL } from 'node:url';

export interface Load {
  readonly textRequestsPerSecond: number;
  readonly createsPerSecond: number;
  readonly runningTasks: number;
}

/** On a machine with 2 cores (AMD EPYC, 2.4 GHz). Where several rounds differ, the more expensive one counts. */
export const MEASURED = {
  /** `bench:text`, 32 clients, quiet. */
  textCpuMs: 0.302,
  textDatabaseCpuMs: 0.193,
  /** `bench:tasks`, beside much other work, when tasks had one activity less. */
  createCpuMs: 11.3,
  taskWorkerCpuMs: 47.5,
  taskDatabaseCpuMs: 15.5,
  taskTemporalCpuMs: 42.8,
  /** `bench:scale` and `bench:tasks`: rows and indexes. */
  textRequestBytes: 1_704,
  taskBytes: 3_666,
  /** `bench:tasks`: for a task that succeeded and sent no webhook. */
  historyBytes: 6_095,
  billedActions: 7,
  /** `bench:scale`: holds with their settlements on the row of one account, by text processes. */
  perAccountPerSecond: { 1: 1_919, 4: 1_693, 16: 874 },
} as const;

/** The assumptions that are not measured. */
const ASSUMED = {
  /** The average use of a core, which leaves room for a peak and the loss of a zone. */
  usableShare: 0.6,
  /** `MEDIA_SLOTS` in `bin/parts/workers.ts`. */
  slotsOfAWorker: 2_000,
  /** Four fifths of the heartbeat timeout: `domain/step-limits.ts`. */
  secondsBetweenHeartbeats: 12,
  /** A tenth more for each action while fairness is on. */
  fairnessSurcharge: 1.1,
  usdPerMillionActions: 25,
  videoMegabytes: 20,
} as const;

const SECONDS_A_DAY = 86_400;
const DAYS_A_MONTH = 30;

/** The rows of a table: the item, its rule, and its amount. */
export function tableOf(load: Load): readonly (readonly [string, string, string])[] {
  const { textRequestsPerSecond: text, createsPerSecond: creates, runningTasks } = load;
  const taskSeconds = runningTasks / creates;
  const heartbeats = Math.floor(taskSeconds / ASSUMED.secondsBetweenHeartbeats);
  const actions = MEASURED.billedActions + heartbeats;
  const actionsAMonth = creates * actions * ASSUMED.fairnessSurcharge * SECONDS_A_DAY * DAYS_A_MONTH;
  const usdPerTask = (actions * ASSUMED.fairnessSurcharge * ASSUMED.usdPerMillionActions) / 1e6;
  const database = cores(text, MEASURED.textDatabaseCpuMs) + cores(creates, MEASURED.taskDatabaseCpuMs);
  const video = creates * ASSUMED.videoMegabytes;
  const one = MEASURED.perAccountPerSecond[4];
  return [
    ['text processes', 'CPU a request, one thread each', count(withRoom(cores(text, MEASURED.textCpuMs)))],
    ['api processes', 'CPU a create, one thread each', count(withRoom(cores(creates, MEASURED.createCpuMs)))],
    ['workers, by slots', 'running tasks ÷ slots', count(Math.ceil(runningTasks / ASSUMED.slotsOfAWorker))],
    ['cores of workers', 'CPU a task', count(withRoom(cores(creates, MEASURED.taskWorkerCpuMs)))],
    ['cores of PostgreSQL', 'CPU a request and a task', count(withRoom(database))],
    [
      'rows a day, TB',
      'bytes of text requests + of tasks',
      decimal(perDay(text, MEASURED.textRequestBytes) + perDay(creates, MEASURED.taskBytes)),
    ],
    ['largest account, share of all text', 'rate of one row ÷ requests', decimal(one / text, 2)],
    [
      'cores of a Temporal server',
      'CPU a task, of the development server',
      count(withRoom(cores(creates, MEASURED.taskTemporalCpuMs))),
    ],
    ['histories a day, TB', 'bytes of a history', decimal(perDay(creates, MEASURED.historyBytes))],
    [
      'heartbeats a second',
      'running tasks ÷ time between two',
      count(Math.round(runningTasks / ASSUMED.secondsBetweenHeartbeats)),
    ],
    ['actions of a task', `history + ${heartbeats} heartbeats`, count(actions)],
    ['actions a month, billions', 'with fairness', decimal(actionsAMonth / 1e9)],
    ['their price a task, USD', 'at the last published step', usdPerTask.toFixed(6)],
    [
      'their price a month, thousands of USD',
      'at the last published step',
      count(Math.round((usdPerTask * creates * SECONDS_A_DAY * DAYS_A_MONTH) / 1_000)),
    ],
    ['video in, and again out to the store, GB/s', 'size of a video', decimal(video / 1_000)],
    ['video a day, TB', 'size of a video', count(Math.round((video * SECONDS_A_DAY) / 1e6))],
  ];
}

/** As Markdown. */
export function renderTable(load: Load): string {
  const rows = tableOf(load).map((cells) => `| ${cells.join(' | ')} |`);
  return ['| resource | rule | at this load |', '|---|---|---|', ...rows].join('\n');
}

export const ONE_REGION: Load = { textRequestsPerSecond: 10_000, createsPerSecond: 1_000, runningTasks: 100_000 };

function count(value: number): string {
  return value.toLocaleString('en-US');
}

function decimal(value: number, digits = 1): string {
  return value.toFixed(digits);
}

function cores(perSecond: number, cpuMs: number): number {
  return (perSecond * cpuMs) / 1_000;
}

function withRoom(busyCores: number): number {
  return Math.ceil(busyCores / ASSUMED.usableShare);
}

function perDay(perSecond: number, bytes: number): number {
  return (perSecond * bytes * SECONDS_A_DAY) / 1e12;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) console.log(renderTable(ONE_REGION));
