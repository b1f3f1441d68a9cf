import { expect } from 'chai';
import { createFindBudget, type FindBudget } from '../../../services/money/end-user-budgets.ts';
import type { Database } from '../../../db/database.ts';
import { deleteEndUserBudget, setEndUserBudget } from '../../../db/queries/end-user-budgets.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createAccount } from '../../support/factories.ts';

describe('the end-user budgets in a text process', () => {
  let database: Database;
  let findBudget: FindBudget;
  let id: string;
  let statements = 0;
  useTestDatabase({
    onOpen: ({ database: opened }) => {
      database = opened;
      database.on('query', () => (statements += 1));
    },
  });

  beforeEach(async () => {
    findBudget = createFindBudget(database);
    ({ id } = await createAccount(database));
    const budget = { accountId: id, usageLimit: 5n, limitPeriod: 'day' } as const;
    await setEndUserBudget(database, { ...budget, endUser: 'alice' });
    await setEndUserBudget(database, { ...budget, endUser: 'bob' });
    statements = 0;
  });

  const account = async (): Promise<Parameters<FindBudget>[0]> => {
    const row = await database('accounts').where({ id }).first('budgets_version');
    statements -= 1;
    return { id, budgetsVersion: row.budgets_version };
  };

  it('are read once for all end users, including those without one', async () => {
    const caller = await account();
    const found = await Promise.all(['alice', 'bob', 'carol', 'alice'].map((name) => findBudget(caller, name)));
    expect(found.map((budget) => budget?.endUser)).to.deep.equal(['alice', 'bob', undefined, 'alice']);
    expect(found[0]).to.include({ usageLimit: 5n, limitPeriod: 'day' });
    expect(await findBudget(caller, 'dave')).to.equal(null);
    expect(statements).to.equal(1);
  });

  it('are read again after each change, and not for a key that was read before it', async () => {
    const before = await account();
    const alice = await findBudget(before, 'alice');
    await deleteEndUserBudget(database, { id: alice?.id ?? '' });
    const after = await account();
    statements = 0;
    expect(await findBudget(after, 'alice')).to.equal(null);
    expect(await findBudget(before, 'alice')).to.equal(null);
    expect(statements).to.equal(1);
  });

  it('cost no statement for an account without budgets', async () => {
    const other = await createAccount(database);
    statements = 0;
    expect(await findBudget({ id: other.id, budgetsVersion: 0 }, 'alice')).to.equal(null);
    expect(statements).to.equal(0);
  });
});
