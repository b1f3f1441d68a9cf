import { expect } from 'chai';
import { recordSeller } from '../../../../db/queries/billing-documents.ts';
import { topUp } from '../../../../db/queries/credits.ts';
import { parseUsd } from '../../../../domain/money.ts';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import { createTaskRow, finishAsFailed, finishAsSucceeded } from '../../../support/factories.ts';
import { call } from '../../../support/stack.ts';

interface Entries {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly next_cursor: string | null;
}
type Envelope = { readonly data: Readonly<Record<string, unknown>> };

describe('/v1/balance', () => {
  const app = useTestApp();

  it('shows the balance of the account, its holds, and the remaining limit of the key', async () => {
    // contract 2.9:1 4.9:1
    const caller = await app.createAccount({ fundedUsd: 3, signupUsd: 2, key: { usageLimit: 4n * 10n ** 12n } });
    await createTaskRow(app.database, { id: caller.keyId, accountId: caller.accountId });
    const response = await fetch(`${app.baseUrl}/v1/balance`, {
      headers: { authorization: `Bearer ${caller.apiKey}` },
    });
    expect(await response.json()).to.deep.equal({
      data: {
        object: 'balance',
        available_usd: 4,
        funded_usd: 3,
        signup_usd: 1,
        promo_usd: 0,
        promo_expires_at: null,
        reserved_usd: 1,
        low_balance_usd: null,
        topped_up: true,
        key: {
          id: caller.keyId,
          used_usd: 1,
          usage_limit_usd: 4,
          limit_period: null,
          used_of_limit_usd: 1,
          renews_at: null,
        },
      },
    });
  });

  it('shows which part of the balance expires, and when', async () => {
    // contract 2.9:1 4.11:14 5:23
    const caller = await app.createAccount({ fundedUsd: 3, signupUsd: 2 });
    const expiresAt = Math.floor(Date.now() / 1000) + 86_400;
    const { status } = await call(`${app.baseUrl}/admin/v1/accounts/${caller.accountId}/promo-grants`, {
      key: app.adminToken,
      body: {
        amount_usd: '1.5',
        expires_at: new Date(expiresAt * 1000).toISOString(),
        reference: 'launch',
        reason: 'a test',
      },
    });
    expect(status).to.equal(201);
    const { body } = await call<Envelope>(`${app.baseUrl}/v1/balance`, { key: caller.apiKey });
    expect(body.data).to.include({
      available_usd: 6.5,
      signup_usd: 3.5,
      promo_usd: 1.5,
      promo_expires_at: expiresAt,
    });
  });

  it('lets clients set and remove the amount below which they are notified', async () => {
    // contract 4.9:2
    const { apiKey } = await app.createAccount({ fundedUsd: 3 });
    const set = (low_balance_usd: unknown) =>
      call<Envelope>(`${app.baseUrl}/v1/balance`, { key: apiKey, method: 'PATCH', body: { low_balance_usd } });
    expect((await set('2.50')).body.data).to.include({ low_balance_usd: 2.5 });
    for (const wrong of [0, -1, 'much', undefined]) expect((await set(wrong)).status, String(wrong)).to.equal(400);
    expect((await set(null)).body.data).to.include({ low_balance_usd: null });
  });

  it('needs a key', async () => {
    expect((await fetch(`${app.baseUrl}/v1/balance`)).status).to.equal(401);
  });

  it('lists the changes of the balance, each with its amount and the balance after it', async () => {
    // contract 2.9:6 2.9:7 2.9:8 2.9:9 4.9:6
    const caller = await app.createAccount({ fundedUsd: 3 });
    const key = { id: caller.keyId, accountId: caller.accountId };
    const [made, failed] = [await createTaskRow(app.database, key), await createTaskRow(app.database, key)];
    await createTaskRow(app.database, key);
    await finishAsSucceeded(app.database, made);
    await finishAsFailed(app.database, failed);
    const read = async (query: string) => {
      const { status, body } = await call<Entries>(`${app.baseUrl}/v1/balance/entries${query}`, { key: caller.apiKey });
      return { status, ...body };
    };
    const first = await read('?limit=2');
    const second = await read(`?limit=2&cursor=${first.next_cursor}`);
    expect(second.next_cursor).to.equal(null);
    const request = { request_kind: 'video', model: 'vidone-3.0', api_key_id: caller.keyId, reference: null };
    const entries = [...first.data, ...second.data].map(
      ({ created_at: _at, id: _id, object: _object, ...entry }) => entry,
    );
    const tokens = { input_tokens: null, output_tokens: null, text_request_id: null };
    expect(entries).to.deep.equal([
      {
        type: 'failed_task',
        amount_usd: '0',
        balance_usd: '2',
        error_code: 'processing_failed',
        failure_reason: 'processing_failed',
        task_id: failed.id,
        ...request,
        ...tokens,
      },
      {
        type: 'task',
        amount_usd: '-1',
        balance_usd: '2',
        error_code: null,
        failure_reason: null,
        task_id: made.id,
        ...request,
        ...tokens,
      },
      {
        type: 'topup',
        amount_usd: '3',
        balance_usd: '3',
        error_code: null,
        failure_reason: null,
        task_id: null,
        ...request,
        ...tokens,
        request_kind: null,
        model: null,
        api_key_id: null,
        reference: entries[2]?.['reference'],
      },
    ]);
    const charged = await read(`?type=task&api_key_id=${caller.keyId}`);
    expect(charged.data).to.deep.equal([{ ...first.data[1], balance_usd: null }]);
    expect((await read('?to=2020-01-01T00:00:00Z')).data).to.deep.equal([]);
    for (const wrong of ['?type=hold', '?cursor=x', '?limit=0', '?api_key_id=1']) {
      expect((await read(wrong)).status, wrong).to.equal(400);
    }
    const other = await app.createAccount();
    const { body } = await call<Entries>(`${app.baseUrl}/v1/balance/entries`, { key: other.apiKey });
    expect(body.data).to.deep.equal([]);
  });

  it('exports all changes of the balance, oldest first', async () => {
    // contract 4.9:6
    const { apiKey } = await app.createAccount({ fundedUsd: 3, signupUsd: 2 });
    const response = await fetch(`${app.baseUrl}/v1/balance/entries`, {
      headers: { authorization: `Bearer ${apiKey}`, accept: 'text/csv' },
    });
    const [header, ...lines] = (await response.text()).trimEnd().split('\r\n');
    expect(header).to.match(/^created_at,id,type,amount_usd,balance_usd,/);
    expect(lines.map((line) => line.split(',').slice(2, 5).join(' '))).to.deep.equal(['signup_grant 2 2', 'topup 3 5']);
  });

  it('lists the receipts of the account, and shows each only to the account and to operators', async () => {
    // contract 4.9:7 4.11:22
    const [caller, other] = [await app.createAccount(), await app.createAccount()];
    const taxes = [{ name: 'VAT', percent: '25' }];
    const seller = { name: 'Acme', address: ['Street 1'], taxId: 'DE1', taxes, taxPoint: 'paid' } as const;
    await recordSeller(app.database, seller);
    const { accountId } = caller;
    await call(`${app.baseUrl}/admin/v1/accounts/${accountId}`, {
      key: app.adminToken,
      method: 'PATCH',
      body: { billing_name: 'Ada Ltd', billing_address: 'Lane 2\nOxford', tax_id: 'GB2' },
    });
    await topUp(app.database, { accountId, amount: parseUsd(10), reference: 'wire 1' });
    const list = (key: string, query = '') =>
      call<Entries>(`${app.baseUrl}/v1/balance/documents${query}`, { key }).then(({ body }) => body.data);
    const [listed = {}, ...more] = await list(caller.apiKey, '?kind=receipt');
    expect(listed).to.include({ kind: 'receipt', reference: 'wire 1', month: null, total_usd: '10' });
    expect([more, await list(caller.apiKey, '?kind=invoice'), await list(other.apiKey)]).to.deep.equal([[], [], []]);
    const ownPath = `/v1/balance/documents/${String(listed['id'])}`;
    const show = (key: string, path: string) => call<Envelope & ErrorBody>(`${app.baseUrl}${path}`, { key });
    const { body } = await show(caller.apiKey, ownPath);
    expect(body.data).to.deep.equal({
      ...listed,
      seller: { name: 'Acme', address: ['Street 1'], tax_id: 'DE1' },
      customer: { name: 'Ada Ltd', address: ['Lane 2', 'Oxford'], tax_id: 'GB2' },
      lines: [{ subject: 'payment', model: null, quantity: 1, amount_usd: '10' }],
      subtotal_usd: '10',
      taxes: [{ name: 'VAT', percent: '25', amount_usd: '2' }],
      net_usd: '8',
      due_usd: '0',
      corrects: null,
    });
    expect((await show(other.apiKey, ownPath)).status).to.equal(404);
    const ofOperators = await show(app.adminToken, `/admin/v1/documents/${String(listed['id'])}`);
    expect(ofOperators.body.data).to.deep.equal(body.data);
    const all = await show(app.adminToken, `/admin/v1/accounts/${accountId}/documents`);
    expect(all.body.data).to.deep.equal([listed]);
  });
});
