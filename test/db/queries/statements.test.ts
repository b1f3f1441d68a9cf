import { expect } from 'chai';
import { seedConsole } from '../../../lab/bench/console/seed.ts';
import { REPORT_LIMITS } from '../../../db/connections.ts';
import { STATEMENT } from '../../../db/queries/statements.ts';
import { useTestDatabase } from '../../support/database.ts';
import { countRowsRead } from '../../support/query-plan.ts';

describe('db/queries/statements', () => {
  const test = useTestDatabase({ limits: REPORT_LIMITS });

  it('read only those transfers of a busy account that are in no sum yet', async () => {
    const { database } = test;
    const [key] = await seedConsole(database, { accounts: 2, tasks: 0, transfers: 60_000 }, () => {});
    const accountId = key?.accountId ?? '';
    const times = await database('transfers').where('account_id', accountId).pluck<Date[]>('created_at');
    const last = new Date(Math.max(...times.map(Number)));
    // As the sweep leaves it, an hour or so behind.
    const before = new Date(last.getTime() - 3_600_000);
    await database('daily_usage_summed').update({ before });
    const unsummed = times.filter((time) => time >= before).length;
    expect(unsummed).to.be.within(1, 100);
    const read = await countRowsRead(database, 'transfers_', STATEMENT, {
      accountId,
      from: new Date(last.getTime() - 86_400_000),
      to: new Date(last.getTime() + 86_400_000),
    });
    // A month that holds a few pages, because it began or ended within the days that are filled, is read from end to end.
    expect(read).to.be.within(unsummed, times.length / 20);
  });
});
