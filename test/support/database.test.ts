import { expect } from 'chai';
import { createTestDatabase, type TestDatabase } from './database.ts';

describe('a test database', () => {
  let first: TestDatabase;
  let second: TestDatabase;

  before(async () => {
    [first, second] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  });

  after(() => Promise.all([first.drop(), second.drop()]));

  it('has the current schema and no rows', async () => {
    expect(await first.database('accounts').select()).to.deep.equal([]);
  });

  it('shares nothing with another one', async () => {
    await first.database.raw('CREATE TABLE only_here ()');
    expect(await first.database.schema.hasTable('only_here')).to.equal(true);
    expect(await second.database.schema.hasTable('only_here')).to.equal(false);
  });
});
