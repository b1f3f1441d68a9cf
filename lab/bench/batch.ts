/**
 * Measures a batch of 50,000 requests of 1 kB against the simulator: lines a second, the CPU time of a line and the memory
 * of each process, what a line takes in PostgreSQL and in Temporal's history, and requests of live text while the batch
 * runs, beside those while its worker stands still. Prints a JSON line for each part. `--lines N` runs fewer lines.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { expectAnswer, startUntil } from '../../bin/stack/node-process.ts';
import { findFreePort } from '../../bin/stack/ports.ts';
import { childEnvironment } from '../../config.ts';
import { createDatabase, type Database } from '../../db/database.ts';
import { BATCH_SHAPES } from '../drill/load/batch-shapes.ts';
import { createRandom } from '../drill/random.ts';
import { openAccount } from '../stack/accounts.ts';
import type { Member } from '../stack/member.ts';
import { build } from '../stack/build.ts';
import { startStack } from '../stack/stack.ts';
import { createPlainClient } from './load/plain-client.ts';
import { residentMegabytesOf } from './load/processes.ts';
import { arriveAt } from './load/steady.ts';
import { reportPart } from './report-part.ts';
import { percentile, rounded } from './statistics.ts';
import { cpuTimesBetween, cpuTimesOf } from './task-load/cpu-of-stack.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { values } = parseArgs({ options: { lines: { type: 'string', default: '50000' } } });
const LINES = Number(values.lines);
const WARM_UP_LINES = 1_000;
const LINE_BYTES = 1_024;
const SAMPLE_MS = 1_000;
/** Shorter than the heartbeat timeout of a batch: its worker keeps its lines while it stands still. */
const TURN_SECONDS = 5;
const TURNS = 6;
const TEXT_PER_SECOND = 50;
const LIMIT_MS = 600_000;
const STOP_GRACE_MS = 5_000;

const [shape] = BATCH_SHAPES;
if (shape === undefined) throw new Error('there is no shape of batches');
const home = await mkdtemp(join(tmpdir(), 'genway-bench-batch-'));
/** The vendor of the batch's lines. In the process of the benchmark, its work would delay the text that is measured. */
const vendorPort = await findFreePort();
const vendorUrl = `http://127.0.0.1:${vendorPort}`;
const vendor = await startUntil(() => expectAnswer(vendorUrl), 'bin/simulator.ts', [], {
  env: childEnvironment({ GENWAY_HOME: home, GENWAY_SIMULATOR_PORT: String(vendorPort) }),
  logFile: join(home, 'vendor.log'),
});
const stack = await startStack({
  home,
  built: await build(home),
  processes: { api: 1, text: 1, worker: 1 },
  upstreams: ({ url, apiKey }) => ({
    media: [{ name: 'simulator', protocol: 'http-jobs', base_url: url, api_key: apiKey }],
    text: [
      {
        name: 'simulator',
        base_urls: {
          'chat-completions': `${vendorUrl}/v1`,
          responses: `${vendorUrl}/v1`,
          'generate-content': `${vendorUrl}/v1beta`,
          messages: `${url}/v1`,
        },
        api_key: apiKey,
      },
    ],
  }),
});
const [apiUrl = ''] = stack.apiUrls;
const database = createDatabase(stack.databaseUrl, 2);
const connection = await Connection.connect({ address: stack.temporalAddress });
try {
  const { apiKey } = await openAccount({ apiUrl, adminToken: stack.adminToken }, 1_000_000);
  await whenEnded(await createBatch(apiKey, WARM_UP_LINES));
  await reportPart('batch', () => measureBatch(apiKey));
  await reportPart('text beside a batch', () => measureText(apiKey));
} finally {
  await connection.close();
  await database.destroy();
  await stack.stop();
  await vendor.stop(STOP_GRACE_MS);
  await rm(home, { recursive: true, force: true });
}

async function createBatch(apiKey: string, lines: number): Promise<string> {
  const random = createRandom(lines);
  const prompts = Array.from({ length: lines }, (_, index) => ({ customId: `line-${index}`, prompt: textOf(random) }));
  return shape?.create({ url: apiUrl, apiKey }, prompts) ?? '';
}

/** Words of random letters, which do not compress better than usual text. */
function textOf(random: ReturnType<typeof createRandom>): string {
  let text = '';
  while (text.length < LINE_BYTES - 150) text += `${random.integer(1_000, 99_999_999).toString(36)} `;
  return text;
}

async function whenEnded(id: string, onLook: () => void = () => {}): Promise<void> {
  for (const deadline = performance.now() + LIMIT_MS; performance.now() < deadline; await sleep(SAMPLE_MS)) {
    onLook();
    if ((await findBatch(id)).ended_at !== null) return;
  }
  throw new Error(`${id} has not ended in time`);
}

interface BatchRow {
  readonly id: string;
  readonly in_progress_at: Date | null;
  readonly finalizing_at: Date | null;
  readonly ended_at: Date | null;
  readonly created_at: Date;
  readonly succeeded: number;
}

async function findBatch(id: string): Promise<BatchRow> {
  const row = await database<BatchRow>('batches').where({ id }).first();
  if (row === undefined) throw new Error(`there is no ${id}`);
  return row;
}

async function measureBatch(apiKey: string): Promise<object> {
  const bytesBefore = await bytesOfTables(database);
  const cpuBefore = cpuTimesOf(stack);
  const id = await createBatch(apiKey, LINES);
  const memory = new Map(memoryMembers().map(({ name }) => [name, [] as number[]]));
  await whenEnded(id, () => {
    for (const member of memoryMembers()) memory.get(member.name)?.push(residentMegabytesOf(member.pid()));
  });
  const cpuMs = cpuTimesBetween(cpuBefore, cpuTimesOf(stack), LINES);
  const bytesAfter = await bytesOfTables(database);
  const { created_at, in_progress_at, finalizing_at, ended_at, succeeded } = await findBatch(id);
  const runningSeconds = secondsBetween(in_progress_at, finalizing_at);
  const tables = [...bytesAfter].map(
    ([name, bytes]) => [name, (bytes - (bytesBefore.get(name) ?? 0)) / LINES] as const,
  );
  return {
    lines: LINES,
    succeeded,
    lines_per_second: rounded(LINES / runningSeconds),
    lines_per_second_with_reading_and_files: rounded(LINES / secondsBetween(created_at, ended_at)),
    seconds: [secondsBetween(created_at, in_progress_at), runningSeconds, secondsBetween(finalizing_at, ended_at)],
    cpu_ms_per_line: cpuMs,
    memory_mb: Object.fromEntries([...memory].map(([name, samples]) => [name, describeMemory(samples)])),
    postgres_bytes_per_line: rounded(
      tables.reduce((sum, [, bytes]) => sum + bytes, 0),
      0,
    ),
    postgres_bytes_per_line_by_table: Object.fromEntries(
      tables.filter(([, bytes]) => bytes >= 1).map(([name, bytes]) => [name, rounded(bytes, 0)]),
    ),
    history_bytes_per_line: rounded((await historyBytesOf(id)) / LINES, 2),
  };
}

function secondsBetween(from: Date | null, to: Date | null): number {
  return rounded(((to?.getTime() ?? 0) - (from?.getTime() ?? 0)) / 1_000);
}

function memoryMembers(): readonly Member[] {
  return stack.members.filter(({ role }) => role !== 'postgres');
}

/** The memory after each tenth of the time. */
function describeMemory(samples: readonly number[]): readonly number[] {
  return Array.from({ length: 10 }, (_, tenth) =>
    rounded(samples[Math.floor(((tenth + 1) * samples.length) / 10) - 1] ?? 0, 0),
  );
}

/** The bytes of each table with its indexes. */
async function bytesOfTables(of: Database): Promise<ReadonlyMap<string, number>> {
  const { rows } = await of.raw<{ rows: { name: string; bytes: string }[] }>(/* sql */ `
    SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1`);
  return new Map(rows.map(({ name, bytes }) => [name, Number(bytes)]));
}

/** The size of the histories of all runs. */
async function historyBytesOf(workflowId: string): Promise<number> {
  const temporal = new Client({ connection });
  let bytes = 0;
  for await (const { runId } of temporal.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
    const { historySize } = await temporal.workflow.getHandle(workflowId, runId).describe();
    bytes += historySize ?? 0;
  }
  return bytes;
}

/** The worker stands still in every second turn. */
async function measureText(apiKey: string): Promise<object> {
  const id = await createBatch(apiKey, LINES);
  const url = `${stack.textUrls.get('text-1') ?? ''}/v1/chat/completions`;
  const messages = [{ role: 'user', content: 'Say exactly: hello' }];
  const body = JSON.stringify({ model: 'texti-k3', messages });
  const client = createPlainClient({ url, headers: { authorization: `Bearer ${apiKey}` }, body });
  const worker = stack.members.find(({ role }) => role === 'worker');
  const latencies = { beside: [] as number[], alone: [] as number[] };
  const measure = async (): Promise<readonly number[]> => {
    const answers = await arriveAt(TEXT_PER_SECOND, TURN_SECONDS, () => client.send());
    const refused = answers.find(({ result }) => result !== 200);
    if (refused !== undefined) throw new Error(`a text request was refused with ${refused.result}`);
    return answers.map(({ latencyMs }) => latencyMs);
  };
  let isBeside = true;
  await measure();
  for (let turn = 0; turn < TURNS && isBeside; turn += 1) {
    const frozen = worker?.freeze(TURN_SECONDS * 1_000);
    latencies.alone.push(...(await measure()));
    await frozen;
    latencies.beside.push(...(await measure()));
    isBeside = (await findBatch(id)).finalizing_at === null;
  }
  client.close();
  const p99 = { beside: percentile(latencies.beside, 0.99), alone: percentile(latencies.alone, 0.99) };
  await whenEnded(id);
  return {
    requests_each: latencies.alone.length,
    p50_ms: rounded(percentile(latencies.beside, 0.5)),
    p50_alone_ms: rounded(percentile(latencies.alone, 0.5)),
    p99_ms: rounded(p99.beside),
    p99_alone_ms: rounded(p99.alone),
    ratio_of_p99: rounded(p99.beside / p99.alone, 2),
  };
}
