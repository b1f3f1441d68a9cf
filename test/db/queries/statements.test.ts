import { expect } from 'chai';
import { seedConsole } from '../../../lab/bench/console/seed.ts';
import { REPORT_LIMITS } from '../../../db/connections.ts';
import { STATEMENT } from '../../../db/queries/statements.ts';
import { useTestDatabase } from '../../support/database.ts';
import { countRowsRead } from '../../support/query-plan.ts';

describe('statements', () => {
  const test = useTestDatabase({ limits: REPORT_LIMITS });

  it('read only the transfers of a busy account that are not summed yet', async () => {
    const { database } = test;
    const [key] = await seedConsole(database, { accounts: 2, tasks: 0, transfers: 15_000 }, () => {});
    const accountId = key?.accountId ?? '';
    const times = await database('transfers').where('account_id', accountId).pluck<Date[]>('created_at');
    const last = new Date(Math.max(...times.map(Number)));
    // The sums that the sweep leaves, an hour or so behind.
    const before = new Date(last.getTime() - 3_600_000);
    await database('daily_usage_summed').update({ before });
    const unsummed = times.filter((time) => time >= before).length;
    expect(unsummed).to.be.within(1, 100);
    const read = await countRowsRead(database, 'transfers_', STATEMENT, {
      accountId,
      from: new Date(last.getTime() - 86_400_000),
      to: new Date(last.getTime() + 86_400_000),
    });
    // A month with few pages, because it started or ended within the filled days, is read sequentially.
    expect(read).to.be.within(unsummed, times.length / 20);
  });
});
