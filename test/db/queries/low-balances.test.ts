import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import type { Account } from '../../../db/queries/accounts.ts';
import { topUp } from '../../../db/queries/credits.ts';
import { announceLowBalances, setLowBalance } from '../../../db/queries/low-balances.ts';
import { newId } from '../../../domain/ids.ts';
import { parseUsd } from '../../../domain/money.ts';
import { useTestDatabase } from '../../support/database.ts';
import {
  createAccount,
  createEndpoint,
  createKey,
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  type TestKey,
} from '../../support/factories.ts';

describe('a low balance', () => {
  let database: Database;
  let account: Account;
  let key: TestKey;

  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  beforeEach(async () => {
    account = await createAccount(database, { fundedUsd: 3 });
    key = await createKey(database, account);
    await setLowBalance(database, account.id, parseUsd(2.5));
  });

  /** Several processes check at once. */
  async function lookEverywhere(): Promise<void> {
    await Promise.all(Array.from({ length: 4 }, () => announceLowBalances(database, 100)));
  }

  async function payloads(): Promise<readonly unknown[]> {
    const events = await database('events')
      .where({ account_id: account.id, type: 'account.balance_low' })
      .orderBy('id')
      .select<{ payload: string }[]>('payload');
    return events.map(({ payload }) => JSON.parse(payload));
  }

  const charge = async () => finishAsSucceeded(database, await createTaskRow(database, key));
  const pay = (usd: number) =>
    topUp(database, { accountId: account.id, amount: parseUsd(usd), reference: newId('request') });

  it('is announced once, however many processes check and however often', async () => {
    // contract 6:4 6:6
    await charge();
    await lookEverywhere();
    await charge();
    await lookEverywhere();
    const [event, ...others] = await payloads();
    expect(others).to.deep.equal([]);
    expect(event).to.deep.include({ object: 'event', type: 'account.balance_low' });
    expect(event).to.have.property('data').that.deep.equals({
      object: 'balance',
      account_id: account.id,
      available_usd: 2,
      reserved_usd: 0,
      low_balance_usd: 2.5,
    });
  });

  it('is announced again after a top-up lifted the balance and it fell once more', async () => {
    // contract 6:4
    await charge();
    await lookEverywhere();
    await pay(0.25);
    await lookEverywhere();
    expect(await payloads(), 'still below').to.have.length(1);
    await pay(1);
    await charge();
    await lookEverywhere();
    expect(await payloads()).to.have.length(2);
  });

  it('is not caused by holds', async () => {
    // contract 6:4
    const held = await createTaskRow(database, key);
    await lookEverywhere();
    await finishAsFailed(database, held);
    await lookEverywhere();
    expect(await payloads()).to.deep.equal([]);
  });

  it('is announced under a threshold that is set above the balance, and not without one', async () => {
    // contract 6:4
    await setLowBalance(database, account.id, null);
    await charge();
    await lookEverywhere();
    expect(await payloads()).to.deep.equal([]);
    await setLowBalance(database, account.id, parseUsd(2.5));
    await lookEverywhere();
    expect(await payloads()).to.have.length(1);
  });

  it('is delivered to the endpoints that subscribed, and to no others', async () => {
    // contract 6:4
    await createEndpoint(database, account);
    const wanting = await createEndpoint(database, account, { events: ['account.balance_low'] });
    await createEndpoint(database, await createAccount(database), { events: ['account.balance_low'] });
    await charge();
    await lookEverywhere();
    const deliveries = await database('deliveries')
      .join('events', 'events.id', 'event_id')
      .where({ type: 'account.balance_low', 'events.account_id': account.id })
      .select<{ endpoint_id: string; status: string }[]>('endpoint_id', 'status');
    expect(deliveries).to.deep.equal([{ endpoint_id: wanting.id, status: 'pending' }]);
  });
});
