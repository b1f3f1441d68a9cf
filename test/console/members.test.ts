import { expect } from 'chai';
import type { MemberRole } from '../../domain/roles.ts';
import type { TestCaller } from '../support/factories.ts';
import {
  invite as inviteByAdministration,
  linkIn,
  PASSWORD,
  type Shown,
  useTestConsole,
  Visitor,
} from '../support/console.ts';

const CHOSEN = { password: PASSWORD, repeated: PASSWORD };

describe('the members of an account', () => {
  const app = useTestConsole();
  let customer: TestCaller;
  let owner: Visitor;
  let path: string;
  let people = 0;

  beforeEach(async () => {
    customer = await app.createAccount({ fundedUsd: 5 });
    path = `/console/accounts/${customer.accountId}/members`;
    owner = await member('owner');
  });
  afterEach(() => app.database('sign_in_attempts').delete());

  const newEmail = (): string => `person-${(people += 1)}@example.com`;

  /** A member of the account who has signed in. */
  async function member(role: MemberRole, email = newEmail(), { accountId } = customer): Promise<Visitor> {
    return Visitor.invited(app, { email, account_id: accountId, member_role: role });
  }

  async function idOf(email: string): Promise<string> {
    const [user] = await app.database('users').where({ email }).select<{ id: string }[]>('id');
    return user?.id ?? '';
  }

  /** The roles of the account's members, by e-mail. */
  async function roles(): Promise<Record<string, string>> {
    const rows = await app
      .database('account_members')
      .join('users', 'users.id', 'user_id')
      .where({ account_id: customer.accountId })
      .select<{ email: string; role: string }[]>('email', 'role');
    return Object.fromEntries(rows.map(({ email, role }) => [email, role]));
  }

  function invite(email: string, role: MemberRole = 'developer', by = owner): Promise<Shown> {
    return by.send(path, { email, role });
  }

  describe('invitations', () => {
    it('let a new person choose a name and a password, and join the account', async () => {
      const link = linkIn(await invite('New@Example.com', 'finance'));
      const newcomer = new Visitor(app);
      expect((await newcomer.get(link)).text)
        .to.include('new@example.com')
        .and.include('Finance');
      const joined = await newcomer.send(link, { name: 'Nora <b>New</b>', ...CHOSEN });
      expect([joined.status, (await roles())['new@example.com']]).to.deep.equal([303, 'finance']);
      expect((await newcomer.get(`/console/accounts/${customer.accountId}/billing`)).status).to.equal(200);
      expect((await owner.get(path)).text).to.include('&lt;b&gt;New');
      expect((await new Visitor(app).get(link)).status).to.equal(410);
      expect((await new Visitor(app).send(link, { name: 'Thief', ...CHOSEN })).status).to.equal(410);
    });

    it('show their link once, and are listed and withdrawn without it', async () => {
      const email = newEmail();
      const link = linkIn(await invite(email));
      const listed = await owner.get(path);
      expect(listed.text).to.include(email).and.not.include(link);
      expect((await owner.send(`${path}/withdraw`, { email })).status).to.equal(303);
      expect((await owner.get(path)).text).not.to.include(email);
      expect((await new Visitor(app).get(link)).status).to.equal(410);
      expect((await owner.send(`${path}/withdraw`, { email })).status).to.equal(404);
    });

    it('are accepted by their receiver when already signed in, and by nobody else who holds the link', async () => {
      const other = await app.createAccount();
      const email = newEmail();
      const invited = await member('owner', email, other);
      const thief = await member('owner', newEmail(), other);
      const link = linkIn(await invite(email));
      expect((await new Visitor(app).get(link)).text)
        .to.include('Sign in as')
        .and.not.include('name="password"');
      expect((await new Visitor(app).send(link, { name: 'Thief', ...CHOSEN })).text).to.include('Sign in as');
      expect((await thief.get(link)).status).to.equal(409);
      expect((await thief.send(link)).status).to.equal(409);
      expect(await roles()).not.to.have.property(email);
      expect((await invited.send(link)).headers['location']).to.equal(`/console/accounts/${customer.accountId}`);
      expect((await roles())[email]).to.equal('developer');
    });

    it('give nothing to a user who registered the address first and does not hold the link', async () => {
      const squatter = await app.createAccount();
      const email = newEmail();
      const taken = await member('owner', email, squatter);
      await invite(email);
      expect((await taken.get(`/console/accounts/${customer.accountId}`)).status).to.equal(404);
    });

    it('make no existing member an owner, and demote nobody', async () => {
      const email = newEmail();
      await member('finance', email);
      expect((await invite(email, 'owner')).status).to.equal(409);
      expect((await roles())[email]).to.equal('finance');
    });

    it('to an address that was invited before replace the earlier one', async () => {
      const email = newEmail();
      const [first, second] = [linkIn(await invite(email)), linkIn(await invite(email, 'finance'))];
      expect((await new Visitor(app).get(first)).status).to.equal(410);
      expect((await new Visitor(app).get(second)).status).to.equal(200);
    });

    for (const [email, role] of [
      ['', 'owner'],
      ['nobody', 'owner'],
      [`${'x'.repeat(250)}@example.com`, 'owner'],
      ['a@example.com', 'king'],
      ['a@example.com', ''],
    ] as const) {
      it(`are refused for ${JSON.stringify(email.slice(0, 20))} as ${JSON.stringify(role)}`, async () => {
        expect((await owner.send(path, { email, role })).status).to.equal(400);
      });
    }

    it('are limited, so that they do not reveal who has an account', async () => {
      for (let count = 0; count < 20; count++) await invite(newEmail());
      expect((await invite(newEmail())).status).to.equal(409);
    });
  });

  describe('removing a member', () => {
    it('revokes the links that a former owner created: of invitations, and for new passwords', async () => {
      const [email, helper] = [newEmail(), newEmail()];
      const leaving = await member('owner', email);
      await member('developer', helper);
      const invitation = linkIn(await invite(newEmail(), 'owner', leaving));
      const password = linkIn(await leaving.send(`${path}/${await idOf(helper)}/link`));
      expect([
        (await new Visitor(app).get(invitation)).status,
        (await new Visitor(app).get(password)).status,
      ]).to.deep.equal([200, 200]);
      const page = `${path}/${await idOf(email)}`;
      await owner.edit(page, { role: 'developer' }, `${page}/role`);
      expect([
        (await new Visitor(app).get(invitation)).status,
        (await new Visitor(app).get(password)).status,
      ]).to.deep.equal([410, 410]);
    });

    it('the last owner is neither removed nor demoted', async () => {
      const [email = ''] = Object.keys(await roles());
      const page = `${path}/${await idOf(email)}`;
      const demoted = await owner.edit(page, { role: 'finance' }, `${page}/role`);
      const removed = await owner.send(`${page}/remove`);
      expect([demoted.status, removed.status]).to.deep.equal([409, 409]);
      expect(removed.text).to.include('needs at least one owner');
      expect(await roles()).to.deep.equal({ [email]: 'owner' });
    });

    it('leaves one of two owners who remove each other at once', async () => {
      const other = await member('owner');
      const [one = '', two = ''] = await Promise.all(Object.keys(await roles()).map((email) => idOf(email)));
      await Promise.all([owner.get(`${path}/${one}`), other.get(`${path}/${two}`)]);
      await Promise.all([
        owner.send(`${path}/${two}/remove`),
        other.send(`${path}/${one}/remove`),
        owner.send(`${path}/${one}/role`, { role: 'developer' }),
        other.send(`${path}/${two}/role`, { role: 'finance' }),
      ]);
      expect(Object.values(await roles()).filter((role) => role === 'owner')).to.have.length(1);
    });

    it('does not count disabled owners', async () => {
      const email = newEmail();
      await member('owner', email);
      await app.database('users').where({ email }).update({ disabled_at: new Date() });
      const [mine = ''] = Object.keys(await roles()).filter((one) => one !== email);
      expect((await owner.send(`${path}/${await idOf(mine)}/remove`)).status).to.equal(409);
    });
  });

  describe('a link for a new password', () => {
    it('lets only a member of this account choose one', async () => {
      const email = newEmail();
      const lost = await member('developer', email);
      const link = linkIn(await owner.send(`${path}/${await idOf(email)}/link`));
      const chosen = await new Visitor(app).send(link, { password: `${PASSWORD}!`, repeated: `${PASSWORD}!` });
      expect(chosen.status).to.equal(303);
      expect((await lost.get('/console/profile')).status).to.equal(303);
    });

    it('is not created for a member of another account too, or for staff of the gateway', async () => {
      const other = await app.createAccount();
      const [both, staff] = [newEmail(), newEmail()];
      await member('owner', both, other);
      await inviteByAdministration(app, { email: staff, staff_role: 'operator', account_id: customer.accountId });
      await app.database('account_members').insert({
        account_id: customer.accountId,
        user_id: await idOf(both),
        role: 'developer',
      });
      for (const email of [both, staff]) {
        const shown = await owner.send(`${path}/${await idOf(email)}/link`);
        expect([shown.status, linkIn(shown)]).to.deep.equal([409, '']);
      }
    });

    it('stops working as soon as its user joins another account, or leaves this one', async () => {
      const other = await app.createAccount();
      const [joining, leaving] = [newEmail(), newEmail()];
      await Promise.all([member('developer', joining), member('developer', leaving)]);
      const links = [joining, leaving].map(async (email) =>
        linkIn(await owner.send(`${path}/${await idOf(email)}/link`)),
      );
      const [first = '', second = ''] = await Promise.all(links);
      await app.database('account_members').insert({
        account_id: other.accountId,
        user_id: await idOf(joining),
        role: 'owner',
      });
      await owner.send(`${path}/${await idOf(leaving)}/remove`);
      for (const link of [first, second]) {
        expect((await new Visitor(app).send(link, CHOSEN)).status).to.equal(410);
      }
    });
  });
});
