import { expect } from 'chai';
import { orderMail } from '../../../../db/queries/mails.ts';
import { newId } from '../../../../domain/ids.ts';
import type { TestCaller } from '../../../support/factories.ts';
import { useTestConsole, Visitor } from '../../../support/console.ts';
import { connectGenway, field, type Genway } from '../../../support/genway.ts';
import { call } from '../../../support/stack.ts';

describe('api/routes/admin/users', () => {
  const app = useTestConsole();
  let genway: Genway;
  let customer: TestCaller;

  before(async () => {
    genway = await connectGenway(app);
    customer = await app.createAccount();
  });

  /** @returns the id and the path of the link */
  async function invite(email: string, ...words: string[]): Promise<{ readonly id: string; readonly path: string }> {
    const made = await genway('users', 'invite', email, 'Somebody', ...words);
    return { id: field(made, 'id'), path: new URL(field(made, 'link')).pathname };
  }

  async function signIn(path: string): Promise<Visitor> {
    const visitor = new Visitor(app);
    await visitor.send(path, { password: 'a kite over the sea', repeated: 'a kite over the sea' });
    return visitor;
  }

  const isSignedIn = async (visitor: Visitor): Promise<boolean> =>
    (await visitor.get('/console/profile')).status === 200;

  it('invites a person, who then signs in to the account', async () => {
    // contract 4.11:48
    const { id, path } = await invite(
      'ada@example.com',
      '--account-id',
      customer.accountId,
      '--member-role',
      'developer',
    );
    const ada = await signIn(path);
    expect((await ada.get(`/console/accounts/${customer.accountId}`)).status).to.equal(200);
    const shown = await genway('users', 'show', id);
    expect(field(shown, 'accounts')).to.include(customer.accountId).and.include('developer');
    expect(field(shown, 'has_password')).to.equal('true');
    expect(shown).not.to.match(/^link/m);
  });

  it('creates no user for an invitation to an account that does not exist', async () => {
    const refusal = await genway('users', 'invite', 'lost@example.com', 'Lost', '--account-id', newId('account'));
    expect(refusal).to.include('There is no such account');
    expect(await genway('users', 'list', 'lost@')).not.to.include('lost@example.com');
  });

  it('refuses a second user with an e-mail address, in any case', async () => {
    // contract 4.11:48
    await invite('once@example.com');
    expect(await genway('users', 'invite', 'Once@Example.com', 'Twice')).to.include('is the address of another user');
  });

  it('finds users by a part of the name or address, account, staff role and whether they are disabled', async () => {
    // contract 4.11:48
    const [member, staff] = [
      await invite('search-member@example.com', '--account-id', customer.accountId),
      await invite('search-staff@example.com', '--staff-role', 'finance'),
    ];
    const idsIn = (list: string): string[] => list.match(/usr_\w+/g) ?? [];
    expect(idsIn(await genway('users', 'list', 'SEARCH-'))).to.deep.equal([staff.id, member.id]);
    expect(idsIn(await genway('users', 'list', 'search-', '--staff'))).to.deep.equal([staff.id]);
    expect(idsIn(await genway('users', 'list', 'search-', '--account-id', customer.accountId))).to.deep.equal([
      member.id,
    ]);
    expect(idsIn(await genway('users', 'list', 'search-%'))).to.deep.equal([]);
    await genway('users', 'update', member.id, '--disabled');
    expect(idsIn(await genway('users', 'list', 'search-', '--disabled'))).to.deep.equal([member.id]);
  });

  it('lists users in pages', async () => {
    for (const name of ['page-1', 'page-2', 'page-3']) await invite(`${name}@example.com`);
    const first = await genway('users', 'list', 'page-', '--limit', '2');
    expect(first).to.include('page-3').and.include('page-2').and.not.include('page-1');
    const cursor = /--cursor (\S+)/.exec(first)?.[1] ?? '';
    const second = await genway('users', 'list', 'page-', '--limit', '2', '--cursor', cursor);
    expect(second).to.include('page-1').and.not.include('more:');
  });

  it('signs a disabled user out at once and for good: enabling restores no session and no link', async () => {
    // contract 4.11:48
    const { id, path } = await invite('gone@example.com');
    const visitor = await signIn(path);
    const link = new URL(field(await genway('users', 'link', id), 'link')).pathname;
    expect(await isSignedIn(visitor)).to.equal(true);
    expect(field(await genway('users', 'update', id, '--disabled'), 'disabled_at')).to.match(/^\d{4}-/);
    expect(await isSignedIn(visitor)).to.equal(false);
    expect(await genway('users', 'link', id)).to.include('The user is disabled');
    expect(field(await genway('users', 'update', id, '--no-disabled'), 'disabled_at')).to.equal('-');
    expect(await isSignedIn(visitor)).to.equal(false);
    expect((await visitor.get(link)).status).to.equal(410);
  });

  it('changes name and staff role, and removes the role', async () => {
    // contract 4.11:48
    const { id } = await invite('role@example.com');
    const changed = await genway('users', 'update', id, '--name', 'Rosa', '--staff-role', 'readonly');
    expect([field(changed, 'name'), field(changed, 'staff_role')]).to.deep.equal(['Rosa', 'readonly']);
    expect(field(await genway('users', 'update', id, '--no-staff-role'), 'staff_role')).to.equal('-');
    expect(field(await genway('users', 'show', id), 'name')).to.equal('Rosa');
  });

  it('removes a second factor that its user has lost', async () => {
    // contract 4.11:48
    const { id } = await invite('phone@example.com');
    await app
      .database('users')
      .where({ id })
      .update({ second_factor_secret: Buffer.from('encrypted') });
    expect(field(await genway('users', 'show', id), 'has_second_factor')).to.equal('true');
    expect(field(await genway('users', 'update', id, '--no-second-factor'), 'has_second_factor')).to.equal('false');
  });

  it('grants and revokes accounts, at once', async () => {
    // contract 4.11:51
    const other = await app.createAccount();
    const { id, path } = await invite('moves@example.com');
    const visitor = await signIn(path);
    const home = `/console/accounts/${other.accountId}`;
    expect((await visitor.get(home)).status).to.equal(404);
    await genway('users', 'join', id, other.accountId, '--role', 'finance');
    expect((await visitor.get(`${home}/keys`)).status).to.equal(403);
    await genway('users', 'join', id, other.accountId, '--role', 'owner');
    expect((await visitor.get(`${home}/keys`)).status).to.equal(200);
    expect(field(await genway('users', 'leave', id, other.accountId), 'accounts')).to.equal('[]');
    expect((await visitor.get(home)).status).to.equal(404);
    expect(await genway('users', 'leave', id, other.accountId)).to.include('There is no such account');
  });

  it('deletes users, who are signed out at once, with the e-mails to their address', async () => {
    // contract 4.11:48
    const { id, path } = await invite('removed@example.com', '--account-id', customer.accountId);
    const visitor = await signIn(path);
    for (const address of ['removed@example.com', 'kept@example.com'])
      await orderMail(app.database, { kind: 'password_link', address, reference: null });
    expect(await genway('users', 'remove', id)).to.match(/deleted +true/);
    expect(await app.database('mails').where('address', 'like', '%ed@example.com').pluck('address'))
      .to.not.include('removed@example.com')
      .and.to.include('kept@example.com');
    expect(await isSignedIn(visitor)).to.equal(false);
    expect(await genway('users', 'remove', id)).to.include('There is no such user');
  });

  it('never answers hostile ids and texts with a 500', async () => {
    const { id } = await invite('hostile@example.com');
    const key = app.adminToken;
    const statuses = [
      await call(`${app.baseUrl}/admin/v1/users?search=%00`, { key }),
      await call(`${app.baseUrl}/admin/v1/users?account_id=%00`, { key }),
      await call(`${app.baseUrl}/admin/v1/users/${id}/accounts`, {
        key,
        body: { account_id: '\0', role: 'owner' },
      }),
      await call(`${app.baseUrl}/admin/v1/users`, { key, body: { email: 'a\0@b.c', name: '\0', account_id: '\0' } }),
    ].map(({ status }) => status);
    expect(statuses).to.deep.equal([400, 400, 400, 400]);
  });
});
