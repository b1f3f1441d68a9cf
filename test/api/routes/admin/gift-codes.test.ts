import { expect } from 'chai';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import { call } from '../../../support/stack.ts';

interface Batch {
  readonly data: Readonly<Record<string, unknown>> & { readonly id: string; readonly codes: readonly string[] };
}
interface Page {
  readonly data: readonly Readonly<Record<string, unknown>>[];
}

const IN_A_DAY = new Date(Date.now() + 86_400_000).toISOString();
const TERMS = { label: 'Spring fair', kind: 'funds', amount_usd: 10, count: 2, expires_at: IN_A_DAY, author: 'ada' };

describe('/admin/v1/gift-batches', () => {
  const app = useTestApp();

  const admin = <Body>(path: string, body?: object) =>
    call<Body>(`${app.baseUrl}/admin/v1/gift-batches${path}`, { key: app.adminToken, ...(body && { body }) });
  const redeem = <Body>(apiKey: string, code: unknown) =>
    call<Body>(`${app.baseUrl}/v1/balance/codes`, { key: apiKey, body: { code } });

  it('issues codes that an account redeems once, and reports what became of the batch', async () => {
    // contract 4.9:8 4.11:69
    const [caller, other] = [await app.createAccount(), await app.createAccount()];
    const issued = await admin<Batch>('', TERMS);
    expect(issued.status).to.equal(201);
    const { codes, id } = issued.body.data;
    expect(codes).to.have.length(2);
    const first = await redeem<{ data: Readonly<Record<string, unknown>> }>(caller.apiKey, codes[0]);
    expect(first.status).to.equal(200);
    expect(first.body.data).to.include({ object: 'gift_redemption', kind: 'funds', amount_usd: 10, expires_at: null });
    expect((await redeem(caller.apiKey, codes[0])).body).to.deep.equal(first.body);
    const refused = await redeem<ErrorBody>(other.apiKey, codes[0]);
    expect([refused.status, refused.body.error.code]).to.deep.equal([404, 'not_found']);
    const withdrawn = await admin<Batch>(`/${id}/withdraw`, { reason: 'printed twice', author: 'bob' });
    expect(withdrawn.body.data).to.include({
      object: 'gift_batch',
      label: 'Spring fair',
      status: 'withdrawn',
      count: 2,
      redeemed_count: 1,
      issued_usd: 20,
      redeemed_usd: 10,
      open_usd: 0,
      expired_usd: 0,
      withdrawn_usd: 10,
      once_per: null,
      author: 'ada',
      withdrawn_by: 'bob',
    });
    expect((await redeem<ErrorBody>(other.apiKey, codes[1])).body.error).to.include({
      code: 'not_found',
      message: refused.body.error.message,
    });
    expect((await admin<Page>('')).body.data).to.deep.equal([(await admin<Batch>(`/${id}`)).body.data]);
    const { body: redeemed } = await admin<Page>(`/${id}/redeemed`);
    expect(redeemed.data).to.have.length(1);
    expect(redeemed.data[0]).to.include({ id: first.body.data['id'], batch_id: id, account_id: caller.accountId });
    expect(app.logged()).not.to.include(codes[0]);
  });

  it('refuses terms that contradict each other, a batch that has expired, and more codes than fit', async () => {
    const wrong = [
      { kind: 'promo_credit' },
      { credit_days: 3 },
      { expires_at: '2020-01-01T00:00:00Z' },
      { count: 1_001 },
      { count: 0 },
      { amount_usd: 0 },
      { once_per: 'planet' },
      { label: '' },
    ];
    for (const changes of wrong) {
      const { status } = await admin('', { ...TERMS, ...changes });
      expect(status, JSON.stringify(changes)).to.equal(400);
    }
    expect((await admin('/gib_unknown')).status).to.equal(404);
    expect((await admin('/gib_unknown/withdraw', { reason: 'x' })).status).to.equal(404);
  });

  it('limits guesses with 429, and says when to try again', async () => {
    // contract 4.9:8
    const { apiKey } = await app.createAccount();
    for (let guess = 0; guess < 10; guess += 1) expect((await redeem(apiKey, 'wrong')).status).to.equal(404);
    const { status, body } = await redeem<ErrorBody>(apiKey, 'wrong');
    expect(status).to.equal(429);
    expect(body.error).to.include({ code: 'rate_limit_exceeded', retry_after_seconds: 900 });
    for (const code of ['', 'x'.repeat(101), 7, undefined]) expect((await redeem(apiKey, code)).status).to.equal(400);
  });
});
