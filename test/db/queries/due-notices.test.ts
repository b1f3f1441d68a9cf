import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import type { Account } from '../../../db/queries/accounts.ts';
import { recordSeller } from '../../../db/queries/billing-documents.ts';
import { topUp } from '../../../db/queries/credits.ts';
import { orderDueNotices } from '../../../db/queries/due-notices.ts';
import { finishTask } from '../../../db/queries/finish-task.ts';
import { storeLateResult } from '../../../db/queries/late-results.ts';
import { announceLowBalances, setLowBalance } from '../../../db/queries/low-balances.ts';
import { orderNotice } from '../../../db/queries/mails.ts';
import { insertUser, setMember } from '../../../db/queries/users.ts';
import { newId } from '../../../domain/ids.ts';
import { parseUsd } from '../../../domain/money.ts';
import { MEMBER_ROLES } from '../../../domain/roles.ts';
import { useTestDatabase } from '../../support/database.ts';
import {
  createAccount,
  createEndpoint,
  createKey,
  createTaskRow,
  finishAsSucceeded,
  startNextPeriod,
  type TestKey,
  VIDEO,
} from '../../support/factories.ts';

const SELLER = { name: 'Acme GmbH', address: ['Hauptstrasse 1'], taxId: null };
const TIMED_OUT = { status: 'failed', failure: { code: 'processing_timeout', message: '' } } as const;
const DAY_MS = 86_400_000;
const inDays = (days: number): Date => new Date(Date.now() + days * DAY_MS);

describe('a notice to the members of an account', () => {
  let database: Database;
  let account: Account;
  let key: TestKey;
  let count = 0;
  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  beforeEach(async () => {
    count += 1;
    account = await createAccount(database, { fundedUsd: 10 });
    key = await createKey(database, account);
    for (const role of MEMBER_ROLES) await addPerson(role);
  });

  async function addPerson(role: (typeof MEMBER_ROLES)[number], name: string = role): Promise<string> {
    const email = `${name}-${count}@example.com`;
    const user = await insertUser(database, { id: newId('user'), email, name, staffRole: null, passwordHash: null });
    if (!user) throw new Error('there is such a user');
    await setMember(database, { accountId: account.id, userId: user.id, role });
    return user.id;
  }

  /** Several processes look at once, several times. @returns the kind and the receiver of each e-mail */
  async function ordered(): Promise<readonly string[]> {
    for (let round = 0; round < 2; round++)
      await Promise.all(Array.from({ length: 4 }, () => orderDueNotices(database, 100)));
    const rows = await database('mails').where({ account_id: account.id }).select('kind', 'address');
    return rows.map(({ kind, address }) => `${kind} ${address.split('-')[0]}`).toSorted();
  }

  const toDevelopers = (kind: string): string[] => [`${kind} developer`, `${kind} owner`];
  const toPayers = (kind: string): string[] => [`${kind} finance`, `${kind} owner`];
  /** A key that is a month old. */
  async function insertOldKey(changes: object): Promise<string> {
    const row = await database('api_keys').where({ id: key.id }).first();
    const old = { id: newId('apiKey'), digest: randomBytes(32), created_at: inDays(-30) };
    await database('api_keys').insert({ ...row, ...old, ...changes });
    return old.id;
  }

  const setKey = (changes: object): PromiseLike<unknown> => database('api_keys').where({ id: key.id }).update(changes);

  it('reaches only members who may read about it, and nobody who is disabled', async () => {
    const disabled = await addPerson('owner', 'disabled');
    await database('users').where({ id: disabled }).update({ disabled_at: new Date() });
    const notice = { kind: 'balance_low', accountId: account.id, reference: `balance_low:${account.id}` } as const;
    await orderNotice(database, notice);
    await orderNotice(database, notice);
    expect(await ordered()).to.deep.equal(toPayers('balance_low'));
  });

  it('a notice is ordered with the event of a low balance, with a document, and with a late result', async () => {
    await setLowBalance(database, account.id, parseUsd(20));
    await Promise.all(Array.from({ length: 4 }, () => announceLowBalances(database, 100)));
    expect(await ordered()).to.deep.equal(toPayers('balance_low'));
    await database('mails').delete();
    await recordSeller(database, { ...SELLER, taxes: [], taxPoint: 'paid' });
    await topUp(database, { accountId: account.id, amount: parseUsd(5), reference: 'payment' });
    await recordSeller(database, null);
    expect(await ordered()).to.deep.equal(toPayers('document_issued'));
    await database('mails').delete();
    const task = await createTaskRow(database, key);
    // A timeout sends no event.
    await finishTask(database, task.id, TIMED_OUT, null);
    const late = { taskId: task.id, accountId: account.id, output: [VIDEO] };
    await storeLateResult(database, late);
    await storeLateResult(database, late);
    expect(await ordered()).to.deep.equal(toDevelopers('late_result'));
  });

  it('a notice is ordered with its cause or not at all', async () => {
    const notice = { kind: 'balance_low', accountId: account.id, reference: `balance_low:${account.id}` } as const;
    const attempt = database.transaction(async (transaction) => {
      await orderNotice(transaction, notice);
      throw new Error('the cause failed');
    });
    expect(await attempt.catch((error: Error) => error.message)).to.equal('the cause failed');
    expect(await ordered()).to.deep.equal([]);
  });

  it('warns once about a key that expires within a week, and again after another expiry was set', async () => {
    const id = await insertOldKey({ expires_at: inDays(8) });
    expect(await ordered()).to.deep.equal([]);
    await database('api_keys')
      .where({ id })
      .update({ expires_at: inDays(6) });
    expect(await ordered()).to.deep.equal(toDevelopers('key_expiring'));
    await database('api_keys')
      .where({ id })
      .update({ expires_at: inDays(5) });
    expect(await ordered()).to.have.length(4);
  });

  it('does not warn about a key that is deleted, disabled or made for a few days', async () => {
    await setKey({ expires_at: inDays(1) });
    await insertOldKey({ expires_at: inDays(6), disabled_at: new Date() });
    await insertOldKey({ expires_at: inDays(6), deleted_at: new Date() });
    expect(await ordered()).to.deep.equal([]);
  });

  it('warns once in each period about a key that has used nine tenths of its limit', async () => {
    await setKey({ limit_period: 'day' });
    await finishAsSucceeded(database, await createTaskRow(database, key));
    await setKey({ usage_limit: database.raw('used * 100 / 89') });
    expect(await ordered()).to.deep.equal([]);
    await setKey({ usage_limit: database.raw('used * 100 / 91') });
    expect(await ordered()).to.deep.equal(toDevelopers('key_limit_near'));
    await startNextPeriod(database, key);
    await finishAsSucceeded(database, await createTaskRow(database, key));
    expect(await ordered()).to.have.length(4);
  });

  it('tells about an endpoint that has failed for an hour, and about one that Genway disabled', async () => {
    const { id } = await createEndpoint(database, account);
    const set = (changes: object): PromiseLike<unknown> => database('webhook_endpoints').where({ id }).update(changes);
    await set({ failing_since: new Date(Date.now() - 30 * 60_000) });
    expect(await ordered()).to.deep.equal([]);
    await set({ failing_since: new Date(Date.now() - 61 * 60_000) });
    expect(await ordered()).to.deep.equal(toDevelopers('webhook_failing'));
    await database('mails').delete();
    await set({ disabled_at: new Date(), disabled_reason: 'disabled by its owner' });
    expect(await ordered()).to.deep.equal([]);
    await set({ disabled_reason: 'the receiver answered 410' });
    expect(await ordered()).to.deep.equal(toDevelopers('webhook_disabled'));
  });

  it('tells about automatic top-ups that have stopped, once for each attempt', async () => {
    const settings = { threshold: '1', amount: '1', customer: 'cus_1', payment_method: 'pm_1' };
    const row = { account_id: account.id, ...settings, attempt_began_at: new Date() };
    await database('auto_top_ups').insert(row);
    expect(await ordered()).to.deep.equal([]);
    await database('auto_top_ups').where({ account_id: account.id }).update({ stopped_because: 'Card declined.' });
    expect(await ordered()).to.deep.equal(toPayers('top_up_failed'));
  });

  it('announces the statement of a closed month to accounts that moved money in it', async () => {
    const idle = await createAccount(database);
    const [month, day] = ['2026-01-01', '2026-01-15'];
    const sums = { transfers: 1, available: '1', reserved: '0' };
    await database('daily_transfers').insert({ account_id: account.id, day, kind: 'topup', ...sums });
    await database('closed_months').insert({ month, author: 'test', transfers: 1, amounts: '{}', checksum: '1' });
    expect(await ordered()).to.deep.equal(toPayers('month_statement'));
    expect(await database('mails').where({ account_id: idle.id })).to.deep.equal([]);
  });
});
