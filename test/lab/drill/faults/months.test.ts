import { expect } from 'chai';
import { MONTHS } from '../../../../lab/drill/faults/months.ts';
import { createRandom } from '../../../../lab/drill/random.ts';
import { ensurePartitions, isMissingPartitions } from '../../../../db/partitions.ts';
import { useTestDatabase } from '../../../support/database.ts';
import { createAccount, reloadAccount } from '../../../support/factories.ts';
import { quietStage } from '../../../support/drill.ts';

describe('the detachment of months in a drill', () => {
  const testDatabase = useTestDatabase();

  it('removes the empty tables, and no row', async () => {
    const { database, url } = testDatabase;
    const strike = () => MONTHS.strike(quietStage({ databaseUrl: url }), createRandom(1), 0);
    expect(await isMissingPartitions(database)).to.equal(false);
    await strike();
    expect(await isMissingPartitions(database)).to.equal(true);
    await ensurePartitions(database);
    const account = await createAccount(database, { fundedUsd: 1 });
    await strike();
    expect(await database('transfers').where('account_id', account.id)).to.have.length(1);
    expect((await reloadAccount(database, account)).fundedAvailable).to.equal(10n ** 12n);
    expect(await isMissingPartitions(database)).to.equal(true);
  });
});
