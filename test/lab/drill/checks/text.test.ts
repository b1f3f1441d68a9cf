import { expect } from 'chai';
import type { Database } from '../../../../db/database.ts';
import { checkAllowances } from '../../../../lab/drill/checks/text.ts';
import { useTestDatabase } from '../../../support/database.ts';
import { createAccount, createKey } from '../../../support/factories.ts';
import { newHold, openTextLedger, settlementOf } from '../../../support/text-money.ts';

const MISTAKES: Readonly<Record<string, string>> = {
  'a pico-USD is missing': 'UPDATE text_allowances SET amount = amount - 1, signup_amount = signup_amount - 1',
  'a pico-USD is too much': 'UPDATE text_allowances SET amount = amount + 1',
  'some of the signup credit has become other credit': 'UPDATE text_allowances SET signup_amount = signup_amount - 1',
  'the rest has disappeared': 'DELETE FROM text_allowances',
  'the rest belongs to another account': "UPDATE text_allowances SET account_id = 'acc_another'",
  'the rest has left for another allowance':
    "UPDATE text_allowances SET id = left(id, 35) || CASE right(id, 1) WHEN '0' THEN '1' ELSE '0' END",
};

describe('the check of allowances in a drill', () => {
  const testDatabase = useTestDatabase();

  before(async () => {
    const { database, url } = testDatabase;
    const key = await createKey(database, await createAccount(database, { signupUsd: 1, fundedUsd: 1 }));
    const ledger = openTextLedger(url);
    const [hold = newHold(key), ...others] = Array.from({ length: 3 }, () => newHold(key));
    await ledger.hold([hold, ...others]);
    await ledger.settle([settlementOf(hold)]);
    await ledger.close();
  });

  const failuresIn = async (database: Database): Promise<readonly string[]> =>
    (await checkAllowances({ database })).failures;

  it('reports nothing when each allowance has its charges, its release and its end', async () => {
    const { database } = testDatabase;
    const kinds = await database('transfers').whereNotNull('allowance_id').distinct('kind').pluck('kind');
    expect(kinds).to.have.members(['allowance', 'charge', 'release']);
    expect(await database('text_allowances').where('signup_amount', '>', 0)).to.have.length(1);
    expect(await failuresIn(database)).to.deep.equal([]);
  });

  for (const [what, mistake] of Object.entries(MISTAKES)) {
    it(`finds that ${what}`, async () => {
      const transaction = await testDatabase.database.transaction();
      try {
        await transaction.raw(mistake);
        expect(await failuresIn(transaction)).to.not.be.empty;
      } finally {
        await transaction.rollback();
      }
    });
  }
});
