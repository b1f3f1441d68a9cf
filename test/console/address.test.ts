import { expect } from 'chai';
import { makeAddressLink } from '../../services/people/address-change.ts';
import { findUserByEmail } from '../../db/queries/users.ts';
import { PASSWORD, type Shown, useTestConsole, Visitor } from '../support/console.ts';

describe('a change of one’s own e-mail address', () => {
  const app = useTestConsole({ settings: { canSendMail: true } });
  let count = 0;

  beforeEach(() => app.database('sign_in_attempts').delete());

  interface Changing {
    readonly visitor: Visitor;
    readonly old: string;
    readonly address: string;
  }

  const ask = (visitor: Visitor, email: string, current = PASSWORD): Promise<Shown> =>
    visitor.send('/console/profile/address', { email, current });

  async function start(): Promise<Changing> {
    const [old, address] = [`old-${++count}@example.com`, `new-${count}@example.com`];
    const visitor = await Visitor.invited(app, { email: old });
    expect((await ask(visitor, address.toUpperCase())).headers['location']).to.equal('/console/profile');
    return { visitor, old, address };
  }

  /** The path of the link in the e-mail to an address; empty if there is no e-mail. */
  async function linkTo(address: string, user: string): Promise<string> {
    const found = await findUserByEmail(app.database, user);
    return (await makeAddressLink(app.database, found?.user.id ?? '', address))?.path ?? '';
  }
  const confirm = (path: string): Promise<Shown> => new Visitor(app).send(path);
  const hasUser = async (email: string): Promise<boolean> => (await findUserByEmail(app.database, email)) !== null;
  const signIn = (email: string): Promise<Shown> =>
    new Visitor(app).send('/console/sign-in', { email, password: PASSWORD });

  it('takes effect when both mailboxes have confirmed, in either order, and sends an e-mail to each', async () => {
    for (const isReverse of [false, true]) {
      const { old, address } = await start();
      const ordered = await app.database('mails').where({ kind: 'address_change' }).pluck('address');
      expect(ordered).to.include.members([old, address]);
      const links = [await linkTo(old, old), await linkTo(address, old)];
      const [first = '', second = ''] = isReverse ? links.toReversed() : links;
      expect((await new Visitor(app).get(first)).text)
        .to.include(old)
        .and.include(address);
      expect((await confirm(first)).text).to.include('when the link in the e-mail to the other address is opened');
      expect([await hasUser(old), await hasUser(address)]).to.deep.equal([true, false]);
      expect((await confirm(second)).text).to.include('Your e-mail address is changed.');
      expect((await signIn(address)).status).to.equal(303);
      expect((await signIn(old)).status).to.equal(401);
    }
  });

  it('accepts a link once, and does not take two uses of one link for two mailboxes', async () => {
    const { old, address } = await start();
    const path = await linkTo(address, old);
    expect((await confirm(path)).status).to.equal(200);
    expect((await confirm(path)).status).to.equal(410);
    expect((await confirm(await linkTo(address, old))).text).to.include('to the other address');
    expect(await hasUser(address)).to.equal(false);
  });

  it('needs the password, another address and an address', async () => {
    const { visitor, old } = await start();
    for (const [email, current] of [
      ['other@example.com', 'guess'],
      [old, PASSWORD],
      ['nobody', PASSWORD],
      [`${'x'.repeat(100_000)}@example.com`, PASSWORD],
      ['a@b.c\r\nBcc: d@e.f', PASSWORD],
    ] as const)
      expect((await ask(visitor, email, current)).status).to.equal(400);
  });

  it('answers the same for an address that another user has, which gets no link', async () => {
    await Visitor.invited(app, { email: 'taken@example.com' });
    const visitor = await Visitor.invited(app, { email: 'curious@example.com' });
    const [taken, free] = [await ask(visitor, 'taken@example.com'), await ask(visitor, 'free@example.com')];
    expect([taken.status, taken.headers['location']]).to.deep.equal([free.status, free.headers['location']]);
    await ask(visitor, 'taken@example.com');
    expect(await linkTo('taken@example.com', 'curious@example.com')).to.equal('');
  });

  it('changes nothing when another user has got the address meanwhile', async () => {
    const { old, address } = await start();
    const links = [await linkTo(old, old), await linkTo(address, old)];
    await Visitor.invited(app, { email: address });
    expect((await confirm(links[0] ?? '')).status).to.equal(200);
    expect((await confirm(links[1] ?? '')).status).to.equal(410);
    expect(await hasUser(old)).to.equal(true);
  });

  it('ends with its time, and with another change', async () => {
    const { visitor, old, address } = await start();
    const path = await linkTo(address, old);
    await ask(visitor, 'later@example.com');
    expect((await new Visitor(app).get(path)).status).to.equal(410);
    const later = await linkTo('later@example.com', old);
    await app.database('address_changes').update({ expires_at: new Date(0) });
    expect((await confirm(later)).status).to.equal(410);
  });

  it('ends the links for a new password that the old mailbox has', async () => {
    const { old, address } = await start();
    await app.database('user_links').update({ used_at: null });
    for (const mailbox of [old, address]) await confirm(await linkTo(mailbox, old));
    const found = await findUserByEmail(app.database, address);
    expect(await app.database('user_links').where({ user_id: found?.user.id })).to.deep.equal([]);
  });

  it('limits the requests of a user', async () => {
    const { visitor } = await start();
    for (let tries = 0; tries < 4; tries++) await ask(visitor, `many-${tries}@example.com`);
    expect((await ask(visitor, 'many-5@example.com')).text).to.include('Too many attempts');
  });
});
