/**
 * Fills a database with accounts, final tasks and completed text requests, and the transfers of each.
 *
 * The rows are written in large sets, without the triggers and foreign keys that check each row or move balances.
 * This file writes their effects itself: the balances, the usage of keys, the sums of transfers, and the marks of days
 * whose usage has to be summed again. Reconciliation finds nothing.
 */
import { randomBytes } from 'node:crypto';
import type { Database } from '../../../db/database.ts';
import { insertAccount } from '../../../db/queries/accounts.ts';
import { insertApiKey } from '../../../db/queries/api-keys.ts';
import { topUp } from '../../../db/queries/credits.ts';
import { recordRateCards } from '../../../db/queries/rate-cards.ts';
import { CHANGE, CHARGES } from '../../../db/ledger-sql.ts';
import { sumTransfersWhere } from '../../../db/queries/daily-transfers.ts';
import { ensurePartitions } from '../../../db/partitions.ts';
import { newId } from '../../../domain/ids.ts';
import { parseUsd } from '../../../domain/money.ts';
import { completeRates } from '../../../domain/pricing.ts';

export interface Amounts {
  readonly accounts: number;
  readonly tasks: number;
  /** Each task and each text request has two: the hold, and its resolution. */
  readonly transfers: number;
}

export interface SeededKey {
  readonly id: string;
  readonly accountId: string;
}

const BATCH = 20_000;
const DAY_MS = 86_400_000;
/** The number of days that the rows are spread over, so that months and charts have data. */
const DAYS = 25;
const TASK_PRICE = parseUsd(0.5);
const TEXT_HELD = parseUsd(0.02);
const CATALOGUE = 'seeded';
const TEXT_MODELS = ['gpt-seeded', 'claude-seeded', 'qwen-seeded'];
const VIDEO_MODELS = ['vidone-3.0', 'vidone-3.0-fast'];
const [INPUT_TOKENS, OUTPUT_TOKENS] = [1_200, 300];
const RATES = completeRates({
  input: 500_000n,
  cachedInput: 50_000n,
  cacheWrite: 500_000n,
  cacheWrite1h: 1_000_000n,
  output: 3_000_000n,
});
const TEXT_CHARGE = BigInt(INPUT_TOKENS) * RATES.input + BigInt(OUTPUT_TOKENS) * RATES.output;
const FUNDED = parseUsd(1_000_000);
/** One of this many fails; not a divisor of the number that selects accounts, so that every account has some. */
const FAILURES = 21;
/** One of this many names an end user, of this many end users. */
const NAMED = 4;
const END_USERS = 1_000;

/**
 * Fills a database without customers.
 *
 * @param database as a superuser, who may bypass triggers, and with the limits of reports
 * @returns the keys of the accounts; the first account made a fifth of everything
 */
export async function seedConsole(
  database: Database,
  { accounts, tasks, transfers }: Amounts,
  report: (line: string) => void,
): Promise<readonly SeededKey[]> {
  const pricing = { rates: RATES, tiers: [], peaks: [] };
  const cards = TEXT_MODELS.map(
    (model) => ({ version: CATALOGUE, model, kind: 'text', family: 'seeded', pricing }) as const,
  );
  await recordRateCards(database, cards);
  await ensurePartitions(database, new Date(Date.now() - DAYS * DAY_MS));
  const keys = await database.transaction(async (transaction) => {
    const made: SeededKey[] = [];
    for (let count = 0; count < accounts; count += 1) made.push(await seedAccount(transaction, count));
    return made;
  });
  const texts = Math.max(0, Math.floor(transfers / 2) - tasks);
  await inBatches(database, { keys, total: tasks, what: 'tasks', report, sql: INSERT_TASKS });
  await inBatches(database, { keys, total: texts, what: 'text requests', report, sql: INSERT_TEXTS });
  await pastTriggers(database, async (transaction) => {
    await transaction.raw(MOVE_BALANCES);
    await transaction.raw(MOVE_KEYS);
    await transaction.raw(MARK_USAGE);
    await transaction.raw(SUM_TRANSFERS);
  });
  await database.raw('VACUUM (ANALYZE) tasks, transfers, text_requests');
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

interface Seeding {
  readonly keys: readonly SeededKey[];
  readonly total: number;
  readonly what: string;
  readonly report: (line: string) => void;
  /** Inserts everything of a batch of orders. */
  readonly sql: string;
}

async function inBatches(database: Database, { keys, total, what, report, sql }: Seeding): Promise<void> {
  const startedAt = Date.now();
  for (let from = 0; from < total; from += BATCH) {
    const orders = ordersOf(keys, { from, to: Math.min(from + BATCH, total), total });
    await pastTriggers(database, (transaction) => transaction.raw(sql, { ...VALUES, orders: JSON.stringify(orders) }));
  }
  report(`${total} ${what} in ${Math.round((Date.now() - startedAt) / 1000)} s`);
}

/** An event of some account at some time; in order of time, as in production. */
function ordersOf(keys: readonly SeededKey[], { from, to, total }: { from: number; to: number; total: number }) {
  const beganMs = Date.now() - DAYS * DAY_MS;
  return Array.from({ length: to - from }, (_, index) => {
    const number = from + index;
    const key = keys[number % 5 === 0 ? 0 : number % keys.length];
    if (!key) throw new Error('there are no accounts to seed');
    const atMs = Math.floor(beganMs + (number / total) * DAYS * DAY_MS);
    return {
      account_id: key.accountId,
      api_key_id: key.id,
      at: new Date(atMs),
      // Ids without their prefix: related rows share them.
      id: bareId(atMs),
      resolution_id: bareId(atMs + 1),
      video_model: VIDEO_MODELS[number % VIDEO_MODELS.length],
      text_model: TEXT_MODELS[number % TEXT_MODELS.length],
      failed: number % FAILURES === 1,
      end_user: number % NAMED === 0 ? `user-${number % END_USERS}` : null,
    };
  });
}

function bareId(atMs: number): string {
  return newId('transfer', atMs).slice('tr_'.length);
}

/** This file writes balances and related rows instead. */
function pastTriggers(database: Database, work: (transaction: Database) => Promise<unknown>): Promise<void> {
  return database.transaction(async (transaction) => {
    await transaction.raw('SET LOCAL session_replication_role = replica');
    await work(transaction);
  });
}

const VALUES = {
  price: TASK_PRICE.toString(),
  held: TEXT_HELD.toString(),
  charge: TEXT_CHARGE.toString(),
  inputTokens: INPUT_TOKENS,
  outputTokens: OUTPUT_TOKENS,
  catalogue: CATALOGUE,
};

const ORDERS = /* sql */ `
  orders AS MATERIALIZED (
    SELECT * FROM json_to_recordset(:orders) AS item(account_id text, api_key_id text, at timestamptz(3), id text,
      resolution_id text, video_model text, text_model text, failed boolean, end_user text)
  ), ending AS (
    SELECT * FROM (VALUES (false, 'settlement', 'revenue'), (true, 'refund', 'available')) AS by(failed, kind, credit)
  )`;

const INSERT_TASKS = /* sql */ `
  WITH ${ORDERS}, reserved AS (
    INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, account_id, api_key_id, task_id)
    SELECT 'tr_' || id, at, at, 'reservation', 'available', 'reserved', :price, account_id, api_key_id, 'task_' || id
    FROM orders
  ), resolved AS (
    INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, pending_id, account_id, api_key_id,
      task_id)
    SELECT 'tr_' || resolution_id, at, at + interval '40 seconds', kind, 'reserved', credit, :price, 'tr_' || id,
      account_id, api_key_id, 'task_' || id
    FROM orders JOIN ending USING (failed)
  )
  INSERT INTO tasks (id, created_at, account_id, api_key_id, kind, model, capability_version, provider, request, price,
    billable_duration_seconds, request_id, status, reservation_id, resolution_id, deadline_at, workflow_started_at,
    taken_up_at, next_start_at, output, error_code, error_message, updated_at, completed_at, end_user)
  SELECT 'task_' || id, at, account_id, api_key_id, 'video', video_model, 1, 'simulator',
    jsonb_build_object('kind', 'video', 'prompt', 'A red kite over the sea, with long shadows', 'durationSeconds', 5,
      'routes', jsonb_build_array(jsonb_build_object('provider', 'simulator', 'model', video_model))),
    :price, 5, 'req_' || id, CASE WHEN failed THEN 'failed' ELSE 'succeeded' END, 'tr_' || id, 'tr_' || resolution_id,
    at + interval '30 minutes', at, at, at,
    CASE WHEN NOT failed THEN jsonb_build_array(jsonb_build_object('type', 'video', 'mimeType', 'video/mp4',
      'url', 'https://files.test/task_' || id || '.mp4')) END,
    CASE WHEN failed THEN 'processing_failed' END, CASE WHEN failed THEN 'It could not be rendered. Try again.' END,
    at + interval '40 seconds', at + interval '40 seconds', end_user
  FROM orders`;

const INSERT_TEXTS = /* sql */ `
  WITH ${ORDERS}, taken AS (
    INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, account_id, api_key_id, allowance_id)
    SELECT 'tr_' || id, at, at, 'allowance', 'available', 'reserved', :charge, account_id, api_key_id, 'alw_' || id
    FROM orders WHERE NOT failed
  ), charged AS (
    INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, account_id, api_key_id,
      text_request_id, allowance_id)
    SELECT 'tr_' || resolution_id, at + interval '2 seconds', at + interval '2 seconds', 'charge', 'reserved', 'revenue',
      :charge, account_id, api_key_id, 'txt_' || id, 'alw_' || id
    FROM orders WHERE NOT failed
  )
  INSERT INTO text_requests (id, created_at, account_id, api_key_id, request_id, model, format, streamed, upstream,
    upstream_format, upstream_model, outcome, error_code, catalogue_version, input_tokens, cache_read_tokens,
    cache_write_tokens, cache_write_1h_tokens, output_tokens, estimated, held, charge, excess, absorbed, latency_ms,
    first_byte_ms, end_user)
  SELECT 'txt_' || id, at, account_id, api_key_id, 'req_' || id, text_model, 'chat-completions', true, 'simulator',
    'chat-completions', text_model, CASE WHEN failed THEN 'failed' ELSE 'succeeded' END,
    CASE WHEN failed THEN 'processing_failed' END, :catalogue, :inputTokens, 0, 0, 0, :outputTokens, false, :held,
    CASE WHEN failed THEN 0 ELSE CAST(:charge AS numeric) END, 0, 0, 2000, 300, end_user
  FROM orders`;

/** The sum of the transfers of each account, as `move_balances` keeps it. Nothing seeded is promo credit. */
const MOVE_BALANCES = /* sql */ `
  UPDATE accounts SET funded_available = moved.available, funded_reserved = moved.reserved
  FROM (SELECT account_id, sum(${CHANGE.available}) AS available, sum(${CHANGE.reserved}) AS reserved
    FROM transfers GROUP BY account_id HAVING sum(signup_amount) = 0) AS moved
  WHERE accounts.id = moved.account_id AND accounts.name LIKE 'Seeded %'`;

const MOVE_KEYS = /* sql */ `
  UPDATE api_keys SET used = moved.used, reserved = moved.reserved
  FROM (SELECT api_key_id, sum(${CHANGE.reserved}) AS reserved,
      sum(${CHANGE.reserved} + CASE WHEN kind IN ${CHARGES} THEN amount ELSE 0 END) AS used
    FROM transfers WHERE api_key_id IS NOT NULL GROUP BY api_key_id) AS moved
  WHERE api_keys.id = moved.api_key_id AND api_keys.name = 'seeded'`;

/** As `mark_late_usage` does for a request that is recorded long after it started. */
const MARK_USAGE = /* sql */ `
  INSERT INTO late_usage SELECT account_id, (created_at AT TIME ZONE 'UTC')::date
  FROM (SELECT account_id, created_at FROM tasks UNION ALL SELECT account_id, created_at FROM text_requests) AS started
  GROUP BY 1, 2`;

const SUM_TRANSFERS = /* sql */ `
  INSERT INTO daily_transfers ${sumTransfersWhere('created_at < (SELECT before FROM daily_usage_summed)')}
  ON CONFLICT (account_id, day, kind) DO UPDATE SET transfers = EXCLUDED.transfers, available = EXCLUDED.available,
    reserved = EXCLUDED.reserved`;
