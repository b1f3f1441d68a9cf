import { expect } from 'chai';
import { waitUntil } from '../../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../../support/eventually.ts';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import type { TestCaller } from '../../../support/factories.ts';
import { connectGenway, field, type Genway } from '../../../support/genway.ts';
import { call } from '../../../support/stack.ts';

const VIDEO = { model: 'vidone-3.0', prompt: 'x' };
const TEXT = 'textg-6-sol';
/** A version is valid 5 seconds after it is written. */
const WAIT = { timeoutMs: PATIENCE_MS, pauseMs: 100 };

interface Model {
  readonly prices: { readonly by_resolution: Record<string, number>; readonly input: number; readonly output: number };
}

interface Task {
  readonly data: { readonly usage: { readonly credits_charged: number; readonly price_list?: string } };
}

const FACTORS = ['--factor', '0.9', '--batch-factor', '0.6'];

describe('price lists', () => {
  const app = useTestApp({ simulatesText: true });
  let genway: Genway;
  let text: string;
  let caller: TestCaller;

  before(async () => {
    [genway, text, caller] = await Promise.all([
      connectGenway(app),
      app.startText(),
      app.createAccount({ fundedUsd: 100 }),
    ]);
    const rules = JSON.stringify([
      { model: TEXT, prices: { input: '2', output: '3' } },
      { family: 'textg', factor: '0.5' },
      { model: 'vidone-3.0', prices: { '720p': '0.08' } },
    ]);
    await genway('price-lists', 'create', 'partners', ...FACTORS, '--rules', rules, '--reason', 'a test');
    await genway('accounts', 'price', caller.accountId, '--price-list', 'partners', '--reason', 'a partner');
    await waitUntil(async () => expect(await priceOfVideo(caller)).to.equal(0.08), WAIT);
  });

  const admin = (path: string, body?: object, method?: string) =>
    call<ErrorBody & { readonly data: Record<string, unknown> }>(`${app.baseUrl}/admin/v1${path}`, {
      key: app.adminToken,
      ...(body && { body }),
      ...(method !== undefined && { method }),
    });
  const modelOf = async ({ apiKey }: TestCaller, id: string, at = app.baseUrl): Promise<Model> =>
    (await call<Model>(`${at}/v1/models/${id}`, { key: apiKey })).body;
  const priceOfVideo = async (of: TestCaller): Promise<number | undefined> =>
    (await modelOf(of, VIDEO.model)).prices.by_resolution['720p'];
  const createVideo = ({ apiKey }: TestCaller, headers: Record<string, string> = {}) =>
    call<Task>(`${app.baseUrl}/v1/videos/tasks`, { key: apiKey, body: VIDEO, headers });
  const ask = ({ apiKey }: TestCaller, at = text) =>
    call(`${at}/v1/chat/completions`, {
      key: apiKey,
      body: { model: TEXT, max_tokens: 50, messages: [{ role: 'user', content: 'Say exactly: hello there' }] },
    });
  const requestsOf = async ({ accountId }: TestCaller) =>
    app
      .database('text_requests')
      .where({ account_id: accountId })
      .orderBy('created_at')
      .select<
        { price_list: string | null; input_tokens: string; output_tokens: string; charge: string; held: string }[]
      >('price_list', 'input_tokens', 'output_tokens', 'charge', 'held');

  it('appear in GET /v1/models for the keys of their accounts, on both addresses, and for no others', async () => {
    // contract 4.6:3 8.6:1
    for (const at of [app.baseUrl, text]) {
      expect((await modelOf(caller, TEXT, at)).prices).to.include({ input: 2, output: 3 });
    }
    expect((await modelOf(caller, VIDEO.model)).prices.by_resolution).to.deep.equal({ '720p': 0.08, '1080p': 0.135 });
    const other = await app.createAccount({ fundedUsd: 1 });
    expect((await modelOf(other, VIDEO.model)).prices.by_resolution).to.deep.equal({ '720p': 0.1, '1080p': 0.15 });
  });

  it('price capabilities as well', async () => {
    const { body } = await call<{ data: { price: { usd: number } } }>(`${app.baseUrl}/v1/capabilities/inspect`, {
      key: caller.apiKey,
      body: { capability_id: VIDEO.model },
    });
    expect(body.data.price.usd).to.equal(0.4);
  });

  it('price tasks, which name the list and its version, and whose reservation is that price', async () => {
    // contract 2.1:18 4.11:55 8.6:1
    const { body } = await createVideo(caller);
    expect(body.data.usage).to.include({ credits_charged: 0.4, price_list: 'partners@1' });
    const task = await app.database('tasks').where({ account_id: caller.accountId }).first('reservation_id');
    const reserved = await app.database('transfers').where({ id: task.reservation_id }).first('amount');
    expect(reserved.amount).to.equal('400000000000');
  });

  it('price text exactly, with holds that cover it, and requests name the list and its version', async () => {
    // contract 4.11:58 8.6:6
    const customer = await app.createAccount({ fundedUsd: 1 });
    await genway('accounts', 'price', customer.accountId, '--price-list', 'partners', '--reason', 'a partner');
    for (const at of [text, app.baseUrl]) expect((await ask(customer, at)).status).to.equal(200);
    await waitUntil(async () => expect(await requestsOf(customer)).to.have.length(2), WAIT);
    for (const { price_list, input_tokens, output_tokens, charge, held } of await requestsOf(customer)) {
      expect(price_list).to.equal('partners@1');
      expect(BigInt(charge)).to.equal(BigInt(input_tokens) * 2_000_000n + BigInt(output_tokens) * 3_000_000n);
      expect(BigInt(held) >= BigInt(charge)).to.equal(true);
    }
    const printed = await genway('accounts', 'requests', customer.accountId, '--csv');
    expect(printed).to.include('price_list').and.to.include('partners@1');
  });

  it('change by a new version: charged requests and their replays keep the old one', async () => {
    // contract 4.11:56 4.11:57 8.6:5 8.6:6 8.6:7
    const headers = { 'idempotency-key': 'before' };
    const before = await createVideo(caller, headers);
    const shown = await genway(
      'price-lists',
      'change',
      'partners',
      '--factor',
      '2',
      '--reason',
      'dearer',
      '--author',
      'Ada',
    );
    expect(field(shown, 'id')).to.equal('partners@2');
    expect(field(shown, 'version_in_force')).to.equal('1');
    await waitUntil(async () => expect(await priceOfVideo(caller)).to.equal(0.2), WAIT);
    expect((await createVideo(caller, headers)).body).to.deep.equal(before.body);
    expect((await createVideo(caller)).body.data.usage).to.include({ credits_charged: 1, price_list: 'partners@2' });
    const [first] = await app.database('tasks').where({ account_id: caller.accountId }).orderBy('id').limit(1);
    expect([first.price, first.price_list]).to.deep.equal(['400000000000', 'partners@1']);
    const versions = await genway('price-lists', 'versions', 'partners', '--json');
    expect(JSON.parse(versions).data.map(({ version }: { version: number }) => version)).to.deep.equal([2, 1]);
    expect(field(await genway('price-lists', 'show', 'partners', '--version', '1'), 'factor')).to.equal('0.9');
    const exported = await genway('months', 'export', new Date().toISOString().slice(0, 7), '--csv');
    expect(exported).to.include('partners@1').and.to.include('partners@2');
  });

  it('no longer apply to an account that returns to the catalogue', async () => {
    // contract 2.1:18 4.11:58
    const shown = await genway('accounts', 'price', caller.accountId, '--no-price-list', '--reason', 'no partner');
    expect(field(shown, 'price_list')).to.equal('-');
    expect((await createVideo(caller)).body.data.usage).to.deep.include({ credits_charged: 0.5 });
    expect((await createVideo(caller)).body.data.usage).to.not.have.property('price_list');
  });

  it('show every model’s price by the catalogue and by the list, and the models sold below cost', async () => {
    // contract 4.11:57
    const { body } = await admin('/price-lists/partners?version=1');
    expect(body.data).to.include({ batch_factor: '0.6' });
    expect(body.data['models']).to.deep.include({
      model: VIDEO.model,
      kind: 'video',
      prices: [
        { name: 'usd_per_second 720p', price: '0.08', catalogue: '0.1' },
        { name: 'usd_per_second 1080p', price: '0.135', catalogue: '0.15' },
      ],
    });
    expect(body.data['below_cost']).to.deep.equal([]);
  });

  describe('a refused price list', () => {
    const reason = 'a test';
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    for (const [what, body, words] of [
      ['without a reason', { name: 'a' }, '"reason" is required'],
      ['by another name than letters', { name: 'A b', reason }, '"name" must be of small letters'],
      ['with a factor of nothing', { name: 'a', reason, factor: '0' }, '"factor" must be a decimal above 0'],
      ['with a factor that is a number', { name: 'a', reason, factor: 0.9 }, '"factor" must be a string'],
      ['with a factor of 1000', { name: 'a', reason, factor: '1000' }, '"factor" must be a decimal above 0'],
      ['with seven decimals', { name: 'a', reason, factor: '0.1234567' }, '"factor" must be a decimal above 0'],
      ['for an unknown model', { name: 'a', reason, rules: [{ model: 'x', factor: '1' }] }, '"rules[0]" names a model'],
      [
        'for an unknown family',
        { name: 'a', reason, rules: [{ family: 'x', factor: '1' }] },
        '"rules[0]" names a family',
      ],
      ['for nothing', { name: 'a', reason, rules: [{ factor: '1' }] }, '"rules[0]" must have either'],
      ['without a price', { name: 'a', reason, rules: [{ model: TEXT }] }, '"rules[0]" must have "factor" or "prices"'],
      [
        'twice for one model',
        {
          name: 'a',
          reason,
          rules: [
            { model: TEXT, factor: '1' },
            { model: TEXT, factor: '2' },
          ],
        },
        '"rules[1]" is a second rule',
      ],
      [
        'with a price of another name',
        { name: 'a', reason, rules: [{ model: TEXT, prices: { '720p': '1' } }] },
        '"rules[0]" has prices for other names than [input output cached_input cache_write cache_write_1h audio_input cached_audio_input audio_output character audio_second web_search search_unit]',
      ],
      [
        'with a price of nothing',
        { name: 'a', reason, rules: [{ model: TEXT, prices: { input: '0' } }] },
        '"rules[0]" must have a price above 0',
      ],
      [
        'with a negative price',
        { name: 'a', reason, rules: [{ model: VIDEO.model, prices: { '720p': '-1' } }] },
        '"rules[0]" must have amounts',
      ],
      [
        'with a price finer than is charged',
        { name: 'a', reason, rules: [{ model: TEXT, prices: { input: '0.0000001' } }] },
        'at most 6 decimals',
      ],
      [
        'with prices that are numbers',
        { name: 'a', reason, rules: [{ model: TEXT, prices: { input: 1 } }] },
        'amounts',
      ],
      [
        'with a price for a free model',
        { name: 'a', reason, rules: [{ model: 'textk-5.3-free', factor: '2' }] },
        '"rules[0]" is for a free model',
      ],
      [
        'valid earlier than now',
        { name: 'a', reason, valid_from: '2026-01-01T00:00:00Z' },
        '"valid_from" is too early',
      ],
      [
        'with 501 rules',
        { name: 'a', reason, rules: Array.from({ length: 501 }, () => ({ model: TEXT, factor: '1' })) },
        '"rules" accepts at most 500',
      ],
    ] as const) {
      it(`a price list ${what} is refused`, async () => {
        const { status, body: answer } = await admin('/price-lists', body);
        expect(answer.error.message).to.include(words);
        expect([status, answer.error.code]).to.deep.equal([400, 'bad_request']);
      });
    }

    it('a price list with the name of another is refused', async () => {
      // contract 4.11:55
      const { status, body } = await admin('/price-lists', { name: 'partners', reason });
      expect([status, body.error.code]).to.deep.equal([409, 'idempotency_conflict']);
    });

    it('a change is refused where the list, version or account does not exist', async () => {
      const none = 'acc_000000000000000000000000000000ab';
      for (const [path, body, method] of [
        ['/price-lists/none', undefined, undefined],
        ['/price-lists/partners?version=99', undefined, undefined],
        ['/price-lists/none/versions', { reason }, undefined],
        [`/accounts/${caller.accountId}/price-list`, { price_list: 'none', reason }, 'PATCH'],
        [`/accounts/${none}/price-list`, { price_list: 'partners', reason }, 'PATCH'],
      ] as const) {
        expect((await admin(path, body, method)).status, path).to.equal(404);
      }
    });

    it('a price list with more than twenty versions that are not in force yet is refused', async () => {
      await admin('/price-lists', { name: 'planned', reason, valid_from: inAnHour });
      for (let count = 1; count < 20; count += 1) {
        const { status } = await admin('/price-lists/planned/versions', { reason, valid_from: inAnHour });
        expect(status).to.equal(201);
      }
      const { status, body } = await admin('/price-lists/planned/versions', { reason, valid_from: inAnHour });
      expect([status, body.error.code]).to.deep.equal([400, 'bad_request']);
    });
  });

  it('leave the prices of the catalogue unchanged before their first version takes effect', async () => {
    const later = await app.createAccount({ fundedUsd: 1 });
    await admin(`/accounts/${later.accountId}/price-list`, { price_list: 'planned', reason: 'soon' }, 'PATCH');
    expect(await priceOfVideo(later)).to.equal(0.1);
  });
});
