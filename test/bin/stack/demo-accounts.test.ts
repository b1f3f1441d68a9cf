import { expect } from 'chai';
import { ensureDemoAccounts } from '../../../bin/stack/demo-accounts.ts';
import { formatUsd } from '../../../domain/money.ts';
import { reloadAccount } from '../../support/factories.ts';
import { useTestFolder } from '../../support/started.ts';
import { useTestApp } from '../../support/app.ts';

describe('the demo accounts', () => {
  const home = useTestFolder();
  const app = useTestApp({ settings: { secondApprovalAbove: 0n } });

  it('receive their credit even if every amount needs a second approval, and stay the same at the next start', async () => {
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
