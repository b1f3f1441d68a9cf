/**
 * What `genway recover` does after PostgreSQL was restored to an older moment, after Temporal was lost, or both: see "Backup and
 * restore" in docs/operations.md. Each pass may be interrupted and made again.
 */
import { Client, Connection } from '@temporalio/client';
import { pino } from 'pino';
import type { RecoveryConfig, TemporalConfig } from '../config.ts';
import { REPORT_LIMITS } from '../db/connections.ts';
import { createDatabase, type Database } from '../db/database.ts';
import { pendingMigrations } from '../db/migrate.ts';
import { findNewestTaskTime } from '../db/queries/recovery.ts';
import type { FileLookup } from '../db/reconciliation/check.ts';
import { findMissingResults, findMissingUploads, tasksWithFiles } from '../db/reconciliation/missing-files.ts';
import { connectionOptions } from '../temporal/connection.ts';
import { DELIVERY_FATES, recoverDeliveries } from '../temporal/recovery/recover-deliveries.ts';
import { recoverTasks, TASK_FATES } from '../temporal/recovery/recover-tasks.ts';
import {
  findUnknownWorkflows,
  terminateUnknown,
  type UnknownWorkflow,
} from '../temporal/recovery/unknown-workflows.ts';
import { createWorkflowAccess } from '../temporal/workflow-access.ts';
import { CommandError } from './command/admin-client.ts';
import { openStorage } from './parts/storage.ts';

export interface RecoveryOptions {
  /** Only say what would be done. */
  readonly isDryRun: boolean;
  /** Terminate workflows that have no row; otherwise they are only named. */
  readonly terminatesUnknown: boolean;
  /** Of workflows that are over, those are looked at that began after this; after the newest task when absent. */
  readonly since?: Date;
  /** Files of tasks created from then on are looked for; null: no files. */
  readonly filesSince: Date | null;
}

export interface RecoveryDependencies {
  readonly database: Database;
  readonly client: Client;
  readonly files: FileLookup;
}

/** Where the report goes, line by line. */
export type Print = (line: string) => void;

const PROGRESS_EVERY = 1_000;
const CONNECTIONS = 20;
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Opens what is needed, and closes it again.
 *
 * @throws CommandError when the database or Temporal is not there, or not as it must be
 */
export async function withRecovery(
  config: RecoveryConfig,
  work: (dependencies: RecoveryDependencies) => Promise<void>,
): Promise<void> {
  const database = createDatabase(config.database.url, CONNECTIONS, REPORT_LIMITS);
  const connection = Connection.lazy({ ...connectionOptions(config.temporal), connectTimeout: CONNECT_TIMEOUT_MS });
  try {
    const client = new Client({ connection, namespace: config.temporal.namespace });
    const files = openStorage(config, pino({ level: 'silent' }));
    await checkStores(database, client, config.temporal);
    await work({ database, client, files });
  } finally {
    await connection.close();
    await database.destroy();
  }
}

async function checkStores(database: Database, client: Client, { address, namespace }: TemporalConfig): Promise<void> {
  const pending = await pendingMigrations(database);
  if (pending.length > 0) {
    throw new CommandError(`The database lacks ${pending.join(', ')}. Run \`node dist/bin/migrate.js\` first.`);
  }
  await client.connection
    .withDeadline(Date.now() + CONNECT_TIMEOUT_MS, () => client.workflowService.describeNamespace({ namespace }))
    .catch((error: Error) => {
      throw new CommandError(
        `Temporal at ${address} does not tell about the namespace ${namespace} (${error.message}). ` +
          'Start it, and make the namespace if it was lost: see "Temporal namespace" in docs/operations.md.',
      );
    });
}

/**
 * Sees to every task, delivery and workflow that is not over, and looks for the files.
 *
 * @throws ServiceError `processing_unavailable` when Temporal stops to answer; what was done until then stays
 */
export async function recover(
  dependencies: RecoveryDependencies,
  options: RecoveryOptions,
  print: Print,
): Promise<void> {
  if (options.isDryRun) print('a dry run: this is what would be done');
  // Before anything begins anew.
  const since = options.since ?? (await findNewestTaskTime(dependencies.database)) ?? new Date(0);
  await seeToTasks(dependencies, options, print);
  await seeToDeliveries(dependencies, options, print);
  await seeToUnknown(dependencies, { ...options, since }, print);
  if (options.filesSince !== null) await lookForFiles(dependencies, options.filesSince, print);
}

async function seeToTasks({ database, client }: RecoveryDependencies, { isDryRun }: RecoveryOptions, print: Print) {
  const tally = createTally(TASK_FATES);
  const workflows = createWorkflowAccess(client);
  for await (const { taskId, fate } of recoverTasks({ database, workflows }, isDryRun)) {
    tally.count(fate);
    if (fate !== 'running' && fate !== 'waiting') print(`${taskId}  ${TASK_FATES[fate]}`);
    if (tally.total() % PROGRESS_EVERY === 0) print(`… ${tally.total()} tasks looked at`);
  }
  tally.summary('tasks that were not over', print);
}

async function seeToDeliveries(
  { database, client }: RecoveryDependencies,
  { isDryRun }: RecoveryOptions,
  print: Print,
) {
  const tally = createTally(DELIVERY_FATES);
  const workflows = createWorkflowAccess(client);
  for await (const { deliveryId, fate } of recoverDeliveries({ database, workflows }, isDryRun)) {
    tally.count(fate);
    if (fate === 'revived') print(`${deliveryId}  ${DELIVERY_FATES[fate]}`);
    if (tally.total() % PROGRESS_EVERY === 0) print(`… ${tally.total()} deliveries looked at`);
  }
  tally.summary('deliveries under way', print);
}

async function seeToUnknown(
  { database, client }: RecoveryDependencies,
  { isDryRun, terminatesUnknown, since }: RecoveryOptions & { readonly since: Date },
  print: Print,
) {
  let open = 0;
  let over = 0;
  for await (const workflow of findUnknownWorkflows({ client, database }, since)) {
    if (workflow.isOpen) open += 1;
    else over += 1;
    print(`${workflow.id}  ${describeUnknown(workflow)}`);
    if (workflow.isOpen && terminatesUnknown && !isDryRun) await terminateUnknown(client, workflow);
  }
  const ended = terminatesUnknown ? ', and terminated' : '; --terminate-unknown ends them';
  print(`workflows that the database has never heard of: ${open + over}`);
  if (open > 0) print(`  ${open} open${ended}`);
  if (over > 0) print(`  ${over} over: what they did to money is lost with their rows`);
}

function describeUnknown({ isOpen, accountId, model, startedAt, outcome }: UnknownWorkflow): string {
  const whose = [accountId && `of ${accountId}`, model && `with ${model}`].filter(Boolean).join(' ');
  const state = isOpen ? 'is open' : `ended as ${outcome}`;
  return `unknown to the database: began ${startedAt.toISOString()} ${whose}, ${state}`;
}

async function lookForFiles({ database, files }: RecoveryDependencies, since: Date, print: Print) {
  let looked = 0;
  let missing = 0;
  const onLooked = (): void => {
    looked += 1;
    if (looked % PROGRESS_EVERY === 0) print(`… ${looked} files looked for`);
  };
  const searches = [
    findMissingResults(tasksWithFiles(database, since), files, onLooked),
    findMissingUploads(database, files, onLooked),
  ];
  for (const search of searches) {
    for await (const { subject, detail } of search) {
      missing += 1;
      print(`${subject}  ${detail}`);
    }
  }
  print(`files looked for: ${looked}, of which ${missing} are gone`);
}

/** Counts what was done about how many. */
function createTally<Fate extends string>(fates: Readonly<Record<Fate, string>>) {
  const counts = new Map<string, number>();
  const total = (): number => [...counts.values()].reduce((sum, count) => sum + count, 0);
  return {
    count: (fate: Fate) => void counts.set(fate, (counts.get(fate) ?? 0) + 1),
    total,
    summary: (what: string, print: Print) => {
      print(`${what}: ${total()}`);
      for (const [fate, meaning] of Object.entries<string>(fates)) {
        const count = counts.get(fate) ?? 0;
        if (count > 0) print(`  ${count} ${meaning}`);
      }
    },
  };
}
