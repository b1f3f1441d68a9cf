/**
 * Fills a database with accounts, tasks and text requests that have ended, and the transfers of each: through the tables'
 * own triggers, so that the books are consistent by construction.
 */
import { randomBytes } from 'node:crypto';
import type { Database } from '../../db/database.ts';
import { insertAccount } from '../../db/queries/accounts.ts';
import { insertApiKey } from '../../db/queries/api-keys.ts';
import { topUp } from '../../db/queries/credits.ts';
import { recordRateCards } from '../../db/queries/rate-cards.ts';
import { newId } from '../../domain/ids.ts';
import { parseUsd } from '../../domain/money.ts';

export interface Amounts {
  readonly accounts: number;
  readonly tasks: number;
  /** Each task and each text request has two: what was held, and what became of it. */
  readonly transfers: number;
}

export interface SeededKey {
  readonly id: string;
  readonly accountId: string;
}

const BATCH = 2_000;
/** Statistics are taken early and again and again: without them, triggers look for rows in whole indexes. */
const FIRST_BATCH = 300;
const ANALYZE_EVERY = 20_000;
/** Prime, so that every time is met once, in no order: the first batch is of all months. */
const STRIDE = 7_919;
const DAY_MS = 86_400_000;
/** Spread over so many days, so that months and charts have something to show. */
const DAYS = 25;
const TASK_PRICE = parseUsd(0.5);
const TEXT_HELD = parseUsd(0.02);
const [TEXT_MODEL, CATALOGUE] = ['gpt-seeded', 'seeded'];
const [INPUT_TOKENS, OUTPUT_TOKENS] = [1_200, 300];
const RATES = { input: 500_000n, cachedInput: 50_000n, cacheWrite: 500_000n, output: 3_000_000n };
const TEXT_CHARGE = BigInt(INPUT_TOKENS) * RATES.input + BigInt(OUTPUT_TOKENS) * RATES.output;
const FUNDED = parseUsd(1_000_000);
/** One of so many fails. */
const FAILURES = 20;

/** @returns the keys of the accounts; the first one made a fifth of everything */
export async function seedConsole(
  database: Database,
  { accounts, tasks, transfers }: Amounts,
  report: (line: string) => void,
): Promise<readonly SeededKey[]> {
  const pricing = { rates: RATES, tiers: [], peaks: [] };
  await recordRateCards(database, [{ version: CATALOGUE, model: TEXT_MODEL, kind: 'text', pricing }]);
  const keys: SeededKey[] = [];
  for (let count = 0; count < accounts; count += 1) keys.push(await seedAccount(database, count));
  const texts = Math.max(0, Math.floor(transfers / 2) - tasks);
  await inBatches(database, tasks, 'tasks', report, (from, to) => seedTasks(database, spread(keys, from, to, tasks)));
  await inBatches(database, texts, 'text requests', report, (from, to) =>
    seedTexts(database, spread(keys, from, to, texts)),
  );
  await database.raw('ANALYZE tasks, transfers, text_requests');
  return keys;
}

async function seedAccount(database: Database, count: number): Promise<SeededKey> {
  const accountId = newId('account');
  const name = `Seeded ${count + 1}`;
  await insertAccount(database, { id: accountId, name, email: `seeded-${count + 1}@example.com` });
  await topUp(database, { accountId, amount: FUNDED, reference: 'seeded' });
  const id = newId('apiKey');
  const settings = { name: 'seeded' };
  await insertApiKey(database, { id, accountId, digest: randomBytes(32), pepperMark: '', hint: 'sk-…', settings });
  return { id, accountId };
}

async function inBatches(
  database: Database,
  total: number,
  what: string,
  report: (line: string) => void,
  seed: (from: number, to: number) => Promise<void>,
): Promise<void> {
  const startedAt = Date.now();
  const first = Math.min(FIRST_BATCH, total);
  await seed(0, first);
  await database.raw('ANALYZE tasks, transfers, text_requests');
  for (let from = first; from < total; from += BATCH) {
    await seed(from, Math.min(from + BATCH, total));
    if (Math.floor(from / ANALYZE_EVERY) !== Math.floor((from + BATCH) / ANALYZE_EVERY))
      await database.raw('ANALYZE tasks, transfers, text_requests');
  }
  report(`${total} ${what} in ${Math.round((Date.now() - startedAt) / 1000)} s`);
}

/** Something that happened at some time, for some account. */
interface Order {
  readonly key: SeededKey;
  readonly atMs: number;
  readonly isFailed: boolean;
}

function spread(keys: readonly SeededKey[], from: number, to: number, total: number): readonly Order[] {
  const beganMs = Date.now() - DAYS * DAY_MS;
  return Array.from({ length: to - from }, (_, index) => {
    const number = from + index;
    const key = keys[number % 5 === 0 ? 0 : number % keys.length];
    if (!key) throw new Error('there are no accounts to seed');
    return {
      key,
      atMs: Math.floor(beganMs + (((number * STRIDE) % total) / total) * DAYS * DAY_MS),
      isFailed: number % FAILURES === 1,
    };
  });
}

async function seedTasks(database: Database, orders: readonly Order[]): Promise<void> {
  const tasks = orders.map((order) => ({
    ...order,
    id: newId('task', order.atMs),
    reservationId: newId('transfer', order.atMs),
    resolutionId: newId('transfer', order.atMs + 1),
  }));
  await inTransaction(database, async (transaction) => {
    const transfer = ({ key, id, atMs }: (typeof tasks)[number]) => ({
      ...transferOf(key, atMs, TASK_PRICE),
      task_id: id,
    });
    await insertAll(
      transaction,
      'transfers',
      tasks.map((task) => ({ ...transfer(task), ...RESERVATION, id: task.reservationId })),
    );
    await insertAll(transaction, 'tasks', tasks.map(taskRow));
    await insertAll(
      transaction,
      'transfers',
      tasks.map((task) => ({
        ...transfer(task),
        ...(task.isFailed ? REFUND : SETTLEMENT),
        id: task.resolutionId,
        pending_id: task.reservationId,
        created_at: new Date(task.atMs + 40_000),
      })),
    );
    await transaction.raw(
      /* sql */ `
      UPDATE tasks SET status = ending.status, resolution_id = ending.resolution_id, output = ending.output,
        error_code = ending.error_code, error_message = ending.error_message,
        completed_at = tasks.created_at + interval '40 seconds', updated_at = tasks.created_at + interval '40 seconds'
      FROM json_populate_recordset(NULL::tasks, ?::json) AS ending
      WHERE tasks.id = ending.id AND tasks.created_at = ending.created_at`,
      [JSON.stringify(tasks.map(endingRow))],
    );
  });
}

interface SeededTask extends Order {
  readonly id: string;
  readonly reservationId: string;
  readonly resolutionId: string;
}

function taskRow({ id, atMs, key, reservationId }: SeededTask) {
  const at = new Date(atMs);
  return {
    id,
    created_at: at,
    account_id: key.accountId,
    api_key_id: key.id,
    kind: 'video',
    model: 'vidone-3.0',
    capability_version: 1,
    provider: 'simulator',
    request: {
      kind: 'video',
      prompt: 'A red kite over the sea, with long shadows',
      durationSeconds: 5,
      routes: [{ provider: 'simulator', model: 'vidone-3.0' }],
    },
    price: TASK_PRICE.toString(),
    billable_duration_seconds: 5,
    request_id: newId('request', atMs),
    status: 'queued',
    reservation_id: reservationId,
    deadline_at: new Date(atMs + 1_800_000),
    workflow_started_at: at,
    taken_up_at: at,
    start_attempts: 1,
    next_start_at: at,
    updated_at: at,
  };
}

function endingRow({ id, atMs, isFailed, resolutionId }: SeededTask) {
  const ending = isFailed
    ? { status: 'failed', error_code: 'processing_failed', error_message: 'It could not be rendered. Try again.' }
    : { status: 'succeeded', output: [{ type: 'video', url: `https://files.test/${id}.mp4`, mimeType: 'video/mp4' }] };
  return { id, created_at: new Date(atMs), resolution_id: resolutionId, ...ending };
}

async function seedTexts(database: Database, orders: readonly Order[]): Promise<void> {
  const requests = orders.map((order) => ({
    ...order,
    id: newId('textRequest', order.atMs),
    reservationId: newId('transfer', order.atMs),
  }));
  await inTransaction(database, async (transaction) => {
    const transfer = ({ key, id, atMs }: (typeof requests)[number], amount: bigint) => ({
      ...transferOf(key, atMs, amount),
      text_request_id: id,
    });
    await insertAll(
      transaction,
      'transfers',
      requests.map((request) => ({ ...transfer(request, TEXT_HELD), ...RESERVATION, id: request.reservationId })),
    );
    await insertAll(
      transaction,
      'transfers',
      requests.map((request) => ({
        ...transfer(request, request.isFailed ? TEXT_HELD : TEXT_CHARGE),
        ...(request.isFailed ? REFUND : { ...SETTLEMENT, released: (TEXT_HELD - TEXT_CHARGE).toString() }),
        id: newId('transfer', request.atMs + 1),
        pending_id: request.reservationId,
        created_at: new Date(request.atMs + 2_000),
      })),
    );
    await insertAll(transaction, 'text_requests', requests.map(textRow));
  });
}

function textRow({ id, atMs, key, reservationId, isFailed }: Order & { id: string; reservationId: string }) {
  return {
    id,
    created_at: new Date(atMs),
    account_id: key.accountId,
    api_key_id: key.id,
    request_id: newId('request', atMs),
    model: TEXT_MODEL,
    format: 'chat-completions',
    streamed: true,
    upstream: 'simulator',
    upstream_format: 'chat-completions',
    upstream_model: TEXT_MODEL,
    outcome: isFailed ? 'failed' : 'succeeded',
    error_code: isFailed ? 'processing_failed' : null,
    catalogue_version: CATALOGUE,
    input_tokens: INPUT_TOKENS,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    output_tokens: OUTPUT_TOKENS,
    estimated: false,
    held: TEXT_HELD.toString(),
    charge: isFailed ? '0' : TEXT_CHARGE.toString(),
    excess: '0',
    absorbed: '0',
    reservation_id: reservationId,
    opened_at: new Date(atMs),
    latency_ms: 2_000,
    first_byte_ms: 300,
  };
}

/** In which rows are found by index. */
function inTransaction(database: Database, work: (transaction: Database) => Promise<void>): Promise<void> {
  return database.transaction(async (transaction) => {
    await transaction.raw('SET LOCAL enable_seqscan = off');
    await work(transaction);
  });
}

const RESERVATION = { kind: 'reservation', debit: 'available', credit: 'reserved' };
const SETTLEMENT = { kind: 'settlement', debit: 'reserved', credit: 'revenue' };
const REFUND = { kind: 'refund', debit: 'reserved', credit: 'available' };

/** What transfers of one chain have in common. */
function transferOf({ id, accountId }: SeededKey, atMs: number, amount: bigint) {
  const at = new Date(atMs);
  return {
    opened_at: at,
    created_at: at,
    amount: amount.toString(),
    signup_amount: '0',
    released: '0',
    released_signup: '0',
    account_id: accountId,
    api_key_id: id,
  };
}

/** In one statement, however many there are. Columns that rows do not have are null. */
async function insertAll(
  database: Database,
  table: 'tasks' | 'text_requests' | 'transfers',
  rows: readonly object[],
): Promise<void> {
  await database.raw(`INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, ?::json)`, [
    JSON.stringify(rows),
  ]);
}
