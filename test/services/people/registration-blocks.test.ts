import { expect } from 'chai';
import { NO_CREDIT } from '../../../catalogue/signup.ts';
import type { Database } from '../../../db/database.ts';
import { listRegistrationBlocks } from '../../../db/queries/registration-blocks.ts';
import { findUserByEmail } from '../../../db/queries/users.ts';
import { newId } from '../../../domain/ids.ts';
import type { BlockKind } from '../../../domain/registration.ts';
import {
  blockPerson,
  blockRegistrations,
  findBlocks,
  liftBlock,
} from '../../../services/people/registration-blocks.ts';
import { completeRegistration, register } from '../../../services/people/registration.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createRegistration } from '../../support/factories.ts';
import { rejectionOf } from '../../support/rejection.ts';

const BY = { author: 'ada@example.com', reason: 'farming' };

const PERSON = { password: 'a long password', name: 'Ada', language: 'en', termsVersion: null, verifyCaptcha: null };

describe('services/people/registration-blocks', () => {
  let database: Database;
  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });
  let services: Parameters<typeof register>[0];
  before(() => {
    services = {
      database,
      site: { ...NO_CREDIT, registration: { domains: null, needsApproval: false }, documents: [] },
    };
  });

  const block = (kind: BlockKind, value: string) => blockRegistrations(database, { kind, value }, BY);
  const attempt = (email: string, ip: string) => register(services, { ...PERSON, email, ip });

  it('refuses a domain with its subdomains, and not its neighbours, until it is lifted', async () => {
    const id = await block('domain', ' Farm.Example ');
    for (const email of ['a@farm.example', 'a@mx.FARM.example'])
      expect(await attempt(email, '198.51.100.1')).to.include({ refusal: 'blocked' });
    expect(await attempt('a@notfarm.example', '198.51.100.2')).to.include({ refusal: null });
    await liftBlock(database, id, BY);
    expect(await attempt('b@farm.example', '198.51.100.3')).to.include({ refusal: null });
  });

  const NETWORKS: readonly (readonly [network: string, inside: string, outside: string])[] = [
    ['192.0.2.77/24', '192.0.2.1', '192.0.3.1'],
    ['203.0.113.9', '::ffff:203.0.113.9', '203.0.113.10'],
    ['2001:db8:7::/48', '2001:db8:7:1::1', '2001:db8:8::1'],
  ];
  for (const [network, inside, outside] of NETWORKS) {
    it(`refuses clients of ${network}, and no others`, async () => {
      await block('network', network);
      expect(await attempt(`c@${newId('request')}.example`, inside)).to.include({ refusal: 'blocked' });
      expect(await attempt(`d@${newId('request')}.example`, outside)).to.include({ refusal: null });
    });
  }

  it('never tells a stranger that an address is blocked', async () => {
    await block('address', 'e.v.e+1@googlemail.com');
    expect(await attempt('eve@gmail.com', '198.51.100.4')).to.include({ refusal: null });
    const found = await findBlocks(database, { email: 'Eve+2@gmail.com', network: '198.51.100.4' });
    expect([...found]).to.deep.equal(['address']);
  });

  it('disables a blocked person, who cannot register again with another spelling', async () => {
    const email = 'mal.lory@gmail.com';
    const made = await completeRegistration(services, await createRegistration(database, { email }));
    await blockPerson(database, made?.user.id ?? '', BY);
    expect((await findUserByEmail(database, email))?.user.disabledAt).to.be.instanceOf(Date);
    const found = await findBlocks(database, { email: 'mallory+1@gmail.com', network: '' });
    expect([...found]).to.deep.equal(['address']);
  });

  it('records who blocked and lifted, and why', async () => {
    const id = await block('domain', 'record.example');
    const [listed] = await listRegistrationBlocks(database, { limit: 1 });
    expect(listed).to.include({ id, value: 'record.example', ...BY });
    await liftBlock(database, id, { author: 'bob@example.com', reason: 'a mistake' });
    const actions = await database('operator_actions').where({ registration_id: id }).orderBy('created_at');
    expect(actions.map(({ kind, author, reason }) => [kind, author, reason])).to.deep.equal([
      ['block', BY.author, BY.reason],
      ['lift', 'bob@example.com', 'a mistake'],
    ]);
    expect(await listRegistrationBlocks(database, { limit: 100 })).not.to.deep.include({ id });
    expect(String(await rejectionOf(liftBlock(database, id, BY)))).to.contain('no such block');
  });

  for (const [kind, value, message] of [
    ['address', 'nobody', 'must be an e-mail address'],
    ['domain', 'example', 'must be a domain'],
    ['domain', 'a@example.com', 'must be a domain'],
    ['network', 'here', 'must be a network'],
    ['network', '192.0.2.0/33', 'must be a network'],
    ['network', '0.0.0.0/0', 'must be a network'],
    ['network', '2001::/16', 'must be a network'],
  ] as const) {
    it(`refuses to block the ${kind} ${value}`, async () => {
      expect(String(await rejectionOf(block(kind, value)))).to.contain(message);
    });
  }

  it('refuses a second block of the same mailbox', async () => {
    await block('address', 'twice@gmail.com');
    expect(String(await rejectionOf(block('address', 't.wice@gmail.com')))).to.contain('blocked already');
  });
});
