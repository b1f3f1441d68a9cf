import { expect } from 'chai';
import { eventually } from '../../../support/eventually.ts';
import { finishAsSucceeded, type TestCaller } from '../../../support/factories.ts';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import { type Answer, call } from '../../../support/stack.ts';

interface AccountBody {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly external_id: string | null;
  readonly max_concurrent_tasks: number | null;
  readonly suspended: boolean;
  readonly balances: Readonly<Record<string, number>>;
}

type Envelope = ErrorBody & { readonly data: AccountBody };
type Page = { readonly data: readonly AccountBody[]; readonly next_cursor: string | null };

const VIDEO = { model: 'vidone-3.0', prompt: 'a lighthouse' };
const CHAT = { model: 'textc-M3', messages: [{ role: 'user', content: 'hello' }] };

describe('api/routes/admin/accounts', () => {
  const app = useTestApp();

  function admin<Body>(path: string, body?: object, method?: string): Promise<Answer<Body>> {
    const options = { key: app.adminToken, ...(body && { body }), ...(method !== undefined && { method }) };
    return call<Body>(`${app.baseUrl}/admin/v1${path}`, options);
  }

  async function create(details: object): Promise<AccountBody> {
    const { status, body } = await admin<Envelope>('/accounts', details);
    expect(status, JSON.stringify(body)).to.equal(201);
    return body.data;
  }

  async function found(query: string): Promise<readonly string[]> {
    const { status, body } = await admin<Page>(`/accounts?${query}`);
    expect(status).to.equal(200);
    return body.data.map(({ id }) => id);
  }

  it('finds accounts by a part of a name, id or address, in any case, newest first', async () => {
    // contract 4.11:6
    const acme = await create({ name: 'Acme 100%', email: 'Ada@acme.example', external_id: 'crm-1742' });
    const other = await create({ name: 'Beta of Acme', signup_credit_usd: 5 });
    expect(await found('search=ACME')).to.deep.equal([other.id, acme.id]);
    expect(await found('search=ada@ACME')).to.deep.equal([acme.id]);
    expect(await found('search=crm-17')).to.deep.equal([acme.id]);
    expect(await found(`search=${acme.id}`)).to.deep.equal([acme.id]);
    expect(await found('email=ada@acme.example')).to.deep.equal([acme.id]);
    expect(await found('external_id=crm-1742')).to.deep.equal([acme.id]);
    expect(await found('external_id=crm-17')).to.deep.equal([]);
    expect(await found('search=Acme&suspended=true')).to.deep.equal([]);
  });

  it('treats the wildcards of patterns as ordinary characters', async () => {
    const percent = await create({ name: 'Half_of 50% \\ off' });
    await create({ name: 'Halfxof 500 off' });
    for (const part of ['50% ', 'Half_of', '% \\']) {
      expect(await found(`search=${encodeURIComponent(part)}`), part).to.deep.equal([percent.id]);
    }
  });

  for (const path of ['accounts?states=open', 'tasks?error=x', 'refunds?model=x']) {
    it(`refuses a filter that the list does not have: ${path}`, async () => {
      // contract 4.11:81
      const { status, body } = await call<ErrorBody>(`${app.baseUrl}/admin/v1/${path}`, { key: app.adminToken });
      expect([status, body.error.code]).to.deep.equal([400, 'bad_request']);
      const [, name = ''] = /\?(\w+)=/.exec(path) ?? [];
      expect(body.error.message).to.include(`unknown parameter: ${name}. There are: [`).and.include('limit');
    });
  }

  it('lists all accounts page by page', async () => {
    const created = [];
    for (const name of ['Page 1', 'Page 2', 'Page 3']) created.push((await create({ name })).id);
    const first = await admin<Page>('/accounts?search=Page&limit=2');
    const second = await admin<Page>(`/accounts?search=Page&limit=2&cursor=${first.body.next_cursor}`);
    const ids = [...first.body.data, ...second.body.data].map(({ id }) => id);
    expect(ids).to.deep.equal(created.toReversed());
    expect(second.body.next_cursor).to.equal(null);
  });

  it('changes the fields that are sent, removes those that are null, and keeps the others', async () => {
    // contract 4.11:5 4.11:8
    const { id } = await create({ name: 'Before', email: 'a@b.example', external_id: 'edit-1' });
    const { body } = await admin<Envelope>(
      `/accounts/${id}`,
      { name: 'After', email: null, max_concurrent_tasks: 3, author: 'ada' },
      'PATCH',
    );
    expect(body.data).to.include({ name: 'After', email: null, external_id: 'edit-1', max_concurrent_tasks: 3 });
    const { body: story } = await admin<{ data: { lines: string[] } }>(`/find/${id}`);
    expect(story.data.lines.join('\n')).to.include('edit by ada: set name, email, max_concurrent_tasks');
  });

  it('assigns an external id to one account only', async () => {
    // contract 4.11:5
    const { id } = await create({ name: 'One', external_id: 'unique' });
    const other = await create({ name: 'Other' });
    const again = await admin<ErrorBody>('/accounts', { name: 'Two', external_id: 'unique' });
    const moved = await admin<ErrorBody>(`/accounts/${other.id}`, { external_id: 'unique' }, 'PATCH');
    for (const { status, body } of [again, moved]) {
      expect([status, body.error.code]).to.deep.equal([409, 'idempotency_conflict']);
    }
    expect(await found('external_id=unique')).to.deep.equal([id]);
  });

  for (const [what, details] of [
    ['an address without @', { email: 'ada' }],
    ['an empty external id', { external_id: '' }],
    ['no tasks at all', { max_concurrent_tasks: 0 }],
    ['an unknown field', { balance: 5 }],
  ] as const) {
    it(`refuses ${what}`, async () => {
      const { id } = await create({ name: 'Kept' });
      expect((await admin(`/accounts/${id}`, details, 'PATCH')).status).to.equal(400);
    });
  }

  it('answers 404 for an account that does not exist', async () => {
    const path = '/accounts/acc_00mwqkpyz42zuujmm5osvzy4l5b0x769';
    expect((await admin(path, { name: 'x' }, 'PATCH')).status).to.equal(404);
    expect((await admin(`${path}/suspend`, { reason: 'x' })).status).to.equal(404);
    expect((await admin(`${path}/reopen`, {})).status).to.equal(404);
    expect((await admin(`${path}/keys`)).status).to.equal(404);
  });

  describe('a suspended account', () => {
    let caller: TestCaller;
    let taskId = '';
    let texts = '';
    let second = '';

    before(async () => {
      [texts, second] = await Promise.all([app.startText(), app.startSecond()]);
      caller = await app.createAccount({ fundedUsd: 10 });
      const created = await call<{ data: { id: string } }>(`${app.baseUrl}/v1/videos/tasks`, {
        key: caller.apiKey,
        body: VIDEO,
      });
      taskId = created.body.data.id;
      // By now every cache holds the key.
      expect(await answers()).to.not.include(401);
      const { body } = await admin<Envelope>(`/accounts/${caller.accountId}/suspend`, {
        reason: 'fraud',
        author: 'ada',
      });
      expect(body.data.suspended).to.equal(true);
    });

    const answers = async (): Promise<readonly number[]> => {
      const { apiKey: key } = caller;
      const all = await Promise.all([
        call(`${app.baseUrl}/v1/models`, { key }),
        call(`${second}/v1/tasks/${taskId}`, { key }),
        call(`${second}/v1/videos/tasks`, { key, body: VIDEO }),
        call(`${app.baseUrl}/v1/chat/completions`, { key, body: CHAT }),
        call(`${texts}/v1/chat/completions`, { key, body: CHAT }),
      ]);
      return all.map(({ status }) => status);
    };

    it('has no key that works, in any process, and its owner reads the reason', async () => {
      // contract 4.11:9 5:9 5:16
      expect(await answers()).to.deep.equal([401, 401, 401, 401, 401]);
      const { body } = await call<ErrorBody>(`${texts}/v1/chat/completions`, { key: caller.apiKey, body: CHAT });
      expect(body.error).to.include({ code: 'invalid_api_key', retryable: false });
      expect(body.error.message).to.include('suspended');
    });

    it('keeps its running tasks, which are charged when they complete', async () => {
      // contract 4.11:9 5:16
      const { applied } = await finishAsSucceeded(app.database, { id: taskId });
      expect(applied).to.equal(true);
      // The text processes have returned their holds.
      await eventually(async () => {
        const { body } = await admin<Envelope>(`/accounts/${caller.accountId}`);
        const { available_usd, reserved_usd } = body.data.balances;
        return available_usd === 9 && reserved_usd === 0.5;
      });
    });

    it('is listed as suspended, and works again once it is reopened', async () => {
      // contract 4.11:9
      expect(await found('suspended=true')).to.include(caller.accountId);
      await admin(`/accounts/${caller.accountId}/reopen`, { reason: 'cleared' });
      expect(await found('suspended=true')).to.not.include(caller.accountId);
      const { status } = await call(`${second}/v1/models`, { key: caller.apiKey });
      expect(status).to.equal(200);
    });
  });
});
