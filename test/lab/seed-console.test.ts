import { expect } from 'chai';
import { seedConsole } from '../../lab/bench/console/seed.ts';
import { REPORT_LIMITS } from '../../db/connections.ts';
import { reconcile } from '../../db/reconciliation/reconcile.ts';
import { useTestDatabase } from '../support/database.ts';
import { NOTHING_OUTSIDE } from '../support/reconciliation.ts';

describe('the seed of the benchmark of the console', () => {
  const test = useTestDatabase({ limits: REPORT_LIMITS });

  it('fills a database whose balances are consistent', async () => {
    await seedConsole(test.database, { accounts: 3, tasks: 40, transfers: 200 }, () => {});
    const count = async (table: string) => Number((await test.database(table).count<{ count: string }[]>())[0]?.count);
    expect([await count('tasks'), await count('text_requests')]).to.deep.equal([40, 60]);
    const charged = (await test.database('text_requests').where('charge', '>', 0)).length;
    // Two of each task and of each charged text request, and one top-up for each account.
    expect(await count('transfers')).to.equal(2 * 40 + 2 * charged + 3);
    const { findings } = await reconcile(test.database, NOTHING_OUTSIDE);
    expect(findings.map(({ check, detail }) => `${check}: ${detail}`)).to.deep.equal([]);
  });
});
