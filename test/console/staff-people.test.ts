import { expect } from 'chai';
import { findBlocks } from '../../services/people/registration-blocks.ts';
import {
  addSecondFactor,
  invite,
  linkIn,
  PASSWORD,
  useAccount,
  useTestConsole,
  useVisitor,
  Visitor,
} from '../support/console.ts';

describe('accounts and people that operators create and change in the console', () => {
  const app = useTestConsole();
  const customer = useAccount(app, { fundedUsd: 25 });
  const operator = useVisitor(app, () => ({ email: 'op@example.com', staff_role: 'operator' }));
  let account: string;
  let count = 0;

  before(async () => {
    account = `/console/staff/accounts/${customer.accountId}`;
  });
  beforeEach(() => app.database('sign_in_attempts').delete());

  const newEmail = (): string => `person-${++count}@example.com`;
  const userOf = (email: string) => app.database('users').where({ email }).first();
  const roleOf = async (email: string): Promise<string | undefined> =>
    (
      await app
        .database('account_members')
        .where({ user_id: (await userOf(email)).id })
        .first('role')
    )?.role;

  describe('an account', () => {
    /** The pages and paths of the forms that create and change an account. */
    const forms = () =>
      [
        ['/console/staff/accounts', '/console/staff/accounts'],
        [`${account}?tab=details`, `${account}/details`],
      ] as const;

    it('is created with its details, and opened', async () => {
      const fields = { name: 'Kites Ltd', email: 'kites@example.com', external_id: 'crm-1', max_concurrent_tasks: '7' };
      const { headers } = await operator.send('/console/staff/accounts', fields);
      const id = String(headers['location']).split('/').at(-1);
      expect(await app.database('accounts').where({ id }).first()).to.include({ ...fields, max_concurrent_tasks: 7 });
      expect((await operator.get(String(headers['location']))).text).to.include('Kites Ltd');
    });

    for (const [what, fields] of [
      ['no name', {}],
      ['an address that is none', { name: 'x', email: 'nowhere' }],
      ['a number of tasks that is none', { name: 'x', max_concurrent_tasks: 'many' }],
      ['a name that is too long', { name: 'x'.repeat(201) }],
    ] as const) {
      it(`is neither created nor changed with ${what}`, async () => {
        const before = await app.database('accounts').select();
        for (const [page, form] of forms()) {
          const shown = await operator.edit(page, fields, form);
          expect([shown.status, shown.text.includes('role="alert"')], form).to.deep.equal([400, true]);
        }
        expect(await app.database('accounts').select()).to.deep.equal(before);
      });
    }

    it('does not get the external id of another', async () => {
      await operator.send('/console/staff/accounts', { name: 'First', external_id: 'crm-taken' });
      const fields = { name: 'Second', external_id: 'crm-taken' };
      for (const [page, form] of forms()) {
        const { status, text } = await operator.edit(page, fields, form);
        expect([status, text.includes('Another account has this external id')], page).to.deep.equal([409, true]);
      }
    });

    it('is changed, and the author of the change is recorded; an empty field removes its detail', async () => {
      const details = { name: 'Renamed', email: 'r@example.com' };
      const [page, form] = [`${account}?tab=details`, `${account}/details`];
      await operator.edit(page, { ...details, external_id: 'crm-9' }, form);
      await operator.edit(page, details, form);
      expect(await app.database('accounts').where({ id: customer.accountId }).first()).to.include({
        name: 'Renamed',
        email: 'r@example.com',
        external_id: null,
      });
      const actions = app.database('operator_actions').where({ account_id: customer.accountId, kind: 'edit' });
      expect(await actions.pluck('author')).to.deep.equal(['op@example.com', 'op@example.com']);
    });
  });

  describe('a person', () => {
    it('is invited to an account by a link that lets them in', async () => {
      const email = newEmail();
      const link = linkIn(await operator.send(`${account}/members`, { email, name: 'Olive', role: 'developer' }));
      const visitor = new Visitor(app);
      await visitor.send(link, { password: PASSWORD, repeated: PASSWORD });
      expect((await visitor.get(`/console/accounts/${customer.accountId}/keys`)).status).to.equal(200);
      expect(await roleOf(email)).to.equal('developer');
    });

    it('becomes a member at once with an existing user', async () => {
      const email = newEmail();
      const visitor = await Visitor.invited(app, { email });
      const sent = await operator.send(`${account}/members`, { email, name: 'Known', role: 'finance' });
      expect((await operator.get(String(sent.headers['location']))).text).to.include(email);
      expect((await visitor.get(`/console/accounts/${customer.accountId}/billing`)).status).to.equal(200);
    });

    it('keeps the role as a member who is invited again', async () => {
      const email = newEmail();
      await invite(app, { email, account_id: customer.accountId, member_role: 'developer' });
      const sent = await operator.send(`${account}/members`, { email, name: 'Known', role: 'owner' });
      expect([sent.status, sent.text.includes('A member already has this e-mail address.')]).to.deep.equal([409, true]);
      expect(await roleOf(email)).to.equal('developer');
    });

    it('is renamed, gets another role, and leaves the account', async () => {
      const email = newEmail();
      await invite(app, { email, account_id: customer.accountId });
      const { id } = await userOf(email);
      const path = `/console/staff/people/${id}`;
      await operator.edit(path, { name: 'Renamed Person' });
      await operator.send(`${path}/role`, { account_id: customer.accountId, role: 'finance' });
      expect((await operator.get(path)).text).to.include('Renamed Person');
      expect(await roleOf(email)).to.equal('finance');
      const king = { account_id: customer.accountId, role: 'king' };
      expect((await operator.send(`${path}/role`, king)).status).to.equal(400);
      await operator.send(`${path}/leave`, { account_id: customer.accountId });
      expect(await roleOf(email)).to.equal(undefined);
    });

    it('is signed out when disabled, and can sign in again when enabled', async () => {
      const email = newEmail();
      const visitor = await Visitor.invited(app, { email, account_id: customer.accountId });
      const path = `/console/staff/people/${(await userOf(email)).id}`;
      await operator.send(`${path}/disable`);
      expect((await visitor.get('/console/profile')).status).to.equal(303);
      expect((await visitor.send('/console/sign-in', { email, password: PASSWORD })).status).to.equal(401);
      expect((await operator.send(`${path}/link`)).status).to.equal(400);
      await operator.send(`${path}/enable`);
      expect((await visitor.send('/console/sign-in', { email, password: PASSWORD })).status).to.equal(303);
    });

    it('a person is disabled when blocked, with a reason, and cannot register again', async () => {
      const email = newEmail();
      await invite(app, { email, account_id: customer.accountId });
      const { id } = await userOf(email);
      await operator.send(`/console/staff/people/${id}/block`, { reason: 'fraud' });
      expect((await userOf(email)).disabled_at).to.be.instanceOf(Date);
      const found = await findBlocks(app.database, { email: email.replace('@', '+2@'), network: '192.0.2.1' });
      expect([...found]).to.deep.equal(['address']);
    });

    it('signs in without a second factor after the operator removed it', async () => {
      const email = newEmail();
      const visitor = await Visitor.invited(app, { email, account_id: customer.accountId });
      await addSecondFactor(visitor);
      await operator.send(`/console/staff/people/${(await userOf(email)).id}/second-factor`);
      expect((await userOf(email)).second_factor_secret).to.equal(null);
    });

    it('cannot be changed by a form if they are staff: no form creates an operator', async () => {
      const email = newEmail();
      await invite(app, { email, staff_role: 'finance' });
      const { id } = await userOf(email);
      for (const action of ['', '/disable', '/block', '/link', '/second-factor', '/role', '/leave'])
        expect(
          (await operator.send(`/console/staff/people/${id}${action}`, { name: 'x', reason: 'x' })).status,
          action,
        ).to.equal(403);
      expect((await operator.get(`/console/staff/people/${id}`)).text).not.to.include('action="/console/staff/people');
    });
  });
});
