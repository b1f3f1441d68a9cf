import { expect } from 'chai';
import { REPORT_LIMITS } from '../../db/connections.ts';
import { createDatabase } from '../../db/database.ts';
import { ensurePartitions, PARTITIONED_TABLES } from '../../db/partitions.ts';
import { topUp } from '../../db/queries/credits.ts';
import { newId } from '../../domain/ids.ts';
import { useTestDatabase, whenOneWaitsForLock } from '../support/database.ts';
import { createFundedKey, createTaskRow, finishAsSucceeded } from '../support/factories.ts';
import { runsAll } from '../support/properties.ts';
import { newHold, openTextLedger, settlementOf } from '../support/text-money.ts';

const THIS_YEAR = new Date().getUTCFullYear();
const FUTURE_YEARS = Array.from({ length: runsAll ? 6 : 2 }, (_, index) => THIS_YEAR + 2 + index);

describe('the tables of new months', () => {
  const testDatabase = useTestDatabase();

  it('are created while other months are read and written', async () => {
    const { database, url } = testDatabase;
    const key = await createFundedKey(database, 1_000);
    const ledger = openTextLedger(url);
    const writers = [
      async () => {
        const hold = newHold(key);
        expect((await ledger.hold([hold]))[0]).to.include({ refusal: null });
        await ledger.settle([settlementOf(hold)]);
      },
      async () => void (await finishAsSucceeded(database, await createTaskRow(database, key))),
      () => topUp(database, { accountId: key.accountId, amount: 1n, reference: newId('transfer') }),
    ];
    const reports = createDatabase(url, 1, REPORT_LIMITS);
    const over = new AbortController();
    const writing = Promise.all(
      writers.map(async (write) => {
        while (!over.signal.aborted) await write();
      }),
    );
    try {
      await reports.transaction(async (report) => {
        for (const table of PARTITIONED_TABLES) await report(table).count();
        for (const year of FUTURE_YEARS) await ensurePartitions(database, new Date(Date.UTC(year, 0, 14)));
      });
    } finally {
      over.abort();
      await Promise.allSettled([writing]);
      await reports.destroy();
    }
    await writing;
    await ledger.close();
  });

  it('cause no deadlock with a transaction that locks their tables in another order', async () => {
    const { database } = testDatabase;
    await createFundedKey(database);
    const insertingKey = await database.transaction();
    await insertingKey.raw('LOCK TABLE api_keys IN ROW EXCLUSIVE MODE');
    const creating = ensurePartitions(database, new Date(Date.UTC(THIS_YEAR + 9, 0, 14)));
    await whenOneWaitsForLock(database);
    await insertingKey.raw('SELECT FROM accounts FOR KEY SHARE');
    await Promise.all([insertingKey.commit(), creating]);
  });
});
