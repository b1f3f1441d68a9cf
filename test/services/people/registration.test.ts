import { expect } from 'chai';
import { NO_CREDIT } from '../../../catalogue/signup.ts';
import type { Database } from '../../../db/database.ts';
import { SWEEPS } from '../../../db/sweeps.ts';
import { insertUser } from '../../../db/queries/users.ts';
import { newId } from '../../../domain/ids.ts';
import {
  completeRegistration,
  confirm,
  makeRegistrationLink,
  register,
  registerWithProvider,
  resendVerification,
  verify,
} from '../../../services/people/registration.ts';
import { hashPassword } from '../../../services/people/passwords.ts';
import { approveRegistration, rejectRegistration } from '../../../services/people/registration-decisions.ts';
import type { RegistrationServices } from '../../../services/people/registration-rules.ts';
import { PASSWORD } from '../../support/console.ts';
import { useTestDatabase } from '../../support/database.ts';

describe('services/people/registration', () => {
  let database: Database;
  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });
  let count = 0;
  const newEmail = (): string => `stranger-${++count}@example.com`;

  const services = (registration: RegistrationServices['site']['registration']): RegistrationServices => ({
    database,
    site: { ...NO_CREDIT, registration, documents: [] },
  });
  const open = () => services({ domains: null, needsApproval: false });
  const details = { name: 'Ada', language: 'zh', termsVersion: '1', password: PASSWORD, verifyCaptcha: null };

  /** A client with a network of its own. */
  const newClient = (): string => `198.51.${++count % 256}.1`;

  async function attempt(email: string, to = open()): Promise<string> {
    expect(await register(to, { ...details, email, ip: newClient() })).to.include({ refusal: null });
    return latest(email);
  }

  const latest = async (email: string): Promise<string> =>
    (await database('registrations').where({ email }).orderBy('created_at', 'desc').first('id')).id;
  const rowOf = (id: string) => database('registrations').where({ id }).first();
  /** The token of the link that is mailed. */
  async function mailedToken(id: string): Promise<string> {
    const link = await makeRegistrationLink(database, id, null);
    return link !== null && typeof link === 'object' ? (link.path.split('/').at(-1) ?? '') : '';
  }

  it('creates no user before the address is verified, and then the user with an account as its owner', async () => {
    const email = newEmail();
    const id = await attempt(email);
    expect(await database('users').where({ email })).to.deep.equal([]);
    const token = await mailedToken(id);
    expect(await database('users').where({ email })).to.deep.equal([]);
    const admitted = await verify(open(), { token, password: PASSWORD });
    const user = typeof admitted === 'string' ? null : admitted.user;
    expect(user).to.include({ email, name: 'Ada', language: 'zh', hasPassword: true });
    const [membership] = await database('account_members').where({ user_id: user?.id });
    expect(membership.role).to.equal('owner');
    expect(await rowOf(id)).to.include({
      state: 'done',
      user_id: user?.id,
      account_id: membership.account_id,
      email: null,
      password_hash: null,
      link_digest: null,
      terms_version: '1',
    });
  });

  it('accepts a link once, until it expires, and only with the password of its attempt', async () => {
    const email = newEmail();
    const [mine, other] = [await attempt(email), await attempt(email)];
    const token = await mailedToken(mine);
    expect(await verify(open(), { token, password: 'another password' })).to.equal('wrong');
    const expired = await mailedToken(other);
    await database('registrations')
      .where({ id: other })
      .update({ expires_at: new Date(0) });
    expect(await verify(open(), { token: expired, password: PASSWORD })).to.equal('over');
    expect(await verify(open(), { token, password: PASSWORD })).to.have.property('user');
    expect(await verify(open(), { token, password: PASSWORD })).to.equal('over');
  });

  it('creates one account when a link is used ten times at once', async () => {
    const email = newEmail();
    const token = await mailedToken(await attempt(email));
    const results = await Promise.all(
      Array.from({ length: 10 }, () => verify(open(), { token, password: PASSWORD }).catch(() => 'failed')),
    );
    expect(results.filter((result) => typeof result === 'object')).to.have.length(1);
    expect(await database('accounts').where({ email })).to.have.length(1);
  });

  it('opens no registration by the link of another one, whose password the reader knows', async () => {
    const [mine, other] = [await attempt(newEmail()), await attempt(newEmail())];
    await database('registrations')
      .where({ id: other })
      .update({ password_hash: await hashPassword('the password of another') });
    const [myToken, token] = [await mailedToken(mine), await mailedToken(other)];
    expect(await verify(open(), { token, password: PASSWORD })).to.equal('wrong');
    expect(await verify(open(), { token: myToken, password: 'the password of another' })).to.equal('wrong');
    for (const wrong of [mine, '', `${myToken} `, myToken.toUpperCase(), 'x'.repeat(5_000)])
      expect(await verify(open(), { token: wrong, password: PASSWORD })).to.equal('over');
  });

  describe('sixteen at once', () => {
    const atOnce = <Result>(act: (index: number) => Promise<Result>): Promise<readonly (Result | 'failed')[]> =>
      Promise.all(Array.from({ length: 16 }, (_, index) => act(index).catch(() => 'failed' as const)));

    it('get three e-mails to an address', async () => {
      const email = newEmail();
      const results = await atOnce(() => register(open(), { ...details, email, ip: newClient() }));
      expect(results.filter((result) => typeof result === 'object')).to.have.length(3);
      expect(await database('mails').where({ address: email })).to.have.length(3);
    });

    it('get ten registrations from a /64, whichever addresses of the /64 they have', async () => {
      const ip = (index: number) => `2001:db8:5:1:${index.toString(16)}::1`;
      const results = await atOnce((index) => register(open(), { ...details, email: newEmail(), ip: ip(index) }));
      expect(results.filter((result) => typeof result === 'object')).to.have.length(10);
    });

    it('get the e-mail of a registration once more', async () => {
      const email = newEmail();
      const id = await attempt(email);
      await atOnce(() => resendVerification(open(), { id, ip: newClient() }));
      expect(await database('mails').where({ address: email })).to.have.length(2);
    });

    it('complete a registration with a provider once', async () => {
      const email = newEmail();
      const token = `token of ${email}`;
      const identity = { issuer: 'https://login.example.com', subject: email };
      const applicant = { identity, email, source: 'Example', ip: newClient(), language: 'en', token };
      await registerWithProvider(open(), applicant);
      await atOnce(() => confirm(open(), token, { name: 'Bea', termsVersion: null, verifyCaptcha: null }));
      expect(await database('accounts').where({ email })).to.have.length(1);
      expect(await database('user_identities').where(identity)).to.have.length(1);
    });

    it('decide a registration once, as approved or as rejected', async () => {
      const careful = services({ domains: null, needsApproval: true });
      const email = newEmail();
      const id = await attempt(email, careful);
      await verify(careful, { token: await mailedToken(id), password: PASSWORD });
      const by = { author: 'ada', reason: 'a test' };
      await atOnce<unknown>((index) =>
        index % 2 === 0
          ? approveRegistration(careful, id, by)
          : rejectRegistration(database, id, { ...by, message: '' }),
      );
      const { state } = await rowOf(id);
      expect(await database('operator_actions').where({ registration_id: id })).to.have.length(1);
      expect(await database('accounts').where({ email })).to.have.length(state === 'done' ? 1 : 0);
      const kinds = await database('mails').where({ address: email }).whereNot({ kind: 'registration' }).pluck('kind');
      expect(kinds).to.deep.equal([state === 'done' ? 'welcome' : 'registration_rejected']);
    });
  });

  it('limits the passwords that a holder of a link can try', async () => {
    const token = await mailedToken(await attempt(newEmail()));
    for (let tries = 0; tries < 10; tries++)
      expect(await verify(open(), { token, password: `guess ${tries}` })).to.equal('wrong');
    expect(await verify(open(), { token, password: PASSWORD })).to.equal('too many');
  });

  it('answers an attempt with a known address as any other, and refuses it when the e-mail is sent', async () => {
    const email = newEmail();
    const known = { id: newId('user'), email, name: 'Known', staffRole: null, passwordHash: null };
    const user = await insertUser(database, known);
    const id = await attempt(email);
    expect(await rowOf(id)).to.include({ state: 'waiting_for_verification' });
    // The e-mail is sent again if its server was unavailable.
    for (let tries = 0; tries < 2; tries++)
      expect(await makeRegistrationLink(database, id, user)).to.equal('known address');
    expect(await rowOf(id)).to.include({ state: 'refused', reason: 'known_address', password_hash: null });
  });

  it('creates no account for an address that a user has got since the e-mail', async () => {
    const email = newEmail();
    const id = await attempt(email);
    const token = await mailedToken(id);
    await insertUser(database, { id: newId('user'), email, name: 'Faster', staffRole: null, passwordHash: null });
    expect(await verify(open(), { token, password: PASSWORD })).to.equal('over');
    expect(await rowOf(id)).to.include({ state: 'refused', reason: 'known_address' });
  });

  it('limits attempts of one network and of one address', async () => {
    const ip = newClient();
    const results: unknown[] = [];
    for (let tries = 0; tries < 11; tries++)
      results.push(await register(open(), { ...details, email: newEmail(), ip }));
    expect(results.indexOf('too many')).to.equal(10);
    const email = newEmail();
    for (let tries = 0; tries < 3; tries++) await attempt(email);
    expect(await register(open(), { ...details, email, ip: newClient() })).to.equal('too many');
  });

  it('admits only the domains of the operator, and no subdomain of them', async () => {
    const closed = services({ domains: ['example.com'], needsApproval: false });
    await attempt(newEmail(), closed);
    for (const email of ['a@example.org', 'a@sub.example.com', 'a@example.com.example.org']) {
      expect(await register(closed, { ...details, email, ip: newClient() })).to.include({ refusal: 'domain' });
      expect(await rowOf(await latest(email))).to.include({ state: 'refused', reason: 'domain', password_hash: null });
    }
  });

  it('holds a verified registration until an operator approves it, if the operator wants to', async () => {
    const careful = services({ domains: null, needsApproval: true });
    const email = newEmail();
    const id = await attempt(email, careful);
    const token = await mailedToken(id);
    expect(await verify(careful, { token, password: PASSWORD })).to.equal('held');
    expect(await verify(careful, { token, password: PASSWORD })).to.equal('over');
    expect(await database('users').where({ email })).to.deep.equal([]);
    expect(await completeRegistration(careful, id)).to.have.property('accountId');
    expect(await completeRegistration(careful, id)).to.equal(null);
  });

  it('connects the identity of a provider, in the browser with the token alone', async () => {
    const email = newEmail();
    const identity = { issuer: 'https://login.example.com', subject: email };
    const token = `token of ${email}`;
    const applicant = { identity, email, source: 'Example', ip: newClient(), language: 'en', token };
    expect(await registerWithProvider(open(), applicant)).to.include({ refusal: null });
    const named = { name: 'Bea', termsVersion: null, verifyCaptcha: null };
    expect(await confirm(open(), 'another token', named)).to.equal('over');
    expect(await verify(open(), { token, password: '' })).to.equal('over');
    const admitted = await confirm(open(), token, named);
    const user = typeof admitted === 'string' ? null : admitted.user;
    expect(user).to.include({ email, name: 'Bea', hasPassword: false });
    expect(await database('user_identities').where(identity).pluck('user_id')).to.deep.equal([user?.id]);
  });

  it('closes expired registrations without their secrets, and forgets them later', async () => {
    const id = await attempt(newEmail());
    await database('registrations')
      .where({ id })
      .update({ expires_at: new Date(0) });
    await SWEEPS['registrations']?.(database, 1_000);
    expect(await rowOf(id)).to.include({ state: 'expired', password_hash: null });
    await database('registrations')
      .where({ id })
      .update({ created_at: new Date(0) });
    await SWEEPS['registrations']?.(database, 1_000);
    expect(await rowOf(id)).to.equal(undefined);
  });
});
