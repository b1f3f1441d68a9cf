/** Sums of usage and transfers equal the sum of the rows at any moment, after late, concurrent and killed writes. */
import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { seedConsole, type SeededKey } from '../../lab/bench/console/seed.ts';
import { REPORT_LIMITS } from '../../db/connections.ts';
import type { Database } from '../../db/database.ts';
import { type DailyUsage, sumDailyUsage } from '../../db/queries/daily-usage.ts';
import { readStatement, type Statement } from '../../db/queries/statements.ts';
import { USAGE_CHECKS } from '../../db/reconciliation/usage-checks.ts';
import { sumUsage } from '../../db/usage-sums.ts';
import { newId } from '../../domain/ids.ts';
import { readSummedTokens, SUMMED_TOKEN_COUNTS, type SummedTokensRow } from '../../domain/text-tokens.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { createFundedKey, createTaskRow, finishAsFailed, finishAsSucceeded } from '../support/factories.ts';
import { checkBooks } from '../support/reconciliation.ts';
import {
  failureOf,
  newFreeHold,
  newHold,
  openTextLedger,
  type TestLedger,
  settlementOf,
} from '../support/text-money.ts';

const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000];

describe('the sums of usage', () => {
  let test: TestDatabase;
  let database: Database;
  let ledger: TestLedger;
  let keys: readonly SeededKey[];

  before(async () => {
    test = await createTestDatabase({ poolSize: 20, limits: REPORT_LIMITS });
    ({ database } = test);
    ledger = openTextLedger(test.url);
    keys = await seedConsole(database, { accounts: 3, tasks: 200, transfers: 1_200 }, () => {});
  });
  after(async () => {
    await ledger.close();
    await test.drop();
  });

  /** Makes everything so far recorded in time, and nothing of the last days summed. */
  async function beginAgain(): Promise<void> {
    await sumUsage(database);
    const before = new Date(Math.floor(Date.now() / DAY_MS - 4) * DAY_MS);
    for (const sums of ['daily_usage', 'daily_transfers']) {
      await database(sums).where('day', '>=', before.toISOString().slice(0, 10)).delete();
    }
    await database('daily_usage_summed').update({ before });
  }

  const summedBefore = async (): Promise<number> =>
    (await database<{ before: Date }>('daily_usage_summed').first())?.before.getTime() ?? 0;

  it('return the same before anything is summed, half-way and at the end', async () => {
    await beginAgain();
    await expectSumsOfRows(database, keys);
    let steps = 0;
    await sumUntil(database, () => (steps += 1) === 60);
    expect(await summedBefore()).to.be.within(Date.now() - 3 * DAY_MS, Date.now() - DAY_MS);
    await expectSumsOfRows(database, keys);
    await sumUsage(database);
    expect(await summedBefore()).to.be.within(Date.now() - 70 * 60_000, Date.now() - 64 * 60_000);
    await expectSumsOfRows(database, keys);
  });

  it('are made once when processes are killed while they sum, and others sum beside them', async () => {
    await beginAgain();
    let steps = 0;
    const killed: boolean[] = [];
    const onStep = (): void => {
      steps += 1;
      if (steps % 15 === 0) void killSummer(test.database).then((isKilled) => killed.push(isKilled));
    };
    await Promise.all([1, 2].map(() => untilItWorks(() => sumUsage(database, { onStep }))));
    expect(killed).to.include(true);
    await expectSumsOfRows(database, keys);
  });

  it('include requests that end long after their start, while other processes read and sum', async () => {
    await beginAgain();
    const summing = sumUsage(database);
    const writing = Array.from({ length: 4 }, async (_, writer) => {
      for (let count = 0; count < 12; count += 1) await writeSomethingOld(database, ledger, keys, writer * 100 + count);
    });
    const all = Promise.all([summing, ...writing]).then(() => 'done');
    while ((await Promise.race([all, expectSumsOfRows(database, keys)])) !== 'done');
    await expectSumsOfRows(database, keys);
    await sumUsage(database);
    expect(await database('late_usage').select()).to.deep.equal([]);
    await expectSumsOfRows(database, keys);
  });

  it('include a request that a process records the day after it started', async () => {
    await sumUsage(database);
    const [key] = keys;
    if (!key) throw new Error('accounts were seeded');
    const hold = newHold(key, { id: newId('textRequest', Date.now() - DAY_MS) });
    await ledger.hold([hold]);
    await ledger.settle([settlementOf(hold)]);
    await expectSumsOfRows(database, keys);
    await sumUsage(database);
    await expectSumsOfRows(database, keys);
  });

  it('leave recent requests to their rows, without a mark', async () => {
    const key = await createFundedKey(database);
    const hold = newHold(key, { id: newId('textRequest', Date.now() - 50 * 60_000) });
    await ledger.hold([hold]);
    await ledger.settle([settlementOf(hold)]);
    await finishAsSucceeded(database, await createTaskRow(database, key));
    expect(await database('late_usage').select()).to.deep.equal([]);
    await sumUsage(database);
    expect(await database('daily_usage').where('account_id', key.accountId)).to.deep.equal([]);
    await expectSumsOfRows(database, [key]);
  });

  it('wait for a transaction that may still write about the time to be summed', async () => {
    const before = await summedBefore();
    const writing = await database.transaction();
    await writing('late_usage').insert({ account_id: 'acc_', day: '2026-01-01' });
    await sumUsage(database, { patienceMs: 0 });
    expect(await summedBefore()).to.equal(before);
    await writing.rollback();
    await sumUsage(database);
    expect(await summedBefore()).to.be.greaterThan(before);
  });

  it('are reported by reconciliation when they are wrong, and corrected when their day is summed again', async () => {
    await sumUsage(database);
    const [key] = keys;
    const day = new Date(Date.now() - 3 * DAY_MS).toISOString().slice(0, 10);
    const theirs = { account_id: key?.accountId, day };
    await database('daily_usage').where(theirs).where('model', 'gpt-seeded').increment('charged', 1);
    const [finding] = await findingsOf(database);
    expect(finding?.subject).to.equal(key?.accountId);
    expect(finding?.detail).to.contain(`text of gpt-seeded by ${key?.id} on ${day}`);
    await database('late_usage').insert(theirs);
    await expectSumsOfRows(database, keys);
    await sumUsage(database);
    await expectSumsOfRows(database, keys);
  });
});

/** Requests of both kinds and of each outcome, at any time of the last weeks. */
async function writeSomethingOld(
  database: Database,
  ledger: TestLedger,
  keys: readonly SeededKey[],
  seed: number,
): Promise<void> {
  const key = keys[seed % keys.length];
  if (!key) throw new Error('accounts were seeded');
  const beganMs = Date.now() - ((seed * 7_919) % (20 * 24)) * HOUR_MS;
  await adjustAt(database, key, new Date(beganMs + randomInt(HOUR_MS)));
  if (seed % 3 === 0) {
    const task = await createTaskRow(database, key, { id: newId('task', beganMs), model: `model-${seed % 2}` });
    await (seed % 2 === 0 ? finishAsSucceeded(database, task) : finishAsFailed(database, task));
    return;
  }
  const id = newId('textRequest', beganMs);
  const hold = seed % 3 === 1 ? newHold(key, { id }) : newFreeHold(key, { id });
  const [refusal] = await ledger.hold([hold]);
  if (refusal) return;
  // At times more than is held.
  const charge = hold.free ? 0n : BigInt(600 + (seed % 5) * 400);
  await ledger.settle([seed % 4 === 0 ? failureOf(hold) : settlementOf(hold, { charge })]);
}

/** A correction of any amount, either way, with a date of its own. */
async function adjustAt(database: Database, { accountId }: SeededKey, at: Date): Promise<void> {
  const [debit, credit] = randomInt(2) === 0 ? ['adjustments', 'available'] : ['available', 'adjustments'];
  await database('transfers').insert({
    id: newId('transfer', at.getTime()),
    opened_at: at,
    created_at: at,
    kind: 'adjustment',
    debit,
    credit,
    amount: `${randomInt(1, 1_000_000)}`,
    account_id: accountId,
    author: 'ada',
    reason: 'a test',
  });
}

/** Sums until `stop` is set, as a process that stops then. */
async function sumUntil(database: Database, stop: () => boolean): Promise<void> {
  const onStep = (): void => {
    if (stop()) throw new Error('the process ends');
  };
  await sumUsage(database, { onStep }).then(
    () => expect.fail('it was not stopped'),
    () => undefined,
  );
}

async function untilItWorks(work: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await work();
    } catch {
      // The process was killed; the next one repeats what it did not commit.
    }
  }
}

/** Ends a session that is in the middle of a step. @returns whether there was one */
async function killSummer(database: Database): Promise<boolean> {
  const { rows } = await database.raw<{ rows: unknown[] }>(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle' AND query LIKE '%daily_usage%'
    LIMIT 1`,
  );
  return rows.length > 0;
}

async function findingsOf(database: Database) {
  return (await checkBooks(database, USAGE_CHECKS)).findings;
}

/** The first and the last, exclusive, of some statements, in days from today. */
const DAYS_OF_STATEMENTS = [
  [0, 1],
  [-1, 0],
  [-30, 1],
  [-12, -3],
  [1, 2],
] as const;

const midnight = (ms: number): Date => new Date(Math.floor(ms / DAY_MS) * DAY_MS);

/** The same sums from the transfers alone, as integers. */
async function plainStatement(
  database: Database,
  { accountId, from, to }: { readonly accountId: string; readonly from: Date; readonly to: Date },
): Promise<Statement> {
  const rows = await database<Record<'kind' | 'debit' | 'credit' | 'amount', string> & { created_at: Date }>(
    'transfers',
  )
    .where('account_id', accountId)
    .where('created_at', '<', to)
    .orderBy('kind');
  const opening = { available: 0n, reserved: 0n };
  const closing = { available: 0n, reserved: 0n };
  const activity = new Map<string, { kind: string; transfers: number; available: bigint; reserved: bigint }>();
  for (const { kind, debit, credit, amount, created_at: at } of rows) {
    const sum = activity.get(kind) ?? { kind, transfers: 0, available: 0n, reserved: 0n };
    if (at >= from) activity.set(kind, { ...sum, transfers: sum.transfers + 1 });
    for (const book of ['available', 'reserved'] as const) {
      const sign = (credit === book ? 1n : 0n) - (debit === book ? 1n : 0n);
      const change = sign * BigInt(amount);
      closing[book] += change;
      const within = activity.get(kind);
      if (at < from) opening[book] += change;
      else if (within) within[book] += change;
    }
  }
  return { opening, activity: [...activity.values()], closing };
}

/** Compares for several periods, which start and end at any time of a day; reconciliation finds nothing. */
async function expectSumsOfRows(database: Database, keys: readonly { readonly accountId: string }[]): Promise<void> {
  const now = Date.now();
  const periods = [
    [now - 30 * DAY_MS, now + DAY_MS],
    [now - 10.3 * DAY_MS, now - 2.7 * DAY_MS],
    [now - 5 * HOUR_MS, now - 0.2 * HOUR_MS],
    [now - 9 * DAY_MS, now - 9 * DAY_MS + HOUR_MS],
  ] as const;
  await database.transaction(
    async (snapshot) => {
      for (const { accountId } of keys) {
        for (const [from, to] of periods) {
          const period = { accountId, from: new Date(from), to: new Date(to) };
          expect(await sumDailyUsage(snapshot, period)).to.deep.equal(await plainSums(snapshot, period));
        }
        for (const [from, to] of DAYS_OF_STATEMENTS) {
          const period = { accountId, from: midnight(now + from * DAY_MS), to: midnight(now + to * DAY_MS) };
          expect(await readStatement(snapshot, period)).to.deep.equal(await plainStatement(snapshot, period));
        }
      }
      expect(await findingsOf(snapshot)).to.deep.equal([]);
    },
    { isolationLevel: 'repeatable read', readOnly: true },
  );
}

type PlainRow = SummedTokensRow &
  Readonly<Record<'date' | 'kind' | 'model' | 'api_key_id' | 'requests' | 'failed' | 'seconds' | 'charged', string>>;

async function plainSums(
  database: Database,
  period: { readonly accountId: string; readonly from: Date; readonly to: Date },
): Promise<readonly DailyUsage[]> {
  const tokens = SUMMED_TOKEN_COUNTS.map(({ column }) => column);
  const { rows } = await database.raw<{ rows: PlainRow[] }>(
    `WITH used AS (
      SELECT created_at, 'text' AS kind, model, api_key_id, outcome = 'failed' AS failed, ${tokens.join(', ')},
        0 AS seconds, charge - absorbed AS charged
      FROM text_requests WHERE account_id = :accountId AND created_at >= :from AND created_at < :to
      UNION ALL
      SELECT created_at, kind, model, api_key_id, status = 'failed', ${tokens.map(() => '0').join(', ')},
        CASE status WHEN 'succeeded' THEN billable_duration_seconds ELSE 0 END,
        CASE status WHEN 'succeeded' THEN price ELSE 0 END
      FROM tasks WHERE account_id = :accountId AND created_at >= :from AND created_at < :to
        AND status IN ('succeeded', 'failed')
    )
    SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS date, kind, model, api_key_id,
      count(*) FILTER (WHERE NOT failed) AS requests, count(*) FILTER (WHERE failed) AS failed,
      ${tokens.map((column) => `sum(${column}) AS ${column}`).join(', ')}, sum(seconds) AS seconds,
      sum(charged) AS charged
    FROM used GROUP BY 1, 2, 3, 4 ORDER BY 1 DESC, 2, 3, 4`,
    period,
  );
  return rows.map((row) => ({
    date: row.date,
    kind: row.kind === 'text' || row.kind === 'image' ? row.kind : 'video',
    model: row.model,
    apiKeyId: row.api_key_id,
    requests: Number(row.requests),
    failed: Number(row.failed),
    ...readSummedTokens((column) => BigInt(row[column])),
    billableSeconds: BigInt(row.seconds),
    charged: BigInt(row.charged),
  }));
}
