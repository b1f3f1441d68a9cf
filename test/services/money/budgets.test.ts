import { expect } from 'chai';
import { createFindBudgets, type FindBudgets } from '../../../services/money/budgets.ts';
import type { Database } from '../../../db/database.ts';
import { setAccountBudget } from '../../../db/queries/account-budgets.ts';
import { deleteEndUserBudget, setEndUserBudget } from '../../../db/queries/end-user-budgets.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createAccount } from '../../support/factories.ts';

describe('the budgets in a text process', () => {
  let database: Database;
  let findBudgets: FindBudgets;
  let id: string;
  let statements = 0;
  useTestDatabase({
    onOpen: ({ database: opened }) => {
      database = opened;
      database.on('query', () => (statements += 1));
    },
  });

  beforeEach(async () => {
    findBudgets = createFindBudgets(database);
    ({ id } = await createAccount(database));
    const budget = { accountId: id, usageLimit: 5n, limitPeriod: 'day' } as const;
    await setEndUserBudget(database, { ...budget, endUser: 'alice' });
    await setEndUserBudget(database, { ...budget, endUser: 'bob' });
    statements = 0;
  });

  const account = async (): Promise<Parameters<FindBudgets>[0]> => {
    const row = await database('accounts').where({ id }).first('budgets_version');
    statements -= 1;
    return { id, budgetsVersion: row.budgets_version };
  };

  const find = (caller: Parameters<FindBudgets>[0], endUser: string | null, model = 'model-1') =>
    findBudgets(caller, { endUser, model });

  it('apply to a request by the account, its model and its end user', async () => {
    const budget = { accountId: id, isCeiling: false, usageLimit: 5n, limitPeriod: 'day' } as const;
    await setAccountBudget(database, { ...budget, models: null });
    await setAccountBudget(database, { ...budget, models: ['other', 'model-*'] });
    const caller = await account();
    const scopes = async (endUser: string | null, model?: string) =>
      (await find(caller, endUser, model)).map((found) => found.models ?? found.endUser ?? 'account');
    expect(await scopes('alice')).to.deep.equal(['account', ['model-*', 'other'], 'alice']);
    expect(await scopes(null, 'other')).to.deep.equal(['account', ['model-*', 'other']]);
    expect(await scopes('carol', 'others')).to.deep.equal(['account']);
  });

  it('the budgets are read once for all end users, including those without one', async () => {
    const caller = await account();
    const found = await Promise.all(['alice', 'bob', 'carol', 'alice'].map((name) => find(caller, name)));
    expect(found.map(([budget]) => budget?.endUser)).to.deep.equal(['alice', 'bob', undefined, 'alice']);
    expect(found[0]?.[0]).to.include({ usageLimit: 5n, limitPeriod: 'day' });
    expect(await find(caller, null)).to.deep.equal([]);
    expect(statements).to.equal(1);
  });

  it('the budgets are read again after each change, and not for a key that was read before it', async () => {
    const before = await account();
    const [alice] = await find(before, 'alice');
    await deleteEndUserBudget(database, { id: alice?.id ?? '' });
    const after = await account();
    statements = 0;
    expect(await find(after, 'alice')).to.deep.equal([]);
    expect(await find(before, 'alice')).to.deep.equal([]);
    expect(statements).to.equal(1);
  });

  it('cost no statement for an account without budgets', async () => {
    const other = await createAccount(database);
    statements = 0;
    expect(await find({ id: other.id, budgetsVersion: 0 }, 'alice')).to.deep.equal([]);
    expect(statements).to.equal(0);
  });
});
