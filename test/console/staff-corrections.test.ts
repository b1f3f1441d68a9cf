import { expect } from 'chai';
import { reconcile } from '../../db/reconciliation/reconcile.ts';
import { newId } from '../../domain/ids.ts';
import { formatUsd, parseUsd } from '../../domain/money.ts';
import type { ErrorBody } from '../support/app.ts';
import { useTestConsole, useVisitor, type Visitor } from '../support/console.ts';
import { reloadAccount } from '../support/factories.ts';
import { NOTHING_OUTSIDE } from '../support/reconciliation.ts';
import { call } from '../support/stack.ts';

const CORRECTIONS = '/console/staff/corrections';

describe('corrections in the console of the staff', () => {
  const app = useTestConsole({ settings: { secondApprovalAbove: parseUsd(100) } });
  const ada = useVisitor(app, () => ({ email: 'ada@example.com', staff_role: 'finance' }));
  const bob = useVisitor(app, () => ({ email: 'bob@example.com', staff_role: 'finance' }));
  const cleo = useVisitor(app, () => ({ email: 'cleo@example.com', staff_role: 'operator' }));

  const fundedOf = async (accountId: string): Promise<string> =>
    formatUsd((await reloadAccount(app.database, { id: accountId })).fundedAvailable);
  const correctionsOf = (accountId: string) =>
    app.database('corrections').where({ account_id: accountId }).orderBy('id');
  const transfersOf = (accountId: string) =>
    app.database('transfers').where({ account_id: accountId }).whereNot('reference', 'first').orWhere({
      account_id: accountId,
      kind: 'adjustment',
    });

  async function ask(visitor: Visitor, accountId: string, usd: string, more: Record<string, string> = {}) {
    const fields = { form_id: newId('form'), account_id: accountId, amount_usd: usd, reason: 'goodwill', ...more };
    return { fields, answer: await visitor.send(CORRECTIONS, fields) };
  }

  async function pendingFor(accountId: string): Promise<string> {
    await ask(ada, accountId, '250.000000000001');
    const [correction] = await correctionsOf(accountId);
    return `${CORRECTIONS}/${correction?.id}`;
  }

  it('are booked at once up to the amount, once, with the author and the reason', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 1 });
    const { fields, answer } = await ask(ada, accountId, '100');
    const again = await Promise.all([ada.send(CORRECTIONS, fields), ada.send(CORRECTIONS, fields)]);
    expect([answer, ...again].map(({ status }) => status)).to.deep.equal([303, 303, 303]);
    expect(await fundedOf(accountId)).to.equal('101');
    expect((await transfersOf(accountId)).map(({ author, reason }) => [author, reason])).to.deep.equal([
      ['ada@example.com', 'goodwill'],
    ]);
    expect((await bob.get(CORRECTIONS)).text)
      .to.include(accountId)
      .and.include('$100.00');
  });

  it('wait for a second person above the amount, and move exactly the amount after the approval', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 1 });
    const path = await pendingFor(accountId);
    expect(await fundedOf(accountId)).to.equal('1');
    expect((await bob.get(CORRECTIONS)).text)
      .to.include(`${path}/approve`)
      .and.include('$250.000000000001');
    expect((await bob.send(`${path}/approve`)).status).to.equal(303);
    expect(await fundedOf(accountId)).to.equal('251.000000000001');
    const [transfer] = await transfersOf(accountId);
    expect(transfer).to.include({ author: 'ada@example.com, approved by bob@example.com', reason: 'goodwill' });
    const [correction] = await correctionsOf(accountId);
    expect(correction).to.include({ outcome: 'approved', decided_by: 'bob@example.com', transfer_id: transfer?.id });
    const noted = await app.database('admin_actions').where({ author: 'bob@example.com' }).pluck('path');
    expect(noted).to.include(`${path}/approve`);
  });

  it('debit accounts, too', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 500 });
    await ask(ada, accountId, '-150');
    const [correction] = await correctionsOf(accountId);
    await bob.send(`${CORRECTIONS}/${correction?.id}/approve`);
    expect(await fundedOf(accountId)).to.equal('350');
  });

  it('are created once, however often the form is sent, and not changed by a repetition', async () => {
    const { accountId } = await app.createAccount();
    const { fields } = await ask(ada, accountId, '200');
    const again = await Promise.all([ada.send(CORRECTIONS, fields), ada.send(CORRECTIONS, fields)]);
    expect(again.map(({ status }) => status)).to.deep.equal([303, 303]);
    expect((await ada.send(CORRECTIONS, { ...fields, amount_usd: '201' })).status).to.equal(409);
    expect(await correctionsOf(accountId)).to.have.length(1);
  });

  it('are approved or rejected by a second person, and withdrawn only by their author', async () => {
    const { accountId } = await app.createAccount();
    const path = await pendingFor(accountId);
    const shown = (await ada.get(CORRECTIONS)).text;
    expect(shown).to.include(`${path}/withdraw`).and.not.include(`${path}/approve`);
    expect((await ada.send(`${path}/approve`)).status).to.equal(403);
    expect((await ada.send(`${path}/reject`)).status).to.equal(403);
    expect((await bob.send(`${path}/withdraw`)).status).to.equal(403);
    expect((await ada.send(`${path}/withdraw`)).status).to.equal(303);
    expect((await bob.send(`${path}/approve`)).status).to.equal(409);
    expect(await fundedOf(accountId)).to.equal('0');
  });

  it('are booked once when many approve at the same moment, and not after a rejection', async () => {
    const { accountId } = await app.createAccount();
    const path = await pendingFor(accountId);
    const answers = await Promise.all([bob, cleo, bob, cleo].map((visitor) => visitor.send(`${path}/approve`)));
    expect(answers.map(({ status }) => status)).to.have.members([303, 303, 409, 409]);
    expect(await transfersOf(accountId)).to.have.length(1);
    const other = await app.createAccount();
    const rejected = await pendingFor(other.accountId);
    await bob.send(`${rejected}/reject`);
    expect((await bob.send(`${rejected}/approve`)).status).to.equal(409);
    expect(await fundedOf(other.accountId)).to.equal('0');
    expect((await cleo.get(CORRECTIONS)).text).to.include('Rejected');
  });

  it('expire', async () => {
    const { accountId } = await app.createAccount();
    const id = newId('correction');
    const correction = { id, account_id: accountId, amount: 1, reason: 'late', author: 'ada@example.com' };
    await app.database('corrections').insert({ ...correction, expires_at: new Date(0) });
    const answer = await bob.send(`${CORRECTIONS}/${id}/approve`);
    expect(answer.status).to.equal(409);
    expect(answer.text).to.include('The correction has expired. Request it again.').and.include('Expired');
    expect(await fundedOf(accountId)).to.equal('0');
  });

  it('stay pending when the balance does not cover the debit', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 10 });
    await ask(ada, accountId, '-150');
    const [correction] = await correctionsOf(accountId);
    const answer = await bob.send(`${CORRECTIONS}/${correction?.id}/approve`);
    expect(answer.status).to.equal(402);
    expect(answer.text).to.include('less funded credit');
    expect((await correctionsOf(accountId))[0]?.outcome).to.equal(null);
    expect(await fundedOf(accountId)).to.equal('10');
  });

  it('credit a payment once per reference, which then is a top-up', async () => {
    const { accountId } = await app.createAccount();
    await ask(ada, accountId, '5000', { reference: 'wire 77' });
    await ask(ada, accountId, '5000', { reference: 'wire 77' });
    const [first, second] = await correctionsOf(accountId);
    expect((await bob.send(`${CORRECTIONS}/${first?.id}/approve`)).status).to.equal(303);
    expect((await bob.send(`${CORRECTIONS}/${second?.id}/approve`)).status).to.equal(409);
    expect(await fundedOf(accountId)).to.equal('5000');
    expect((await reloadAccount(app.database, { id: accountId })).toppedUpAt).to.be.instanceOf(Date);
  });

  it('credit a payment with its reference on the page of an account, and have a form with the account', async () => {
    const { accountId } = await app.createAccount();
    const account = `/console/staff/accounts/${accountId}`;
    for (const [reference, usd] of [
      ['wire 81', '50'],
      ['wire 82', '500'],
    ] as const) {
      const fields = { form_id: newId('form'), amount_usd: usd, reason: 'bank transfer', reference };
      expect((await ada.send(`${account}/adjust`, fields)).status).to.equal(303);
    }
    expect(await fundedOf(accountId)).to.equal('50');
    expect((await reloadAccount(app.database, { id: accountId })).toppedUpAt).to.be.instanceOf(Date);
    const [waiting] = await correctionsOf(accountId);
    expect(waiting).to.include({ reference: 'wire 82', outcome: null });
    await bob.send(`${CORRECTIONS}/${waiting?.id}/approve`);
    expect(await fundedOf(accountId)).to.equal('550');
    const [, form = ''] = /href="([^"]*corrections\?[^"]*)"/.exec((await ada.get(`${account}?tab=money`)).text) ?? [];
    expect((await ada.get(form)).text).to.match(new RegExp(`name="account_id"[^>]*value="${accountId}"`));
  });

  describe('of a split amount', () => {
    const post = (accountId: string, path: string, body: object, baseUrl = app.baseUrl) =>
      call<ErrorBody>(`${baseUrl}/admin/v1/accounts/${accountId}${path}`, {
        key: app.adminToken,
        method: 'POST',
        body,
      });
    const pendingOf = async (accountId: string) =>
      (await correctionsOf(accountId)).map(({ amount, author, outcome }) => [
        formatUsd(BigInt(amount)),
        author,
        outcome,
      ]);

    it('wait for a second person from the one that crosses the limit within a day', async () => {
      const { accountId } = await app.createAccount();
      for (const usd of ['60', '40', '0.000000000001', '-10']) {
        expect((await ask(ada, accountId, usd)).answer.status, usd).to.equal(303);
      }
      expect(await fundedOf(accountId)).to.equal('100');
      expect(await pendingOf(accountId)).to.deep.equal([
        ['0.000000000001', 'ada@example.com', null],
        ['-10', 'ada@example.com', null],
      ]);
    });

    it('add up with payments, promo and signup credit, and with adjustments under another name or token', async () => {
      const created = await call<{ data: { id: string } }>(`${app.baseUrl}/admin/v1/accounts`, {
        key: app.adminToken,
        method: 'POST',
        body: { name: 'New', signup_credit_usd: 20 },
      });
      const { id: accountId } = created.body.data;
      const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
      const promo = { amount_usd: 20, reference: 'p', reason: 'x', expires_at: tomorrow };
      expect((await post(accountId, '/promo-grants', promo)).status).to.equal(201);
      expect((await post(accountId, '/topups', { amount_usd: 20, reference: 'r' })).status).to.equal(201);
      expect((await ask(bob, accountId, '20', { reference: 'wire 1' })).answer.status).to.equal(303);
      expect((await post(accountId, '/adjustments', { amount_usd: -20, reason: 'x', author: 'zoe' })).status).to.equal(
        201,
      );
      expect(await correctionsOf(accountId)).to.deep.equal([]);
      for (const answer of [
        await post(accountId, '/adjustments', { amount_usd: 0.01, reason: 'x', author: 'yan' }),
        await post(accountId, '/topups', { amount_usd: 0.01, reference: 'r2' }),
        await post(accountId, '/promo-grants', { ...promo, reference: 'p2' }),
      ]) {
        expect([answer.status, answer.body.error.code]).to.deep.equal([403, 'forbidden']);
        expect(answer.body.error.message).to.include('within 24 hours need the approval of a second person');
      }
      const fields = { form_id: newId('form'), amount_usd: '1', reason: 'x' };
      const sent = await ada.send(`/console/staff/accounts/${accountId}/adjust`, fields);
      expect(sent.status).to.equal(303);
      expect(await pendingOf(accountId)).to.deep.equal([['1', 'ada@example.com', null]]);
      expect((await post(accountId, '/topups', { amount_usd: 20, reference: 'r' })).status, 'again').to.equal(200);
      expect((await post(accountId, '/promo-grants', promo)).status, 'again').to.equal(200);
      expect(await fundedOf(accountId)).to.equal('20');
    });

    it('never exceed the limit together, however many are sent at once, in any process', async () => {
      const { accountId } = await app.createAccount();
      const second = await app.startSecond();
      const fields = { amount_usd: 60, reason: 'x' };
      const answers = await Promise.all(
        Array.from({ length: 8 }, async (_, index) =>
          index % 2 === 0
            ? post(accountId, '/adjustments', fields, index % 4 === 0 ? app.baseUrl : second)
            : post(
                accountId,
                '/topups',
                { amount_usd: 60, reference: `r ${index}` },
                index % 4 === 1 ? app.baseUrl : second,
              ),
        ),
      );
      expect(answers.filter(({ status }) => status === 201)).to.have.length(1);
      expect(answers.filter(({ status }) => status === 403)).to.have.length(7);
      expect(await fundedOf(accountId)).to.equal('60');
      const asked = { account_id: accountId, amount_usd: '30', reason: 'goodwill' };
      const sent = await Promise.all(Array.from({ length: 4 }, () => cleo.send(CORRECTIONS, asked)));
      expect(sent.map(({ status }) => status)).to.deep.equal([303, 303, 303, 303]);
      expect(await fundedOf(accountId)).to.equal('90');
      expect(await pendingOf(accountId)).to.have.length(3);
    });

    it('do not count corrections that two people approved, of another account, or older than a day', async () => {
      const { accountId } = await app.createAccount();
      const path = await pendingFor(accountId);
      await bob.send(`${path}/approve`);
      const other = await app.createAccount();
      await ask(ada, other.accountId, '100');
      const old = { account_id: accountId, amount: parseUsd(100).toString(), author: 'ada@example.com' };
      const dayAgo = new Date(Date.now() - 86_400_000 - 1_000);
      await app.database('unapproved_adjustments').insert({ id: newId('transfer'), ...old, created_at: dayAgo });
      await ask(ada, accountId, '100');
      expect(await fundedOf(accountId)).to.equal('350.000000000001');
    });

    it('parts of a split amount are not booked beside the requested one when the same form is sent again later', async () => {
      const { accountId } = await app.createAccount();
      await ask(ada, accountId, '100');
      const { fields } = await ask(ada, accountId, '50');
      await app.database.transaction(async (transaction) => {
        await transaction.raw(`SET LOCAL session_replication_role = replica`);
        await transaction('unapproved_adjustments').where({ account_id: accountId }).delete();
      });
      expect((await ada.send(CORRECTIONS, fields)).status).to.equal(303);
      expect(await fundedOf(accountId)).to.equal('100');
      expect(await pendingOf(accountId)).to.have.length(1);
    });
  });

  it('are refused with a reason, and the form keeps its input', async () => {
    const { accountId } = await app.createAccount();
    for (const wrong of [
      { amount_usd: '0' },
      { amount_usd: 'much' },
      { amount_usd: '' },
      { reason: ' ' },
      { amount_usd: '-5', reference: 'wire 1' },
    ]) {
      const { answer } = await ask(ada, accountId, '5', wrong);
      expect(answer.status, JSON.stringify(wrong)).to.equal(400);
      expect(answer.text).to.include('role="alert"').and.include(accountId);
    }
    expect((await ask(ada, newId('account'), '5')).answer.status).to.equal(404);
    expect(await transfersOf(accountId)).to.deep.equal([]);
    expect(await correctionsOf(accountId)).to.deep.equal([]);
  });

  it('cannot be bypassed by the administration or by the page of the account', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 500 });
    const post = (path: string, body: object) =>
      call<ErrorBody>(`${app.baseUrl}/admin/v1/accounts${path}`, { key: app.adminToken, method: 'POST', body });
    const reason = 'a test';
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    for (const answer of [
      await post(`/${accountId}/adjustments`, { amount_usd: '100.000000000001', reason }),
      await post(`/${accountId}/adjustments`, { amount_usd: -101, reason }),
      await post(`/${accountId}/topups`, { amount_usd: 101, reference: 'r' }),
      await post(`/${accountId}/promo-grants`, { amount_usd: 101, reference: 'p', reason, expires_at: tomorrow }),
      await post('', { name: 'New', signup_credit_usd: 101 }),
    ]) {
      expect([answer.status, answer.body.error.code]).to.deep.equal([403, 'forbidden']);
      expect(answer.body.error.message).to.include('/console/staff/corrections.');
    }
    expect((await post(`/${accountId}/topups`, { amount_usd: 100, reference: 'r' })).status).to.equal(201);
    const fields = { form_id: newId('form'), amount_usd: '101', reason };
    expect((await ada.send(`/console/staff/accounts/${accountId}/adjust`, fields)).status).to.equal(303);
    expect((await correctionsOf(accountId)).map(({ outcome }) => outcome)).to.deep.equal([null]);
    expect(await fundedOf(accountId)).to.equal('600');
  });

  it('leave the balances consistent', async () => {
    const { findings } = await reconcile(app.database, NOTHING_OUTSIDE);
    expect(findings).to.deep.equal([]);
  });
});
