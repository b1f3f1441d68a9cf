import { expect } from 'chai';
import { pino } from 'pino';
import { confirmAutoTopUp, topUpSome } from '../../../services/money/auto-top-ups.ts';
import { findAccount } from '../../../db/queries/accounts.ts';
import { findAutoTopUp, setAutoTopUp } from '../../../db/queries/auto-top-ups.ts';
import { parseUsd } from '../../../domain/money.ts';
import { AUTO_TOP_UP } from '../../../domain/policy.ts';
import {
  CardRefusedError,
  type CheckoutPages,
  CheckoutUnavailableError,
  type SavedCard,
} from '../../../providers/checkout.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createAccount } from '../../support/factories.ts';
import { PlayedBilling } from '../../support/plan-billing.ts';

type Mood = 'pays' | 'pays, and the answer is lost' | 'refuses';

describe('an automatic top-up', () => {
  const db = useTestDatabase();
  /** The payments of the provider by the id of their attempt. */
  const payments = new Map<string, string>();
  let mood: Mood = 'pays';
  /** The card entered on each page. */
  const cards = new Map<string, SavedCard>();

  const checkout: CheckoutPages = {
    ...new PlayedBilling('cards').pages,
    origin: 'https://checkout.stripe.com',
    open: async () => 'cs_1',
    find: async () => null,
    openCard: async () => 'cs_1',
    findCard: async (id) => cards.get(id) ?? null,
    async chargeCard({ attemptId }) {
      if (mood === 'refuses') throw new CardRefusedError('Your card was declined.');
      const id = payments.get(attemptId) ?? `pi_${crypto.randomUUID()}`;
      payments.set(attemptId, id);
      if (mood !== 'pays') throw new CheckoutUnavailableError('no answer');
      return { id };
    },
  };

  const publicUrl = 'https://gateway.example';
  const pass = () => topUpSome({ database: db.database, checkout, publicUrl, log: pino({ level: 'silent' }) });
  const passes = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done += 1) await pass();
  };

  beforeEach(async () => {
    await db.database('auto_top_ups').delete();
    payments.clear();
    mood = 'pays';
  });

  /** An account with 5 USD that pays this amount below 10 USD. */
  async function lowAccount(amount = '20'): Promise<string> {
    const { id: accountId } = await createAccount(db.database, { fundedUsd: 5 });
    const agreed = { threshold: parseUsd(10), amount: parseUsd(amount), customer: 'cus_1', paymentMethod: 'pm_1' };
    await setAutoTopUp(db.database, { accountId, ...agreed });
    return accountId;
  }

  const fundedOf = async (accountId: string) => (await findAccount(db.database, accountId))?.fundedAvailable;
  const later = () =>
    db.database('auto_top_ups').update({ attempted_at: db.database.raw(`now() - interval '2 minutes'`) });

  it('pays and credits the amount once, and no more while the balance is high enough', async () => {
    const accountId = await lowAccount();
    await passes(3);
    expect([await fundedOf(accountId), payments.size]).to.deep.equal([parseUsd(25), 1]);
  });

  it('is made once by eight processes', async () => {
    const accountId = await lowAccount();
    await Promise.all(Array.from({ length: 8 }, pass));
    expect([await fundedOf(accountId), payments.size]).to.deep.equal([parseUsd(25), 1]);
  });

  it('is requested again under the same id when its outcome is unknown', async () => {
    const accountId = await lowAccount();
    mood = 'pays, and the answer is lost';
    await passes(2);
    expect(await fundedOf(accountId)).to.equal(parseUsd(5));
    mood = 'pays';
    await later();
    await passes(2);
    expect([await fundedOf(accountId), payments.size]).to.deep.equal([parseUsd(25), 1]);
  });

  it('is abandoned when its outcome stays unknown for most of a day, and never paid twice', async () => {
    const accountId = await lowAccount();
    mood = 'pays, and the answer is lost';
    await pass();
    await db.database('auto_top_ups').update({
      attempt_began_at: db.database.raw(`now() - interval '${AUTO_TOP_UP.attemptHours + 1} hours'`),
    });
    mood = 'pays';
    await later();
    await passes(2);
    expect(payments.size).to.equal(1);
    expect((await findAutoTopUp(db.database, accountId))?.stoppedBecause).to.include('did not answer');
  });

  it('is paid once when the return address of the card page is opened again while the outcome is unknown', async () => {
    const { id: accountId } = await createAccount(db.database, { fundedUsd: 5 });
    const agreed = { threshold: parseUsd(10), amount: parseUsd(20), customer: 'cus_1', paymentMethod: 'pm_1' };
    cards.set('cs_1', { accountId, ...agreed });
    const confirm = () =>
      confirmAutoTopUp(
        { database: db.database, money: { checkout }, publicUrl: 'http://127.0.0.1' },
        accountId,
        'cs_1',
      );
    await Promise.all(Array.from({ length: 4 }, confirm));
    mood = 'pays, and the answer is lost';
    await pass();
    mood = 'pays';
    await confirm();
    await later();
    await passes(2);
    expect([await fundedOf(accountId), payments.size]).to.deep.equal([parseUsd(25), 1]);
  });

  it('waits for one in progress when another card is entered', async () => {
    const accountId = await lowAccount();
    mood = 'pays, and the answer is lost';
    await pass();
    mood = 'pays';
    const agreed = await findAutoTopUp(db.database, accountId);
    if (agreed) await setAutoTopUp(db.database, agreed);
    await passes(2);
    expect(payments.size).to.equal(1);
  });

  it('stops when the card is refused, until a card is entered again', async () => {
    const accountId = await lowAccount();
    mood = 'refuses';
    await passes(2);
    expect((await findAutoTopUp(db.database, accountId))?.stoppedBecause).to.equal('Your card was declined.');
    mood = 'pays';
    await later();
    await passes(2);
    expect(payments.size).to.equal(0);
    const agreed = await findAutoTopUp(db.database, accountId);
    if (agreed) await setAutoTopUp(db.database, agreed);
    await passes(2);
    expect(await fundedOf(accountId)).to.equal(parseUsd(25));
  });

  it('is made at most this many times a day', async () => {
    const accountId = await lowAccount('0.50');
    await passes(AUTO_TOP_UP.maxPerDay + 3);
    expect(payments.size).to.equal(AUTO_TOP_UP.maxPerDay);
    expect(await fundedOf(accountId)).to.equal(parseUsd('7.5'));
  });

  it('is not made for a suspended account', async () => {
    const accountId = await lowAccount();
    await db.database('accounts').where({ id: accountId }).update({ suspended_at: new Date() });
    await passes(2);
    expect(payments.size).to.equal(0);
  });
});
