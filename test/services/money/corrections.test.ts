import { expect } from 'chai';
import { correct } from '../../../services/money/corrections.ts';
import { findAccount } from '../../../db/queries/accounts.ts';
import { topUp } from '../../../db/queries/credits.ts';
import { lockPayment } from '../../../db/queries/returned-payments.ts';
import { newId } from '../../../domain/ids.ts';
import { parseUsd } from '../../../domain/money.ts';
import { useTestDatabase, whenOneWaitsForLock } from '../../support/database.ts';
import { createAccount } from '../../support/factories.ts';

describe('correct', () => {
  const db = useTestDatabase();

  it('credits a payment once, and waits, while its announcement credits it', async () => {
    const { database } = db;
    const { id: accountId } = await createAccount(database);
    const [amount, reference] = [parseUsd(20), 'payment:pi_1'];
    const asked = { id: newId('correction'), accountId, amount, reference, reason: 'paid', author: 'ada' };
    const { byHand } = await database.transaction(async (announcement) => {
      await lockPayment(announcement, { accountId, reference });
      const services = { database, money: { secondApprovalAbove: parseUsd(100) }, publicUrl: 'http://127.0.0.1' };
      const started = correct(services, asked, newId('transfer'));
      await whenOneWaitsForLock(database);
      await topUp(announcement, { accountId, amount, reference });
      return { byHand: started };
    });
    await byHand;
    expect((await findAccount(database, accountId))?.fundedAvailable).to.equal(amount);
  });
});
