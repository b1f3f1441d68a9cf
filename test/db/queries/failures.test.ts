/** Lists and sums of failures skip rows that cannot match. */
import { expect } from 'chai';
import { seedConsole, type SeededKey } from '../../../lab/bench/console/seed.ts';
import { REPORT_LIMITS } from '../../../db/connections.ts';
import type { Database } from '../../../db/database.ts';
import { sumRefunds } from '../../../db/queries/statements.ts';
import { listTextUsage } from '../../../db/queries/usage.ts';
import { sumUsage } from '../../../db/usage-sums.ts';
import { newId } from '../../../domain/ids.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { createTaskRow, finishAsFailed } from '../../support/factories.ts';
import { newHold, openTextLedger, type TestLedger, settlementOf } from '../../support/text-money.ts';

const DAY_MS = 86_400_000;

describe('lists and sums of rare rows', () => {
  let test: TestDatabase;
  let database: Database;
  let ledger: TestLedger;
  let key: SeededKey;

  before(async () => {
    test = await createTestDatabase({ limits: REPORT_LIMITS });
    ({ database } = test);
    ledger = openTextLedger(test.url);
    const [first] = await seedConsole(database, { accounts: 3, tasks: 100, transfers: 600 }, () => {});
    if (!first) throw new Error('accounts were seeded');
    key = first;
    await sumUsage(database);
  });
  after(async () => {
    await ledger.close();
    await test.drop();
  });

  /** A request of that model, this many days ago. @returns its id */
  async function use(model: string, days: number): Promise<string> {
    const hold = newHold(key, { model, id: newId('textRequest', Date.now() - days * DAY_MS) });
    await ledger.hold([hold]);
    await ledger.settle([settlementOf(hold)]);
    return hold.id;
  }

  const idsOf = async (filter: { readonly model: string; readonly accountId?: string; readonly before?: string }) =>
    (await listTextUsage(database, { ...filter, limit: 100 })).map(({ id }) => id);

  it('list the requests of a model, whether they are summed, late or new', async () => {
    expect(await idsOf({ model: 'rare' })).to.deep.equal([]);
    const old = await use('rare', 9);
    expect(await idsOf({ model: 'rare' })).to.deep.equal([old]);
    await sumUsage(database);
    expect(await idsOf({ model: 'rare' })).to.deep.equal([old]);
    const older = await use('rare', 20);
    const latest = await use('rare', 0);
    for (const accountId of [undefined, key.accountId]) {
      const whose = accountId === undefined ? {} : { accountId };
      expect(await idsOf({ model: 'rare', ...whose })).to.deep.equal([latest, old, older]);
      expect(await idsOf({ model: 'rare', before: latest, ...whose })).to.deep.equal([old, older]);
    }
    expect(await idsOf({ model: 'rare', accountId: newId('account') })).to.deep.equal([]);
  });

  it('list every request of a model that is used every day', async () => {
    const rows = await database('text_requests')
      .where('model', 'gpt-seeded')
      .orderBy('id', 'desc')
      .limit(100)
      .select('id');
    expect(await idsOf({ model: 'gpt-seeded' })).to.deep.equal(rows.map(({ id }) => id));
  });

  it('add up refunds by cause as the rows do', async () => {
    await finishAsFailed(database, await createTaskRow(database, key));
    for (const filter of [{}, { accountId: key.accountId }, { from: new Date(Date.now() - 9 * DAY_MS) }]) {
      const sums = await sumRefunds(database, filter);
      expect(sums.map(({ cause, refunds, amount }) => [cause, refunds, amount])).to.deep.equal(
        await plainSums(database, filter),
      );
    }
    const causes = (await sumRefunds(database, { from: new Date(Date.now() - DAY_MS) })).map(({ cause }) => cause);
    expect(causes).to.include('processing_failed');
  });
});

async function plainSums(
  database: Database,
  { accountId, from }: { readonly accountId?: string; readonly from?: Date },
): Promise<readonly (readonly [string | null, number, bigint])[]> {
  const { rows } = await database.raw<{ rows: { cause: string | null; refunds: string; amount: string }[] }>(
    `SELECT task.error_code AS cause, count(*) AS refunds, sum(refund.amount) AS amount
    FROM transfers AS refund LEFT JOIN tasks AS task ON task.id = refund.task_id
    WHERE refund.kind = 'refund' AND refund.account_id = coalesce(:accountId, refund.account_id)
      AND refund.created_at >= coalesce(:from, to_timestamp(0)) GROUP BY 1 ORDER BY 3 DESC, 1`,
    { accountId: accountId ?? null, from: from ?? null },
  );
  return rows.map(({ cause, refunds, amount }) => [cause, Number(refunds), BigInt(amount)] as const);
}
