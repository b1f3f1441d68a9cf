/**
 * How fast media tasks are created and finished, compared with the best that the Temporal server could do: a bare workflow of four
 * empty activities on the same server, in the same run. Prints one JSON line. Everything runs on this machine: the clients,
 * api, worker, simulator, PostgreSQL (with its usual durability) and the Temporal development server (in memory).
 */
import { join } from 'node:path';
import { cpus } from 'node:os';
import { Client, Connection } from '@temporalio/client';
import { Agent, request } from 'undici';
import { childEnvironment } from '../config.ts';
import { createDatabase } from '../db/database.ts';
import { openAccount } from './stack/accounts.ts';
import { startNode } from './stack/node-process.ts';
import { startStack } from './stack/stack.ts';
import { mean, percentile, rounded } from './statistics.ts';

const CLIENTS = 32;
const TASKS = 200;
const ROUNDS = 2;
const BARE_WORKFLOWS = 100;
const STARTS_AT_ONCE = 8;
const CEILING_QUEUE = 'ceiling';
const TIMEOUT_MS = 180_000;

// What is cut short must not leave its servers behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const stack = await startStack({
  processes: { api: 1, text: 0, worker: 1 },
  settings: { GENWAY_MAX_CONCURRENT_TASKS: '1000000', GENWAY_POLL_MS: '2000' },
});
const [apiUrl = ''] = stack.apiUrls;
const database = createDatabase(stack.databaseUrl, 2);
const connection = await Connection.connect({ address: stack.temporalAddress });
const temporal = new Client({ connection });
const agent = new Agent({ connections: CLIENTS });
try {
  const { apiKey } = await openAccount({ apiUrl, adminToken: stack.adminToken }, 10_000);
  await createTasks(apiKey, 20);
  await allFinal();
  const rounds = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const ceiling = await measureCeiling();
    rounds.push({ ceiling, ...(await measureTasks(apiKey)) });
  }
  report(rounds);
} finally {
  await agent.close();
  await connection.close();
  await database.destroy();
  await stack.stop();
}

interface Round {
  readonly ceiling: number;
  readonly createsPerSecond: number;
  readonly createMs: readonly number[];
  readonly finishedPerSecond: number;
}

async function measureTasks(apiKey: string): Promise<Omit<Round, 'ceiling'>> {
  const startedAt = performance.now();
  const createMs = await createTasks(apiKey, TASKS);
  const createsPerSecond = TASKS / seconds(startedAt);
  await allFinal();
  return { createsPerSecond, createMs, finishedPerSecond: TASKS / seconds(startedAt) };
}

/** @returns how long each create call took */
async function createTasks(apiKey: string, count: number): Promise<number[]> {
  let left = count;
  const durations: number[] = [];
  const client = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const startedAt = performance.now();
      const { statusCode, body } = await request(`${apiUrl}/v1/videos/tasks`, {
        method: 'POST',
        dispatcher: agent,
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'vidone-3.0', prompt: 'A lighthouse [sim:render_ms=100]', duration: 2 }),
      });
      const text = await body.text();
      if (statusCode !== 201) throw new Error(`a create call was refused: ${text}`);
      durations.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return durations;
}

async function allFinal(): Promise<void> {
  await until(async () => {
    const rows = await database('tasks').whereIn('status', ['queued', 'processing']).count('* as running');
    return Number(rows[0]?.['running']) === 0;
  });
}

async function measureCeiling(): Promise<number> {
  const { namespace } = temporal.options;
  const worker = await startNode('bench/ceiling/worker.ts', [stack.temporalAddress, namespace, CEILING_QUEUE], {
    env: childEnvironment({}),
    logFile: join(stack.home, 'ceiling.log'),
  });
  try {
    await runBare(10);
    const startedAt = performance.now();
    await runBare(BARE_WORKFLOWS);
    return BARE_WORKFLOWS / seconds(startedAt);
  } finally {
    await worker.stop(10_000);
  }
}

async function runBare(count: number): Promise<void> {
  const started: Promise<unknown>[] = [];
  let left = count;
  const starter = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const handle = await temporal.workflow.start('bare', {
        workflowId: `bare-${crypto.randomUUID()}`,
        taskQueue: CEILING_QUEUE,
      });
      started.push(handle.result());
    }
  };
  await Promise.all(Array.from({ length: STARTS_AT_ONCE }, starter));
  await Promise.all(started);
}

function report(rounds: readonly Round[]): void {
  const createMs = rounds.flatMap((round) => round.createMs);
  const finished = mean(rounds.map((round) => round.finishedPerSecond));
  const ceiling = mean(rounds.map((round) => round.ceiling));
  console.log(
    JSON.stringify({
      creates_per_second: rounded(mean(rounds.map((round) => round.createsPerSecond))),
      create_p50_ms: rounded(percentile(createMs, 0.5)),
      create_p99_ms: rounded(percentile(createMs, 0.99)),
      tasks_finished_per_second: rounded(finished),
      ceiling_per_second: rounded(ceiling),
      share_of_ceiling: rounded(finished / ceiling, 2),
      clients: CLIENTS,
      tasks: TASKS * rounds.length,
      cores: cpus().length,
    }),
  );
}

async function until(isReached: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (!(await isReached())) {
    if (performance.now() > deadline) throw new Error('the tasks did not finish in time');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function seconds(since: number): number {
  return (performance.now() - since) / 1000;
}
