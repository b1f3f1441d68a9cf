import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import { reopenAccount as reopenRow, suspendAccount } from '../../../db/queries/accounts.ts';
import { claimTopUps, setAutoTopUp } from '../../../db/queries/auto-top-ups.ts';
import { insertBatch } from '../../../db/queries/batches.ts';
import { adjust } from '../../../db/queries/credits.ts';
import { saveInvitation } from '../../../db/queries/invitations.ts';
import { expirePromoCredit, grantPromoCredit } from '../../../db/queries/promo-grants.ts';
import { returnPayment } from '../../../db/queries/returned-payments.ts';
import { addMember, disableUser, insertUser, type User } from '../../../db/queries/users.ts';
import { LEDGER_CHECKS } from '../../../db/reconciliation/ledger-checks.ts';
import { PROMO_CHECKS } from '../../../db/reconciliation/promo-checks.ts';
import { digestToken } from '../../../domain/bearer-token.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { newId } from '../../../domain/ids.ts';
import { parseUsd } from '../../../domain/money.ts';
import type { AdminRole, MemberRole } from '../../../domain/roles.ts';
import { creditPayment } from '../../../services/money/credit-once.ts';
import { issueGiftBatch, redeemGiftCode } from '../../../services/money/gift-codes.ts';
import { reopenAccount } from '../../../services/people/account-actions.ts';
import { closeAccount } from '../../../services/people/close-account.ts';
import { useTestDatabase } from '../../support/database.ts';
import {
  createAccount,
  createEndpoint,
  createKey,
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  newGiftBatch,
  reloadAccount,
  type TestKey,
} from '../../support/factories.ts';
import { checkBooks } from '../../support/reconciliation.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { newHold, openTextLedger, settlementOf, type TestLedger } from '../../support/text-money.ts';

describe('closeAccount', () => {
  let database: Database;
  let ledger: TestLedger;
  useTestDatabase({
    onOpen: ({ database: opened, url }) => {
      database = opened;
      ledger = openTextLedger(url);
    },
  });
  after(() => ledger.close());

  async function userOf(
    accountId: string,
    role: MemberRole,
    { staffRole = null }: { readonly staffRole?: AdminRole | null } = {},
  ): Promise<User> {
    const id = newId('user');
    const user = { id, email: `${id}@example.com`, name: 'Ada', staffRole, passwordHash: null };
    const inserted = await insertUser(database, user);
    if (!inserted) throw new Error('the address is taken');
    await addMember(database, { accountId, userId: id, role });
    return inserted;
  }

  /** An account that paid 10 USD, with a key and an owner. */
  async function ownedAccount(): Promise<{
    readonly accountId: string;
    readonly ownerId: string;
    readonly key: TestKey;
  }> {
    const account = await createAccount(database, { fundedUsd: 10 });
    const { id: ownerId } = await userOf(account.id, 'owner');
    return { accountId: account.id, ownerId, key: await createKey(database, account) };
  }

  const hasUser = async (id: string): Promise<boolean> => (await database('users').where({ id })).length === 1;
  const mailsTo = (address: string): Promise<string[]> => database('mails').where({ address }).pluck<string[]>('kind');

  it('ends keys, webhooks, batches, invitations and memberships, and erases what the books do not need', async () => {
    const { accountId, ownerId, key } = await ownedAccount();
    const developer = await userOf(accountId, 'developer');
    await createEndpoint(database, { id: accountId });
    const order = { accountId, apiKeyId: key.id, requestId: 'req', total: 1, createdAt: new Date() };
    const none = { metadata: null, betas: null };
    await insertBatch(database, {
      ...order,
      ...none,
      id: newId('batch'),
      endpoint: '/v1/messages',
      inputFileId: newId('file'),
    });
    const invitation = { accountId, email: 'x@example.com', role: 'finance', invitedBy: ownerId } as const;
    await saveInvitation(database, { ...invitation, digest: digestToken('x'), lifetimeSeconds: 60 });
    await database('accounts').where({ id: accountId }).update({ email: 'ada@example.com', low_balance: 1 });
    expect(await closeAccount(database, { accountId, ownerId })).to.deep.equal({ isUserDeleted: true });

    const account = await reloadAccount(database, { id: accountId });
    expect(account).to.include({ name: 'Test', email: null, lowBalance: null, fundedAvailable: parseUsd(10) });
    expect([account.closedAt, account.suspendedAt, account.eraseBefore]).to.satisfy((times: unknown[]) =>
      times.every((time) => time instanceof Date),
    );
    for (const table of ['api_keys', 'webhook_endpoints'])
      expect(await database(table).where({ account_id: accountId, deleted_at: null }), table).to.deep.equal([]);
    for (const table of ['account_members', 'account_invitations'])
      expect(await database(table).where({ account_id: accountId }), table).to.deep.equal([]);
    expect(await database('batches').where({ account_id: accountId }).pluck('status')).to.deep.equal(['cancelling']);
    expect(await database('operator_actions').where({ account_id: accountId }).first()).to.include({
      kind: 'close',
      author: ownerId,
      reason: 'closed by its owner with $10.00 of funds',
    });
    expect([await hasUser(ownerId), await hasUser(developer.id)]).to.deep.equal([false, false]);
    expect(await mailsTo(developer.email)).to.deep.equal(['account_closed']);
    const by = { author: 'ada', reason: 'regret' };
    expect(await rejectionOf(reopenAccount(database, accountId, by))).to.include({ status: 409 });
    await expectRefusal(reopenRow(database, accountId), 'accounts_closed_are_suspended');
  });

  async function expectRefusal(change: Promise<unknown>, constraint: string): Promise<void> {
    expect((await rejectionOf(change)).message).to.include(constraint);
  }

  it('keeps no name of an account that never paid', async () => {
    const { id: accountId } = await createAccount(database, { signupUsd: 1 });
    await database('accounts').where({ id: accountId }).update({ billing_name: 'Ada', tax_id: '1' });
    const { id: ownerId } = await userOf(accountId, 'owner');
    await closeAccount(database, { accountId, ownerId });
    const empty = { name: 'Closed account', billingName: null, billingAddress: null, taxId: null };
    expect(await reloadAccount(database, { id: accountId })).to.include(empty);
  });

  it('keeps people who belong to another account, staff and disabled people, and only their other access', async () => {
    const { accountId, ownerId } = await ownedAccount();
    const other = await ownedAccount();
    await addMember(database, { accountId: other.accountId, userId: ownerId, role: 'developer' });
    const staff = await userOf(accountId, 'finance', { staffRole: 'readonly' });
    const disabled = await userOf(accountId, 'developer');
    await disableUser(database, disabled.id);
    expect(await closeAccount(database, { accountId, ownerId })).to.deep.equal({ isUserDeleted: false });
    for (const id of [ownerId, staff.id, disabled.id]) expect(await hasUser(id), id).to.equal(true);
    expect(await database('account_members').where({ user_id: ownerId }).pluck('account_id')).to.deep.equal([
      other.accountId,
    ]);
  });

  it('keeps a person who joins another account at the same moment', async () => {
    const { accountId, ownerId } = await ownedAccount();
    const other = await ownedAccount();
    await Promise.all([
      database.transaction(async (transaction) => {
        await transaction('users').where({ id: ownerId }).forUpdate().first();
        await addMember(transaction, { accountId: other.accountId, userId: ownerId, role: 'developer' });
        await transaction.raw('SELECT pg_sleep(0.2)');
      }),
      closeAccount(database, { accountId, ownerId }),
    ]);
    expect(await hasUser(ownerId)).to.equal(true);
  });

  for (const [who, idOf] of [
    ['a developer', async (accountId: string) => (await userOf(accountId, 'developer')).id],
    ['a member of finance', async (accountId: string) => (await userOf(accountId, 'finance')).id],
    ['the owner of another account', async () => (await ownedAccount()).ownerId],
  ] as const) {
    it(`is refused to ${who}`, async () => {
      const { accountId } = await ownedAccount();
      const error = await rejectionOf(closeAccount(database, { accountId, ownerId: await idOf(accountId) }));
      expect(error).to.be.instanceOf(ServiceError).and.include({ code: 'forbidden' });
      expect((await reloadAccount(database, { id: accountId })).closedAt).to.equal(null);
    });
  }

  it('is refused while the account is suspended or owes for a returned payment', async () => {
    const suspended = await ownedAccount();
    await suspendAccount(database, suspended.accountId);
    expect(await closeAccount(database, suspended)).to.equal('suspended');
    const owing = await ownedAccount();
    const { accountId } = owing;
    await creditPayment(database, { id: `pi_${accountId}`, accountId, amount: parseUsd(5) });
    await adjust(database, { accountId, amount: parseUsd(-15), author: 'ada', reason: 'spent' });
    await returnPayment(database, `payment:pi_${accountId}`, { refunded: parseUsd(5), refundedAt: 0 });
    expect(await closeAccount(database, owing)).to.equal('owes');
    expect((await reloadAccount(database, { id: accountId })).closedAt).to.equal(null);
    await adjust(database, { accountId, amount: parseUsd(5), author: 'ada', reason: 'paid by bank transfer' });
    expect(await closeAccount(database, owing)).to.deep.equal({ isUserDeleted: true });
  });

  it('happens once when two owners close at the same time', async () => {
    const first = await ownedAccount();
    const { accountId } = first;
    const second = { accountId, ownerId: (await userOf(accountId, 'owner')).id };
    const outcomes = await Promise.allSettled([closeAccount(database, first), closeAccount(database, second)]);
    expect(outcomes.map(({ status }) => status)).to.have.members(['fulfilled', 'rejected']);
    expect(await database('operator_actions').where({ account_id: accountId })).to.have.length(1);
  });

  it('changes nothing if it fails on its way, and can be repeated', async () => {
    const owned = await ownedAccount();
    const { accountId, ownerId } = owned;
    await database.raw(
      'CREATE TRIGGER people_stay BEFORE DELETE ON users FOR EACH ROW EXECUTE FUNCTION refuse_change()',
    );
    try {
      await rejectionOf(closeAccount(database, owned));
    } finally {
      await database.raw('DROP TRIGGER people_stay ON users');
    }
    expect((await reloadAccount(database, { id: accountId })).closedAt).to.equal(null);
    expect(await database('account_members').where({ account_id: accountId })).to.have.length(1);
    expect(await database('api_keys').where({ account_id: accountId, deleted_at: null })).to.have.length(1);
    expect(await closeAccount(database, owned)).to.deep.equal({ isUserDeleted: true });
    expect(await hasUser(ownerId)).to.equal(false);
  });

  it('lets work in progress end, charged to the last digit, and nothing new start', async () => {
    const { accountId, ownerId, key } = await ownedAccount();
    const expiresAt = new Date(Date.now() + 86_400_000);
    const promo = { accountId, amount: parseUsd(2), expiresAt, reference: 'p', author: 'ada', reason: 'p' };
    await grantPromoCredit(database, promo);
    const tasks = [await createTaskRow(database, key), await createTaskRow(database, key)] as const;
    const more = await createTaskRow(database, key);
    const hold = newHold(key);
    await ledger.hold([hold]);
    await closeAccount(database, { accountId, ownerId });
    expect((await ledger.hold([newHold(key)])).map(({ refusal }) => refusal)).to.deep.equal(['key_deleted']);
    expect((await rejectionOf(createTaskRow(database, key))).message).to.include('key_deleted');
    expect(await expirePromoCredit(database, 100)).to.equal(0);
    await finishAsSucceeded(database, tasks[0]);
    await finishAsFailed(database, tasks[1]);
    await finishAsFailed(database, more);
    await ledger.settle([settlementOf(hold, { charge: 600n })]);
    expect(await expirePromoCredit(database, 100)).to.equal(1);
    const { rows } = await database.raw(
      'SELECT erase_content_before(accounts) > erase_before AS erases_later FROM accounts WHERE id = :accountId',
      { accountId },
    );
    expect(rows).to.deep.equal([{ erases_later: true }]);
    const account = await reloadAccount(database, { id: accountId });
    expect(account).to.include({
      fundedAvailable: parseUsd(10) - 600n,
      fundedReserved: 0n,
      signupAvailable: 0n,
      signupReserved: 0n,
    });
    const { findings } = await checkBooks(database, [...LEDGER_CHECKS, ...PROMO_CHECKS]);
    expect(findings).to.deep.equal([]);
  });

  it('lets nobody redeem a gift code for the account, nor charge its card', async () => {
    const { accountId, ownerId } = await ownedAccount();
    const card = { customer: 'cus_1', paymentMethod: 'pm_1', amount: parseUsd(10), threshold: parseUsd(20) };
    await setAutoTopUp(database, { accountId, ...card });
    await closeAccount(database, { accountId, ownerId });
    const issuer = { database, money: { secondApprovalAbove: null } };
    const { giftCodes } = await issueGiftBatch(issuer, newGiftBatch());
    const redemption = redeemGiftCode(database, giftCodes[0] ?? '', { accountId, email: null, ip: '192.0.2.1' });
    expect(await rejectionOf(redemption)).to.include({ code: 'forbidden' });
    expect(await claimTopUps(database, 10)).to.deep.equal([]);
  });
});
