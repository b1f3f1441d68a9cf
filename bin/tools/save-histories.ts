/**
 * Runs every path through the workflows on a real stack and saves the histories in test/histories, which
 * test/workflows/replay.test.ts replays. Run this tool after adding a path. Once a version is released, a change
 * that breaks existing histories needs `patched`, not new histories.
 *
 * Usage: npm run histories [name…] (default: all)
 */
import { mkdir, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { waitUntil } from '../stack/wait-until.ts';
import { TASK_QUEUES } from '../../domain/task-queues.ts';
import { stopTestServices } from '../../test/support/services.ts';
import { createBatch, createBatchOf, readBatch } from '../../test/support/batches.ts';
import { call, startTestStack, type TestStack } from '../../test/support/stack.ts';
import { createTask, taskWhen, taskWhenFinal } from '../../test/support/tasks.ts';
import { finishedVendorTask } from '../../test/support/vendors.ts';
import { type RecordingReceiver, startRecordingReceiver } from '../../test/support/receiver.ts';
import { createWebhookClient } from '../../test/support/webhooks.ts';

const root = resolve(import.meta.dirname, '../..');
const folder = join(root, 'test/histories');
const TIMEOUT_MS = 60_000;
/** Leaves time for all four quick attempts of the webhook schedule. */
const DEADLINE_S = 20;
const ENVIRONMENT = { GENWAY_TASK_DEADLINE_S: String(DEADLINE_S), GENWAY_WEBHOOK_SCHEDULE_S: '0,0.2,0.4,0.6' };

interface Path {
  readonly stack: TestStack;
  readonly apiKey: string;
}

/** Runs one path to its end and returns the workflow's id. */
type RunPath = (path: Path) => Promise<string>;

/** Paths whose decisions differ: the attempts of activities and the number of rounds of a loop are no decisions. */
const PATHS: Readonly<Record<string, RunPath>> = {
  'task-succeeded': ({ stack, apiKey }) => finalTask(stack, apiKey, 'A lighthouse'),
  'task-refused-by-moderation': (path) => directedTask(path, 'reject=content_policy_violation'),
  'task-bad-request': (path) => directedTask(path, 'reject=bad_request'),
  'task-processing-unavailable': (path) => directedTask(path, 'reject=processing_unavailable'),
  'task-processing-failed': (path) => directedTask(path, 'fail=processing_failed'),
  'task-result-transfer-failed': (path) => directedTask(path, 'result=truncated'),
  'task-processing-timeout': (path) => directedTask(path, 'stuck'),
  'task-rendered-while-no-worker-ran': taskRenderedUnnoticed,
  'task-announced-by-the-provider': announcedTask,
  'task-cancelled-while-waiting': cancelledTask,
  'task-cancelled-before-it-began': taskCancelledBeforeItBegan,
  'task-final-before-it-began': taskFinalBeforeItBegan,
  'task-with-webhooks': (path) => taskWithWebhook(path, (response) => response.end()),
  'delivery-delivered': (path) => delivery(path, (response) => response.end()),
  'delivery-never-accepted': (path) => delivery(path, (response) => response.writeHead(503).end()),
  'delivery-of-a-task': deliveryOfATask,
  'delivery-asked-for-again': deliveryAskedForAgain,
  'delivery-that-has-to-wait': deliveryThatHasToWait,
  'batch-completed': batchCompleted,
  'batch-that-waits-for-money': batchThatWaitsForMoney,
  'batch-of-tasks': batchOfTasks,
};

/** With the models and the upstreams of test/fixtures/routes. */
const PATHS_OF_ROUTES: Readonly<Record<string, RunPath>> = {
  'task-rendered-in-the-answer': (path) => picture(path, { model: 'rendered-in-the-answer' }),
  'task-whose-rendered-answer-is-lost': (path) =>
    picture(path, { model: 'rendered-in-the-answer', directives: 'drop_submit' }),
  'task-that-took-its-next-route': (path) => picture(path, { model: 'next-to-one-that-is-away' }),
};

await run(process.argv.slice(2));

async function run(names: readonly string[]): Promise<void> {
  const all = [...Object.keys(PATHS), ...Object.keys(PATHS_OF_ROUTES)];
  const unknown = names.filter((name) => !all.includes(name));
  if (unknown.length > 0) throw new Error(`unknown: ${unknown.join(', ')}; the paths are ${all.join(', ')}`);
  const isAsked = (name: string): boolean => names.length === 0 || names.includes(name);
  try {
    await mkdir(folder, { recursive: true });
    await runPaths(PATHS, isAsked, {});
    await runPaths(PATHS_OF_ROUTES, isAsked, {
      GENWAY_CATALOGUE: join(root, 'test/fixtures/routes/catalogue.yaml'),
      GENWAY_PROVIDERS: join(root, 'test/fixtures/routes/providers.yaml'),
    });
  } finally {
    await stopTestServices();
  }
}

/** Runs paths on a stack of their own, if any is asked for. */
async function runPaths(
  paths: Readonly<Record<string, RunPath>>,
  isAsked: (name: string) => boolean,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const asked = Object.entries(paths).filter(([name]) => isAsked(name));
  if (asked.length === 0) return;
  const stack = await startTestStack({ env: { ...ENVIRONMENT, ...env } });
  try {
    await Promise.all([stack.api.start(), stack.worker.start()]);
    for (const [name, path] of asked) {
      // Each path has its own account, so that no webhook receives events of another path.
      const { apiKey } = await stack.createAccount();
      const workflowId = await path({ stack, apiKey });
      await save(stack, name, workflowId);
      console.log(`${name}: ${workflowId}`);
    }
  } finally {
    await stack.stop();
  }
}

async function save({ temporal }: TestStack, name: string, workflowId: string): Promise<void> {
  const handle = temporal.workflow.getHandle(workflowId);
  await waitUntil(
    async () => {
      if ((await handle.describe()).status.name === 'RUNNING') throw new Error(`${workflowId} has not ended`);
    },
    { timeoutMs: TIMEOUT_MS },
  );
  const json = historyToJSON(await handle.fetchHistory());
  // Removes the folder and the processes of the recording, which would differ each time.
  const anonymous = json.replaceAll(`${root}/`, '').replaceAll(/"\d+@[^"]*"/g, '"recorder"');
  await writeFile(join(folder, `${name}.json`), `${anonymous}\n`);
}

async function finalTask(stack: TestStack, apiKey: string, prompt: string): Promise<string> {
  const { id } = await createTask(stack, apiKey, prompt);
  return (await taskWhenFinal(stack, apiKey, id)).id;
}

async function directedTask({ stack, apiKey }: Path, directive: string): Promise<string> {
  return finalTask(stack, apiKey, `x [sim:${directive}]`);
}

async function batchCompleted({ stack, apiKey }: Path): Promise<string> {
  return (await createBatch(stack, apiKey, ['one', 'two'])).id;
}

async function batchOfTasks({ stack, apiKey }: Path): Promise<string> {
  const body = { model: 'vidone-3.0', prompt: 'A lighthouse', duration: 5 };
  return (await createBatchOf(stack, apiKey, '/v1/videos/tasks', [body])).id;
}

async function batchThatWaitsForMoney({ stack }: Path): Promise<string> {
  const { apiKey, accountId } = await stack.createAccount({ fundedUsd: 0.000_001 });
  const { id } = await createBatch(stack, apiKey, ['one', 'two']);
  await waitUntil(
    async () => {
      const { paused_reason: reason } = await readBatch(stack, apiKey, id);
      if (reason === null) throw new Error(`${id} is not paused`);
    },
    { timeoutMs: TIMEOUT_MS },
  );
  const { status } = await call(`${stack.baseUrl}/admin/v1/accounts/${accountId}/topups`, {
    key: stack.adminToken,
    body: { amount_usd: 5, reference: id },
  });
  if (status !== 201) throw new Error(`the top-up answered ${status}`);
  return id;
}

async function picture({ stack, apiKey }: Path, settings: { model: string; directives?: string }): Promise<string> {
  const { id } = await finishedVendorTask(stack, apiKey, { kind: 'image', ...settings });
  return id;
}

async function announcedTask({ stack, apiKey }: Path): Promise<string> {
  const { id } = await createTask(stack, apiKey, 'x [sim:render_ms=2000]');
  await taskWhen(stack, apiKey, id, 'processing');
  await stack.temporal.workflow.getHandle(id).signal('jobEnded');
  return (await taskWhenFinal(stack, apiKey, id)).id;
}

/** Runs a task whose render ends in time, but whose deadline passes before a worker runs again. */
async function taskRenderedUnnoticed({ stack, apiKey }: Path): Promise<string> {
  const { id } = await createTask(stack, apiKey, 'x [sim:render_ms=5000]');
  await taskWhen(stack, apiKey, id, 'processing');
  await stack.worker.kill();
  await sleep(DEADLINE_S * 1000);
  await stack.worker.start();
  return (await taskWhenFinal(stack, apiKey, id)).id;
}

async function cancelledTask({ stack, apiKey }: Path): Promise<string> {
  const { id } = await createTask(stack, apiKey, 'x [sim:stuck]');
  await taskWhen(stack, apiKey, id, 'processing');
  await stack.temporal.workflow.getHandle(id).cancel();
  return (await taskWhenFinal(stack, apiKey, id)).id;
}

async function taskCancelledBeforeItBegan({ stack, apiKey }: Path): Promise<string> {
  await stack.worker.kill();
  const { id } = await createTask(stack, apiKey, 'x');
  await waitUntil(() => stack.temporal.workflow.getHandle(id).cancel(), { timeoutMs: TIMEOUT_MS });
  await stack.worker.start();
  return (await taskWhenFinal(stack, apiKey, id)).id;
}

async function taskFinalBeforeItBegan({ stack, apiKey }: Path): Promise<string> {
  const taskId = await finalTask(stack, apiKey, 'x');
  const workflowId = `${taskId}-again`;
  await stack.temporal.workflow.execute('mediaTask', {
    workflowId,
    taskQueue: TASK_QUEUES.media,
    args: [{ taskId, deadlineAt: new Date(Date.now() + TIMEOUT_MS).toISOString() }],
  });
  return workflowId;
}

type AnswerReceiver = (response: ServerResponse, number: number) => unknown;

/** Runs a task whose event goes to one endpoint, and waits until the event has arrived. */
async function taskWithWebhook({ stack, apiKey }: Path, answer: AnswerReceiver): Promise<string> {
  return withReceiver(answer, async (receiver) => {
    await createWebhookClient(stack, apiKey).create(receiver.url);
    const taskId = await finalTask(stack, apiKey, 'x');
    await receiver.received(1);
    return taskId;
  });
}

async function withReceiver(
  answer: AnswerReceiver,
  run: (receiver: RecordingReceiver) => Promise<string>,
): Promise<string> {
  const receiver = await startRecordingReceiver(answer);
  try {
    return await run(receiver);
  } finally {
    await receiver.close();
  }
}

/** Runs a delivery to a receiver that answers with `answer`. */
async function delivery({ stack, apiKey }: Path, answer: AnswerReceiver): Promise<string> {
  return withReceiver(answer, async (receiver) => {
    const webhooks = createWebhookClient(stack, apiKey);
    const endpoint = await webhooks.create(receiver.url);
    const { id } = await webhooks.test(endpoint.id);
    await webhooks.deliveryWhen(endpoint.id, id, ({ status }) => status !== 'pending');
    return id;
  });
}

/** A delivery that was started by the task's workflow, not by the relay. */
async function deliveryOfATask(path: Path): Promise<string> {
  const taskId = await taskWithWebhook(path, (response) => response.end());
  const { id } = await path.stack.database('deliveries').where({ task_id: taskId }).first('id');
  return id;
}

/** A delivery to an endpoint that is paused because it did not answer in time. */
async function deliveryThatHasToWait({ stack, apiKey }: Path): Promise<string> {
  const { id } = await createWebhookClient(stack, apiKey).create('https://hooks.example.com/');
  const pausedUntil = new Date(Date.now() + 3_600_000);
  await stack.database('webhook_endpoints').where({ id }).update({ timeouts: 9, paused_until: pausedUntil });
  const taskId = await finalTask(stack, apiKey, 'x');
  return waitUntil(
    async () => {
      const waiting = await stack
        .database('deliveries')
        .where({ task_id: taskId, next_attempt_at: pausedUntil })
        .first();
      if (!waiting) throw new Error('the delivery is not waiting yet');
      return waiting.id;
    },
    { timeoutMs: TIMEOUT_MS },
  );
}

function acceptSecond(response: ServerResponse, number: number): unknown {
  return response.writeHead(number < 2 ? 503 : 200, { 'retry-after': '3600' }).end();
}

/** Runs a delivery, and requests its redelivery while it waits for its next attempt. */
async function deliveryAskedForAgain({ stack, apiKey }: Path): Promise<string> {
  return withReceiver(acceptSecond, async (receiver) => {
    const webhooks = createWebhookClient(stack, apiKey);
    const endpoint = await webhooks.create(receiver.url);
    const { id } = await webhooks.test(endpoint.id);
    await webhooks.deliveryWhen(endpoint.id, id, ({ attempts }) => attempts.length === 1);
    await webhooks.redeliver(endpoint.id, id);
    await webhooks.deliveryWhen(endpoint.id, id, ({ status }) => status === 'delivered');
    return id;
  });
}
