import { expect } from 'chai';
import { NO_CREDIT } from '../../catalogue/signup.ts';
import { OWN_SITE, type Site } from '../../catalogue/site.ts';
import { holdRegistration } from '../../db/queries/registrations.ts';
import { parseUsd } from '../../domain/money.ts';
import { useTestConsole, useVisitor } from '../support/console.ts';
import { createRegistration } from '../support/factories.ts';

const DAY_MS = 86_400_000;
const PATH = '/console/staff/registrations';
const BLOCKS = '/console/staff/registration-blocks';
const SITE: Site = {
  ...OWN_SITE,
  ...NO_CREDIT,
  registration: { domains: null, needsApproval: true },
  signupCredit: { amount: parseUsd(1), perNetworkPerDay: 1, perDay: 10, afterFirstPayment: false },
};

describe('registrations in the console of the staff', () => {
  const app = useTestConsole({ site: () => SITE });
  const operator = useVisitor(app, () => ({ email: 'op@example.com', staff_role: 'operator' }));
  const reader = useVisitor(app, () => ({ email: 'read@example.com', staff_role: 'readonly' }));
  let count = 0;

  async function waiting(email = `waiting-${++count}@acme.example`): Promise<{ id: string; email: string }> {
    const id = await createRegistration(app.database, { email });
    await holdRegistration(app.database, id, 'approval');
    return { id, email };
  }

  const rowOf = (id: string) => app.database('registrations').where({ id }).first();
  const actionOf = (id: string) => app.database('operator_actions').where({ registration_id: id }).first();

  it('wait in a queue, until an operator approves them with a reason: the account, its credit and the record appear', async () => {
    const { id, email } = await waiting();
    expect((await reader.get(`${PATH}?state=waiting_for_approval`)).text).to.include(email);
    const { status } = await operator.send(`${PATH}/${id}/approve`, { reason: 'known from the fair' });
    expect(status).to.equal(303);
    const { state, account_id: accountId } = await rowOf(id);
    expect(state).to.equal('done');
    expect(await actionOf(id)).to.include({ kind: 'approve', author: 'op@example.com', reason: 'known from the fair' });
    const welcome = await app.database('mails').where({ address: email }).first();
    expect([welcome.kind, welcome.facts]).to.deep.equal(['welcome', { approved: 'yes' }]);
    const { text } = await reader.get(`${PATH}/${id}`);
    expect(text).to.include(email).and.include('Granted').and.include('known from the fair').and.include(accountId);
  });

  it('wait in the queue since earlier months, too', async () => {
    const id = await createRegistration(app.database, {
      email: 'early@acme.example',
      sentAtMs: Date.now() - 40 * DAY_MS,
    });
    await holdRegistration(app.database, id, 'approval');
    expect((await reader.get(PATH)).text).not.to.include('early@acme.example');
    expect((await reader.get(`${PATH}?state=waiting_for_approval`)).text).to.include('early@acme.example');
  });

  it('show why a second one of a network gets no credit', async () => {
    const { id } = await waiting();
    await operator.send(`${PATH}/${id}/approve`, { reason: 'a test' });
    expect((await reader.get(`${PATH}/${id}`)).text).to.include('None: limit of the network');
    expect((await reader.get(`${PATH}?signup_credit=network_limit`)).text).to.include(id);
    expect((await reader.get(`${PATH}?signup_credit=daily_limit`)).text).not.to.include(id);
  });

  it('the registrations are counted by day, source and outcome', async () => {
    const { text } = await reader.get(PATH);
    const [{ day }] = await app
      .database('registrations')
      .select(app.database.raw(`to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day`));
    expect(text).to.include('By day, source and outcome').and.include(day).and.include('Registered');
    const granted = text.slice(text.indexOf('Credit granted'));
    expect(granted).to.match(/\$1\.00/);
  });

  it('get an e-mail and no account when an operator rejects them, and are decided once', async () => {
    const { id, email } = await waiting();
    const long = { reason: 'a bot', message: 'x'.repeat(501) };
    expect((await operator.send(`${PATH}/${id}/reject`, long)).text).to.include('message');
    await operator.send(`${PATH}/${id}/reject`, { reason: 'a bot', message: 'Use another address.' });
    expect(await rowOf(id)).to.include({ state: 'refused', reason: 'rejected' });
    expect(await app.database('users').where({ email })).to.deep.equal([]);
    const mails = await app.database('mails').where({ address: email });
    expect(mails.map(({ kind, facts }) => [kind, facts.message])).to.deep.equal([
      ['registration_rejected', 'Use another address.'],
    ]);
    const again = await operator.send(`${PATH}/${id}/approve`, { reason: 'a test' });
    expect(again.text).to.include('no such registration');
    expect(await app.database('operator_actions').where({ registration_id: id })).to.have.length(1);
  });

  it('cannot be approved before the address is verified, or without a reason', async () => {
    const unverified = await createRegistration(app.database, { email: 'unverified@acme.example' });
    const early = await operator.send(`${PATH}/${unverified}/approve`, { reason: 'a test' });
    expect(early.text).to.include('its address is not verified');
    const { id } = await waiting();
    await operator.send(`${PATH}/${id}/approve`, { reason: '' });
    expect((await rowOf(id)).state).to.equal('waiting_for_approval');
  });

  it('let operators block the mailbox, the domain or the network, and lift the block', async () => {
    const { id } = await waiting('mal.lory+1@gmail.com');
    await operator.send(`${PATH}/${id}/block`, { block_kind: 'address', reason: 'a bot' });
    await operator.send(`${PATH}/${id}/block`, { block_kind: 'network', reason: 'bots' });
    await operator.send(BLOCKS, { block_kind: 'domain', value: 'Farm.example', reason: 'farming' });
    const { text } = await reader.get(BLOCKS);
    for (const value of ['mallory@gmail.com', '192.0.2.0/24', 'farm.example', 'op@example.com', 'farming'])
      expect(text).to.include(value);
    const [{ id: blockId }] = await app.database('registration_blocks').where({ value: 'farm.example' });
    await operator.send(`${BLOCKS}/${blockId}/lift`, { reason: 'a mistake' });
    expect((await reader.get(BLOCKS)).text).not.to.include('farm.example');
    const lifted = (await reader.get(`${BLOCKS}?lifted=true`)).text;
    for (const part of ['farm.example', 'farming', 'Lifted by', 'a mistake', 'op@example.com'])
      expect(lifted).to.include(part);
    for (const part of ['mallory@gmail.com', `${blockId}/lift`]) expect(lifted).not.to.include(part);
  });

  it('disable the user of a blocked mailbox', async () => {
    const { id, email } = await waiting();
    await operator.send(`${PATH}/${id}/approve`, { reason: 'a test' });
    await operator.send(`${PATH}/${id}/block`, { block_kind: 'address', reason: 'fraud' });
    expect((await app.database('users').where({ email }).first()).disabled_at).to.be.instanceOf(Date);
  });

  it('say what is wrong with a block', async () => {
    const shown = await operator.send(BLOCKS, { block_kind: 'network', value: '0.0.0.0/0', reason: 'a test' });
    expect(shown.text).to.include('must be a network');
  });
});
