import { expect } from 'chai';
import { OWN_SITE, type Site } from '../../../../catalogue/site.ts';
import { holdRegistration } from '../../../../db/queries/registrations.ts';
import { newId } from '../../../../domain/ids.ts';
import { parseUsd } from '../../../../domain/money.ts';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import { createRegistration } from '../../../support/factories.ts';
import { call } from '../../../support/stack.ts';

type Fields = Readonly<Record<string, unknown>>;

const SITE: Site = {
  ...OWN_SITE,
  registration: { domains: null, needsApproval: true },
  signupCredit: { amount: parseUsd(1), perNetworkPerDay: 10, perDay: 10, afterFirstPayment: false },
};

describe('/admin/v1/registrations', () => {
  const app = useTestApp({ site: () => SITE });

  const admin = <Body>(path: string, { body, method }: { body?: object; method?: string } = {}) =>
    call<Body>(`${app.baseUrl}/admin/v1${path}`, {
      key: app.adminToken,
      ...(body && { body }),
      ...(method && { method }),
    });
  const waiting = async (email: string): Promise<string> => {
    const id = await createRegistration(app.database, { email });
    await holdRegistration(app.database, id, 'approval');
    return id;
  };
  const BY = { reason: 'known', author: 'ada' };

  it('lists those that wait, and approves or rejects each once', async () => {
    // contract 4.11:70
    const [first, second] = [await waiting('one@acme.example'), await waiting('two@acme.example')];
    const listed = await admin<{ data: readonly Fields[] }>('/registrations?state=waiting_for_approval');
    expect(listed.body.data.map(({ id }) => id)).to.deep.equal([second, first]);
    const approved = await admin<{ data: Fields }>(`/registrations/${first}/approve`, { body: BY });
    expect(approved.body.data).to.include({
      object: 'registration',
      email: 'one@acme.example',
      state: 'done',
      signup_credit: 'granted',
      decided_by: 'ada',
      decision_reason: 'known',
    });
    const body = { ...BY, message: 'Use the address of your company.' };
    const rejected = await admin<{ data: Fields }>(`/registrations/${second}/reject`, { body });
    expect(rejected.body.data).to.include({ state: 'refused', state_reason: 'rejected', account_id: null });
    for (const id of [first, second, newId('registration')])
      expect((await admin<ErrorBody>(`/registrations/${id}/approve`, { body: BY })).status).to.equal(404);
    const granted = await admin<{ data: readonly Fields[] }>('/registrations?signup_credit=granted&source=password');
    expect(granted.body.data.map(({ id }) => id)).to.deep.equal([first]);
  });

  it('blocks a domain, lists the block, and lifts it', async () => {
    // contract 4.11:71
    const body = { block_kind: 'domain', value: 'Farm.example', ...BY };
    const { status, body: made } = await admin<{ data: Fields }>('/registration-blocks', { body });
    expect(status).to.equal(201);
    expect(made.data).to.include({
      object: 'registration_block',
      value: 'farm.example',
      author: 'ada',
      reason: 'known',
    });
    expect((await admin<ErrorBody>('/registration-blocks', { body })).status).to.equal(400);
    const listed = async () => (await admin<{ data: readonly Fields[] }>('/registration-blocks')).body.data;
    expect(await listed()).to.deep.equal([made.data]);
    const path = `/registration-blocks/${String(made.data['id'])}`;
    expect((await admin<{ data: Fields }>(path, { method: 'DELETE' })).body.data).to.include({ lifted: true });
    expect((await admin<ErrorBody>(path, { method: 'DELETE' })).status).to.equal(404);
    expect(await listed()).to.deep.equal([]);
    const lifted = await admin<{ data: readonly Fields[] }>('/registration-blocks?lifted=true');
    expect(lifted.body.data).to.have.length(1);
    expect(lifted.body.data[0]).to.include({ value: 'farm.example', lifted_by: 'admin', lift_reason: 'not given' });
  });
});
