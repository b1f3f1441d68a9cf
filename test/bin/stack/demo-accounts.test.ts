import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ensureDemoAccounts } from '../../../bin/stack/demo-accounts.ts';
import { formatUsd } from '../../../domain/money.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { reloadAccount } from '../../support/factories.ts';

describe('the demo accounts', () => {
  let app: TestApp;
  let home: string;

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'genway-demo-'));
    app = await startTestApp({ settings: { secondApprovalAbove: 0n } });
  });
  after(async () => {
    await app.stop();
    await rm(home, { recursive: true });
  });

  it('are funded even where every amount needs two people, and are the same at the next start', async () => {
    const accounts = await ensureDemoAccounts(home, app, app.databaseUrl);
    const balanceOf = async ({ account_id: id }: { account_id: string }) => {
      const { fundedAvailable, signupAvailable } = await reloadAccount(app.database, { id });
      return [formatUsd(fundedAvailable), formatUsd(signupAvailable)];
    };
    expect(await Promise.all(Object.values(accounts).map(balanceOf))).to.deep.equal([
      ['1000', '0'],
      ['1000', '0'],
      ['0', '5'],
      ['0', '0'],
    ]);
    expect(await ensureDemoAccounts(home, app, app.databaseUrl)).to.deep.equal(accounts);
  });
});
