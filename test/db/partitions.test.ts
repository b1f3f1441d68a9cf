import { expect } from 'chai';
import { pino } from 'pino';
import { startRelay } from '../../services/tasks/relay.ts';
import type { Database } from '../../db/database.ts';
import { sumTransfersWhere } from '../../db/queries/daily-transfers.ts';
import { readStatement, type Statement } from '../../db/queries/statements.ts';
import { detachMonth, ensurePartitions, listMonths } from '../../db/partitions.ts';
import { findTask } from '../../db/queries/tasks.ts';
import { reconcile } from '../../db/reconciliation/reconcile.ts';
import { newId } from '../../domain/ids.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { eventually } from '../support/eventually.ts';
import { useTestDatabase } from '../support/database.ts';
import {
  createFundedKey,
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  reloadAccount,
  type TestKey,
} from '../support/factories.ts';
import { NOTHING_OUTSIDE } from '../support/reconciliation.ts';
import { rejectionOf } from '../support/rejection.ts';
import { NO_STARTER } from '../support/starter.ts';

const DAY_MS = 86_400_000;
const NOW = new Date();
/** The middle of the month this many months ago. */
const middleOf = (monthsAgo: number): Date =>
  new Date(Date.UTC(NOW.getUTCFullYear(), NOW.getUTCMonth() - monthsAgo, 14));
const nameOf = (time: Date): string => time.toISOString().slice(0, 7);
const OLD_TIME = middleOf(8);
const OLD = nameOf(OLD_TIME);

describe('the partitions of months', () => {
  let database: Database;
  let key: TestKey;
  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  before(async () => {
    await ensurePartitions(database, OLD_TIME);
    key = await createFundedKey(database);
  });

  async function topUpIn(time: Date): Promise<void> {
    const id = newId('transfer', time.getTime());
    await database.transaction(async (transaction) => {
      await transaction('top_ups').insert({
        account_id: key.accountId,
        reference: id,
        amount: '5000000000000',
        transfer_id: id,
        created_at: time,
      });
      await transaction('transfers').insert({
        id,
        opened_at: time,
        created_at: time,
        kind: 'topup',
        debit: 'payments',
        credit: 'available',
        amount: '5000000000000',
        account_id: key.accountId,
        reference: id,
      });
    });
  }

  async function findings(): Promise<string[]> {
    const report = await reconcile(database, NOTHING_OUTSIDE);
    return report.findings.map(({ check, detail }) => `${check}: ${detail}`);
  }

  /** Runs the step of the sweep, as if it ran an hour later. */
  async function sumTransfersSoFar(): Promise<void> {
    await database.raw(
      `INSERT INTO daily_transfers ${sumTransfersWhere('created_at >= (SELECT before FROM daily_usage_summed)')}`,
    );
    await database.raw(
      `UPDATE daily_usage_summed SET before = (SELECT max(created_at) + interval '1 millisecond' FROM transfers)`,
    );
  }

  /** The sums of the day before, the day itself, the day after, and the rest. */
  async function statementsAround(time: Date): Promise<readonly Statement[]> {
    const day = Math.floor(time.getTime() / DAY_MS);
    const ends = [day - 1, day, day + 1, day + 2, Math.floor(Date.now() / DAY_MS) + 1];
    const [, ...read] = await Promise.all(
      ends.map((end, index) =>
        readStatement(database, {
          accountId: key.accountId,
          from: new Date((ends[index - 1] ?? end - 1) * DAY_MS),
          to: new Date(end * DAY_MS),
        }),
      ),
    );
    return read;
  }

  async function months(): Promise<string[]> {
    return (await listMonths(database)).map(({ month }) => month);
  }

  it('detach an old month with its transfers, and every balance stays unchanged', async () => {
    await topUpIn(OLD_TIME);
    const oldTask = () => createTaskRow(database, key, { id: newId('task', OLD_TIME.getTime()) });
    const succeeded = await oldTask();
    await finishAsSucceeded(database, succeeded);
    const failed = await oldTask();
    await finishAsFailed(database, failed);
    const { message } = await rejectionOf(detachMonth(database, OLD));
    expect(message).to.match(/^transfers of .* are not in the sums of their days yet/);
    await sumTransfersSoFar();
    const young = await createTaskRow(database, key);
    await finishAsSucceeded(database, young);
    const account = await reloadAccount(database, { id: key.accountId });
    expect(await findings()).to.deep.equal([]);
    const statements = await statementsAround(OLD_TIME);
    expect(statements[1]?.activity).to.not.deep.equal([]);

    await detachMonth(database, OLD);

    expect(await months()).to.not.include(OLD);
    expect(await reloadAccount(database, { id: key.accountId })).to.deep.equal(account);
    expect(await findings()).to.deep.equal([]);
    expect(await statementsAround(OLD_TIME), 'its days are summed').to.deep.equal(statements);
    // An id names the month that a lookup reads, which is detached.
    expect(await findTask(database, succeeded.id)).to.equal(null);
    expect((await findTask(database, young.id))?.id).to.equal(young.id);
    const kept = await database(`tasks_${OLD.replace('-', '_')}`).pluck('id');
    expect(kept).to.have.members([succeeded.id, failed.id]);
  });

  it('can be dropped once they are detached', async () => {
    for (const table of ['transfers', 'tasks', 'text_requests']) {
      await database.schema.dropTable(`${table}_${OLD.replace('-', '_')}`);
    }
    expect(await findings()).to.deep.equal([]);
    await createTaskRow(database, key).then((task) => finishAsSucceeded(database, task));
    expect(await findings()).to.deep.equal([]);
  });

  it('still show damage to a balance when some of its transfers are missing', async () => {
    const { rows } = await database.raw<{ rows: { month: string }[] }>(
      'SELECT DISTINCT month::text FROM carried_balances',
    );
    expect(rows).to.deep.equal([{ month: `${OLD}-01` }]);
    await database.transaction(async (transaction) => {
      await transaction.raw('ALTER TABLE carried_balances DISABLE TRIGGER USER');
      await transaction('carried_balances').increment('funded_available', 1);
      await transaction.raw('ALTER TABLE carried_balances ENABLE TRIGGER USER');
    });
    const found = (await findings()).map((finding) => finding.split(':')[0]);
    expect(found).to.deep.equal(['account_balances', 'daily_transfers']);
    await database.transaction(async (transaction) => {
      await transaction.raw('ALTER TABLE carried_balances DISABLE TRIGGER USER');
      await transaction('carried_balances').decrement('funded_available', 1);
      await transaction.raw('ALTER TABLE carried_balances ENABLE TRIGGER USER');
    });
    expect(await findings()).to.deep.equal([]);
  });

  it('stay attached while one of their tasks holds its price', async () => {
    const held = nameOf(middleOf(7));
    await createTaskRow(database, key, { id: newId('task', middleOf(7).getTime()) });
    const { message } = await rejectionOf(detachMonth(database, held));
    expect(message).to.equal(`money of ${held} is still held`);
    expect(await months()).to.include(held);
  });

  it('stay attached until two months after their end', async () => {
    for (const monthsAgo of [-1, 0, 1, 2]) {
      const month = nameOf(middleOf(monthsAgo));
      const { message } = await rejectionOf(detachMonth(database, month));
      expect(message).to.equal(`the month ${month} is too young`);
    }
  });

  it('are detached once, and only by the names of months', async () => {
    expect((await rejectionOf(detachMonth(database, OLD))).message).to.equal(`the month ${OLD} is not attached`);
    for (const month of ['2026-13', '2026', 'tasks', "2026-01'"]) {
      expect((await rejectionOf(detachMonth(database, month))).name, month).to.equal('MonthError');
    }
  });

  it('are created for the coming months by every api process, without a migration', async () => {
    const coming = nameOf(middleOf(-3));
    expect(await months()).not.to.include(coming);
    const relay = startRelay({
      database,
      starter: NO_STARTER,
      deliveryStarter: { startDue: async () => 0 },
      batchStarter: { startDue: async () => 0 },
      workflows: {
        isReachable: async () => false,
        describe: async () => null,
        read: async () => null,
        readEnding: async () => null,
        cancel: async () => false,
        cancelByCustomer: async () => null,
      },
      metrics: createMetrics(),
      log: pino({ level: 'silent' }),
    });
    await eventually(async () => (await months()).includes(coming));
    await relay.stop();
  });
});
