/**
 * `genway recover`, after PostgreSQL was restored to an earlier moment, Temporal was lost, or both: see "Backup
 * and restore" in docs/backup.md. It can be interrupted and run again at any point.
 */
import { Client, Connection } from '@temporalio/client';
import { pino } from 'pino';
import type { RecoveryConfig, TemporalConfig } from '../config.ts';
import { REPORT_LIMITS } from '../db/connections.ts';
import { createDatabase, type Database } from '../db/database.ts';
import { pendingMigrations } from '../db/migrate.ts';
import { findUnfinishedBatches, makeBatchesDue } from '../db/queries/batch-runs.ts';
import { findNewestTaskTime } from '../db/queries/recovery.ts';
import type { FileLookup } from '../db/reconciliation/check.ts';
import { findMissingResults, findMissingUploads, tasksWithFiles } from '../db/reconciliation/missing-files.ts';
import { connectionOptions } from '../services/tasks/temporal-connection.ts';
import { DELIVERY_DECISIONS, recoverDeliveries } from '../services/tasks/recovery/recover-deliveries.ts';
import { recoverTasks, TASK_DECISIONS } from '../services/tasks/recovery/recover-tasks.ts';
import { cancelOrphanedJobs } from '../services/tasks/recovery/orphaned-jobs.ts';
import {
  findUnknownWorkflows,
  terminateUnknown,
  type UnknownWorkflow,
} from '../services/tasks/recovery/unknown-workflows.ts';
import { createWorkflowAccess } from '../services/tasks/workflow-access.ts';
import { CommandError } from './command/admin-client.ts';
import { openStorage } from './parts/storage.ts';

export interface RecoveryOptions {
  /** Change nothing, only print what would be done. */
  readonly isDryRun: boolean;
  /** Terminate workflows that have no row; otherwise only list them. */
  readonly canTerminateUnknown: boolean;
  /** Checks final workflows only if they started after this moment; by default, after the newest task was created. */
  readonly since?: Date;
  /** Look for files of tasks created since then; null for no files. */
  readonly filesSince: Date | null;
}

export interface RecoveryDependencies {
  readonly database: Database;
  readonly client: Client;
  readonly files: FileLookup;
}

/** Receives the report, line by line. */
export type Print = (line: string) => void;

const PROGRESS_EVERY = 1_000;
const CONNECTIONS = 20;
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Opens the database, Temporal and the store for `work`, and closes them afterwards.
 *
 * @throws CommandError if the database or Temporal cannot be reached or is not ready for use
 */
export async function withRecovery(
  config: RecoveryConfig,
  work: (dependencies: RecoveryDependencies) => Promise<void>,
): Promise<void> {
  const database = createDatabase(config.database.url, CONNECTIONS, REPORT_LIMITS);
  const connection = Connection.lazy({ ...connectionOptions(config.temporal), connectTimeout: CONNECT_TIMEOUT_MS });
  try {
    const client = new Client({ connection, namespace: config.temporal.namespace });
    const files = await openStorage(config, pino({ level: 'silent' }));
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
    throw new CommandError(
      `The database lacks the migrations ${pending.join(', ')}. Run \`node dist/bin/migrate.js\` first.`,
    );
  }
  await client.connection
    .withDeadline(Date.now() + CONNECT_TIMEOUT_MS, () => client.workflowService.describeNamespace({ namespace }))
    .catch((error: Error) => {
      throw new CommandError(
        `Temporal at ${address} cannot describe the namespace ${namespace} (${error.message}). ` +
          'Start it, and create the namespace if it was lost: see "Temporal namespace" in docs/deployment.md.',
      );
    });
}

/**
 * Handles every task, delivery and workflow that is not final, and looks for missing files.
 *
 * @throws ServiceError `processing_unavailable` if Temporal stops answering; the work done until then remains
 */
export async function recover(
  dependencies: RecoveryDependencies,
  options: RecoveryOptions,
  print: Print,
): Promise<void> {
  if (options.isDryRun) print('dry run: nothing is changed');
  // Read before any task is restarted.
  const since = options.since ?? (await findNewestTaskTime(dependencies.database)) ?? new Date(0);
  await handleTasks(dependencies, options, print);
  await handleOrphanedJobs(dependencies, options, print);
  await handleDeliveries(dependencies, options, print);
  await handleBatches(dependencies, options, print);
  await handleUnknown(dependencies, { ...options, since }, print);
  if (options.filesSince !== null) await checkFiles(dependencies, options.filesSince, print);
}

async function handleTasks({ database, client }: RecoveryDependencies, { isDryRun }: RecoveryOptions, print: Print) {
  const tally = createTally(TASK_DECISIONS);
  const workflows = createWorkflowAccess(client);
  for await (const { taskId, decision } of recoverTasks({ database, client, workflows }, isDryRun)) {
    tally.count(decision);
    if (decision !== 'running' && decision !== 'waiting') print(`${taskId}  ${TASK_DECISIONS[decision]}`);
    if (tally.total() % PROGRESS_EVERY === 0) print(`… ${tally.total()} tasks checked`);
  }
  tally.summary('unfinished tasks', print);
}

async function handleOrphanedJobs(
  { database, client }: RecoveryDependencies,
  { isDryRun }: RecoveryOptions,
  print: Print,
) {
  let count = 0;
  for await (const taskId of cancelOrphanedJobs(
    { database, client, workflows: createWorkflowAccess(client) },
    isDryRun,
  )) {
    count += 1;
    print(`${taskId}  its job is cancelled at the provider: the task failed, and no workflow says that it was`);
  }
  print(`jobs cancelled of tasks that failed: ${count}`);
}

async function handleDeliveries(
  { database, client }: RecoveryDependencies,
  { isDryRun }: RecoveryOptions,
  print: Print,
) {
  const tally = createTally(DELIVERY_DECISIONS);
  const workflows = createWorkflowAccess(client);
  for await (const { deliveryId, decision } of recoverDeliveries({ database, workflows }, isDryRun)) {
    tally.count(decision);
    if (decision === 'revived') print(`${deliveryId}  ${DELIVERY_DECISIONS[decision]}`);
    if (tally.total() % PROGRESS_EVERY === 0) print(`… ${tally.total()} deliveries checked`);
  }
  tally.summary('pending deliveries', print);
}

/** The relay starts workflows, which has no effect on those that run. */
async function handleBatches({ database }: RecoveryDependencies, { isDryRun }: RecoveryOptions, print: Print) {
  const ids = await findUnfinishedBatches(database);
  if (!isDryRun) await makeBatchesDue(database, ids);
  for (const id of ids) print(`${id}  to be started again, unless its workflow is running`);
}

async function handleUnknown(
  { database, client }: RecoveryDependencies,
  { isDryRun, canTerminateUnknown, since }: RecoveryOptions & { readonly since: Date },
  print: Print,
) {
  let open = 0;
  let over = 0;
  for await (const workflow of findUnknownWorkflows({ client, database }, since)) {
    if (workflow.isOpen) open += 1;
    else over += 1;
    print(`${workflow.id}  ${describeUnknown(workflow)}`);
    if (workflow.isOpen && canTerminateUnknown && !isDryRun) await terminateUnknown(client, workflow);
  }
  const ended = canTerminateUnknown ? ', now terminated' : '; --terminate-unknown terminates them';
  print(`workflows unknown to the database: ${open + over}`);
  if (open > 0) print(`  ${open} open${ended}`);
  if (over > 0) print(`  ${over} ended: their charges and refunds are lost with their rows`);
}

function describeUnknown({ isOpen, accountId, model, startedAt, outcome }: UnknownWorkflow): string {
  const whose = [accountId && `of ${accountId}`, model && `with ${model}`].filter(Boolean).join(' ');
  const state = isOpen ? 'is open' : `ended as ${outcome}`;
  return `unknown to the database: began ${startedAt.toISOString()} ${whose}, ${state}`;
}

async function checkFiles({ database, files }: RecoveryDependencies, since: Date, print: Print) {
  let checked = 0;
  let missing = 0;
  const onChecked = (): void => {
    checked += 1;
    if (checked % PROGRESS_EVERY === 0) print(`… ${checked} files checked`);
  };
  const searches = [
    findMissingResults(tasksWithFiles(database, since), files, onChecked),
    findMissingUploads(database, files, onChecked),
  ];
  for (const search of searches) {
    for await (const { subject, detail } of search) {
      missing += 1;
      print(`${subject}  ${detail}`);
    }
  }
  print(`files checked: ${checked}, missing: ${missing}`);
}

function createTally<Decision extends string>(decisions: Readonly<Record<Decision, string>>) {
  const counts = new Map<string, number>();
  const total = (): number => [...counts.values()].reduce((sum, count) => sum + count, 0);
  return {
    count: (decision: Decision) => void counts.set(decision, (counts.get(decision) ?? 0) + 1),
    total,
    summary: (what: string, print: Print) => {
      print(`${what}: ${total()}`);
      for (const [decision, meaning] of Object.entries<string>(decisions)) {
        const count = counts.get(decision) ?? 0;
        if (count > 0) print(`  ${count} ${meaning}`);
      }
    },
  };
}
