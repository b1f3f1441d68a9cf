import { expect } from 'chai';
import { NO_CREDIT, type SignupRules } from '../../../catalogue/signup.ts';
import type { Database } from '../../../db/database.ts';
import { topUp } from '../../../db/queries/credits.ts';
import { listTransfers } from '../../../db/queries/transfers.ts';
import { digestToken } from '../../../domain/bearer-token.ts';
import { parseUsd } from '../../../domain/money.ts';
import { normalAddress } from '../../../domain/normal-address.ts';
import { subnetOf } from '../../../services/people/network.ts';
import { makeRegistrationLink, register as attempt, verify } from '../../../services/people/registration.ts';
import { giveSignupCredit } from '../../../services/people/signup-credit.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createAccount, reloadAccount } from '../../support/factories.ts';

const CONNECTIONS = 16;
const CREDIT = { amount: parseUsd(1), perNetworkPerDay: 1_000, perDay: 1_000, afterFirstPayment: false };
const RULES: SignupRules = { ...NO_CREDIT, signupCredit: CREDIT };

describe('services/people/signup-credit', () => {
  const testDatabase = useTestDatabase({ poolSize: CONNECTIONS });
  let database: Database;

  before(() => {
    database = testDatabase.database;
  });
  // Rows of the table stay for ever: each test starts on a day of its own.
  beforeEach(() => startNextDay());

  function startNextDay(): Promise<unknown> {
    return database.transaction(async (transaction) => {
      await transaction.raw('SET LOCAL session_replication_role = replica');
      await transaction('signup_credits').update({ decided_at: transaction.raw(`decided_at - interval '1 day'`) });
    });
  }

  /** Registers a person from an address of IP. @returns the outcome, and the account */
  async function register(email: string, ip = '192.0.2.7', rules: SignupRules = RULES) {
    const { id: accountId } = await createAccount(database);
    const person = { accountId, email, network: subnetOf(ip), normalAddressDigest: digestToken(normalAddress(email)) };
    const outcome = await database.transaction((transaction) => giveSignupCredit(transaction, rules, person));
    return { outcome, accountId };
  }

  const countGrants = async (): Promise<number> =>
    Number((await database('transfers').where({ kind: 'signup_grant' }).count())[0]?.['count']);

  it('posts the credit to the ledger, with the mailbox as the reference', async () => {
    const { outcome, accountId } = await register('anna@gmail.com');
    expect(outcome).to.equal('granted');
    const [transfer] = await listTransfers(database, { accountId, limit: 1 });
    expect(transfer?.kind).to.equal('signup_grant');
    expect(transfer?.amount).to.equal(CREDIT.amount);
    expect(transfer?.reference).to.equal(`signup:${digestToken('anna@gmail.com').toString('hex')}`);
  });

  it('comes with the verification of the address, not with the attempt', async () => {
    const services = {
      database,
      site: { ...RULES, registration: { domains: null, needsApproval: false }, documents: [] },
    };
    const [email, password] = ['ida@acme.example', 'a long password of Ida'];
    const person = {
      email,
      password,
      ip: '192.0.2.7',
      name: 'Ida',
      language: 'en',
      termsVersion: null,
      verifyCaptcha: null,
    };
    const before = await countGrants();
    expect(await attempt(services, person)).to.include({ refusal: null });
    const { id } = await database('registrations').where({ email }).first('id');
    const mail = await makeRegistrationLink(database, id, null);
    expect(await countGrants()).to.equal(before);
    const token = mail !== null && typeof mail === 'object' ? (mail.path.split('/').at(-1) ?? '') : '';
    for (const _ of [1, 2]) await verify(services, { token, password });
    expect(await countGrants()).to.equal(before + 1);
  });

  it('goes to nobody with a disposable address, whose registration is refused', async () => {
    const services = {
      database,
      site: { ...RULES, registration: { domains: null, needsApproval: false }, documents: [] },
    };
    const person = {
      password: 'a long password',
      ip: '192.0.2.8',
      name: 'Jo',
      language: 'en',
      termsVersion: null,
      verifyCaptcha: null,
    };
    const answer = await attempt(services, { ...person, email: 'jo@mx.mailinator.com' });
    expect(answer).to.include({ refusal: 'disposable_address' });
  });

  it('gives no credit without an amount in the operator’s file, and records nothing', async () => {
    const { outcome, accountId } = await register('nobody@acme.example', '192.0.2.7', NO_CREDIT);
    expect(outcome).to.equal(null);
    expect(await database('signup_credits').where({ account_id: accountId })).to.deep.equal([]);
  });

  it('refuses the other spellings of a mailbox, on later days too', async () => {
    expect((await register('b.ea@gmail.com')).outcome).to.equal('granted');
    await startNextDay();
    for (const email of ['bea@gmail.com', 'bea+1@googlemail.com', 'B.E.A+2@gmail.com'])
      expect((await register(email)).outcome).to.equal('address_used');
  });

  it('grants the credit of one mailbox once when 16 connections register it at once', async () => {
    const spellings = Array.from({ length: CONNECTIONS }, (_, index) => `carl+${index}@gmail.com`);
    const before = await countGrants();
    const made = await Promise.all(spellings.map((email, index) => register(email, `198.51.${index}.1`)));
    expect(made.filter(({ outcome }) => outcome === 'granted')).to.have.length(1);
    expect(made.filter(({ outcome }) => outcome === 'address_used')).to.have.length(15);
    expect((await countGrants()) - before).to.equal(1);
  });

  it('lets PostgreSQL itself refuse a second credit of a mailbox', async () => {
    const [one, other] = [await createAccount(database), await createAccount(database)];
    const row = { normal_address_digest: digestToken('x'), network: 'a', outcome: 'awaits_payment', amount: '1' };
    await database('signup_credits').insert({ ...row, account_id: one.id });
    const second = database('signup_credits').insert({ ...row, account_id: other.id });
    expect(await second.then(String, String)).to.contain('signup_credits_once_per_mailbox');
  });

  it('gives 300 people from 10 networks no more than the limits', async () => {
    const limited = { ...RULES, signupCredit: { ...CREDIT, perNetworkPerDay: 3, perDay: 25 } };
    const before = await countGrants();
    const people = Array.from({ length: 300 }, (_, index) => ({
      email: `person${index}@farm${index}.example`,
      ip: index % 2 === 0 ? `203.0.${index % 10}.${index % 250}` : `2001:db8:0:${index % 10}::${index.toString(16)}`,
    }));
    const networksOfGranted: string[] = [];
    const farm = async (lane: number): Promise<void> => {
      for (const { email, ip } of people.filter((_, index) => index % CONNECTIONS === lane))
        if ((await register(email, ip, limited)).outcome === 'granted') networksOfGranted.push(subnetOf(ip));
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, (_, lane) => farm(lane)));
    expect(networksOfGranted).to.have.length(25);
    expect((await countGrants()) - before).to.equal(25);
    const networks = new Set(networksOfGranted);
    expect(networks.size).to.be.at.most(10);
    for (const network of networks)
      expect(networksOfGranted.filter((each) => each === network).length, network).to.be.at.most(3);
  });

  it('counts a day in UTC, so that the next day has all of its limits', async () => {
    const limited = { ...RULES, signupCredit: { ...CREDIT, perDay: 1 } };
    expect((await register('d1@acme.example', '192.0.2.1', limited)).outcome).to.equal('granted');
    expect((await register('d2@acme.example', '192.0.2.1', limited)).outcome).to.equal('daily_limit');
    await startNextDay();
    expect((await register('d3@acme.example', '192.0.2.1', limited)).outcome).to.equal('granted');
  });

  it('gives disposable addresses no credit, unless the operator accepts them', async () => {
    const rule = (name: 'no_credit' | 'accept') => ({ ...RULES, disposable: { ...RULES.disposable, rule: name } });
    expect((await register('e@mailinator.com', '192.0.2.1', rule('no_credit'))).outcome).to.equal('disposable_address');
    expect((await register('e@mailinator.com', '192.0.2.1', rule('accept'))).outcome).to.equal('granted');
  });

  describe('credit after the first payment', () => {
    const waiting = { ...RULES, signupCredit: { ...CREDIT, afterFirstPayment: true } };
    const pay = (accountId: string, reference: string) =>
      topUp(database, { accountId, amount: parseUsd('0.01'), reference });

    it('waits for a payment of any size, and is posted once', async () => {
      const { outcome, accountId } = await register('f@acme.example', '192.0.2.1', waiting);
      expect(outcome).to.equal('awaits_payment');
      expect((await reloadAccount(database, { id: accountId })).signupAvailable).to.equal(0n);
      await Promise.all(['first', 'first', 'second'].map((reference) => pay(accountId, reference)));
      expect((await reloadAccount(database, { id: accountId })).signupAvailable).to.equal(CREDIT.amount);
    });

    it('keeps the mailbox from credit on another account before the payment', async () => {
      await register('g@acme.example', '192.0.2.1', waiting);
      expect((await register('g+2@acme.example', '192.0.2.1', waiting)).outcome).to.equal('address_used');
    });

    it('posts nothing to an account that was refused', async () => {
      await register('h@acme.example', '192.0.2.1', waiting);
      const { accountId } = await register('h+2@acme.example', '192.0.2.1', waiting);
      await pay(accountId, 'first');
      expect((await reloadAccount(database, { id: accountId })).signupAvailable).to.equal(0n);
    });
  });
});
