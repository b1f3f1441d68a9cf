import { expect } from 'chai';
import { claimIdempotencyKey } from '../../../db/queries/idempotency.ts';
import { topUp } from '../../../db/queries/credits.ts';
import { updateApiKey } from '../../../db/queries/api-keys.ts';
import { parseUsd } from '../../../domain/money.ts';
import { type ErrorBody, useTestApp } from '../../support/app.ts';
import { finishAsSucceeded, type TestCaller } from '../../support/factories.ts';
import { type Answer, call } from '../../support/stack.ts';
import type { TaskBody } from '../../support/tasks.ts';

type CreateAnswer = Answer<{ data: TaskBody } & ErrorBody>;

const VIDEO = { model: 'vidone-3.0', prompt: 'A lighthouse', duration: 5 };

function expectConflict({ status, body }: CreateAnswer): void {
  expect([status, body.error.code, body.error.retryable]).to.deep.equal([409, 'idempotency_conflict', false]);
}

describe('an Idempotency-Key', () => {
  let caller: TestCaller;

  const app = useTestApp({ settings: { tasks: { deadlineMs: 60_000, concurrentTasks: 1000 } } });
  beforeEach(async () => {
    caller = await app.createAccount({ fundedUsd: 100 });
  });

  const create = (
    key: string,
    {
      body = VIDEO,
      path = '/v1/videos/tasks',
      as = caller,
      baseUrl = app.baseUrl,
    }: { body?: unknown; path?: string; as?: TestCaller; baseUrl?: string } = {},
  ): Promise<CreateAnswer> => call(baseUrl + path, { key: as.apiKey, body, headers: { 'idempotency-key': key } });

  const storedKey = () => app.database('idempotency_keys').where({ account_id: caller.accountId, key: 'k' });
  const countOf = async (table: string): Promise<number> =>
    Number((await app.database(table).where({ account_id: caller.accountId }).count('* as count').first())?.['count']);

  it('returns the first response again for the same body, marked as replayed', async () => {
    // contract 4.1:12
    const first = await create('k');
    const second = await create('k');
    expect([first.status, first.headers.get('idempotent-replayed')]).to.deep.equal([201, null]);
    expect([second.status, second.headers.get('idempotent-replayed')]).to.deep.equal([201, 'true']);
    expect(second.body).to.deep.equal(first.body);
    expect(second.headers.get('content-type')).to.equal(first.headers.get('content-type'));
    expect(await countOf('tasks')).to.equal(1);
  });

  it('treats the same JSON value as the same body, however it is written', async () => {
    // contract 4.1:13
    const first = await create('k');
    const reordered = '{ "duration": 5.0,\n "prompt": "A \\u006cighthouse", "model": "vidone-3.0" }';
    expect((await create('k', { body: reordered })).body.data.id).to.equal(first.body.data.id);
  });

  it('gets 409 idempotency_conflict with a different body', async () => {
    // contract 4.1:13 4.1:14 7.2:9
    await create('k');
    for (const body of [
      { ...VIDEO, duration: 6 },
      { model: VIDEO.model, prompt: VIDEO.prompt },
      'not JSON at all',
      [],
    ]) {
      const answer = await create('k', { body: JSON.stringify(body) });
      expectConflict(answer);
    }
    expect(await countOf('tasks')).to.equal(1);
  });

  it('belongs to one path', async () => {
    // contract 4.1:13
    await create('k');
    expectConflict(await create('k', { path: '/v1/images/tasks' }));
  });

  it('gets 409 idempotency_conflict while the first request is in progress', async () => {
    // contract 4.1:15 7.2:9
    await claimIdempotencyKey(app.database, {
      accountId: caller.accountId,
      key: 'k',
      requestDigest: await digestOf(),
      leaseSeconds: 60,
    });
    expectConflict(await create('k'));
  });

  it('is free again after the lease of a process that crashed', async () => {
    // contract 4.1:15
    const requestDigest = await digestOf();
    await claimIdempotencyKey(app.database, { accountId: caller.accountId, key: 'k', requestDigest, leaseSeconds: 60 });
    await app
      .database('idempotency_keys')
      .where({ key: 'k' })
      .update({ lease_until: new Date(Date.now() - 1) });
    const { status, headers } = await create('k');
    expect([status, headers.get('idempotent-replayed')]).to.deep.equal([201, null]);
  });

  /** The digest of the create call of these tests. */
  async function digestOf(): Promise<Buffer> {
    const other = await app.createAccount({ fundedUsd: 1 });
    await create('digest', { as: other });
    const row = await app.database('idempotency_keys').where({ account_id: other.accountId }).first('request_digest');
    return row.request_digest;
  }

  it('replays for 24 hours, after which the key is free again', async () => {
    // contract 4.1:12
    const { body } = await create('k');
    const { completed_at: completedAt, expires_at: expiresAt } = await storedKey().first('completed_at', 'expires_at');
    expect(expiresAt.getTime() - completedAt.getTime()).to.equal(24 * 3_600_000);
    await storedKey().update({ expires_at: new Date(Date.now() + 60_000) });
    expect((await create('k')).body.data.id).to.equal(body.data.id);
    await storedKey().update({ expires_at: new Date(Date.now() - 1) });
    const later = await create('k', { body: { ...VIDEO, duration: 6 } });
    expect([later.status, later.headers.get('idempotent-replayed')]).to.deep.equal([201, null]);
    expect(later.body.data.id).to.not.equal(body.data.id);
  });

  it('stores no response that is not 2xx: the same key runs again after a 400', async () => {
    // contract 4.1:16
    expect((await create('k', { body: { ...VIDEO, duration: 99 } })).status).to.equal(400);
    expect(await countOf('idempotency_keys')).to.equal(0);
    expect((await create('k')).status).to.equal(201);
  });

  it('runs again after a 402, a 403 and a 429', async () => {
    // contract 4.1:16
    const poor = await app.createAccount({ fundedUsd: 0.01 });
    expect((await create('k', { as: poor })).status).to.equal(402);
    await topUp(app.database, { accountId: poor.accountId, amount: parseUsd(1), reference: 'second' });
    expect((await create('k', { as: poor })).status).to.equal(201);

    const free = await app.createAccount();
    expect((await create('k', { as: free })).status).to.equal(403);

    await app.database('accounts').where({ id: caller.accountId }).update({ max_concurrent_tasks: 1 });
    const running = await create('other');
    expect((await create('k')).status).to.equal(429);
    await finishAsSucceeded(app.database, running.body.data);
    expect((await create('k')).status).to.equal(201);
  });

  it('is shared by the keys of an account, and by no other account', async () => {
    // contract 4.1:11
    const stranger = await app.createAccount({ fundedUsd: 10 });
    const [own, foreign] = [await create('k'), await create('k', { as: stranger })];
    expect(foreign.body.data.id).to.not.equal(own.body.data.id);
    expect(foreign.headers.get('idempotent-replayed')).to.equal(null);
  });

  it('has 1 to 255 characters', async () => {
    // contract 4.1:10
    expect((await create('x'.repeat(255))).status).to.equal(201);
    expect((await create('é'.repeat(255))).status).to.equal(201);
    for (const key of ['x'.repeat(256), '']) {
      const { status, body } = await create(key);
      expect([status, body.error.code]).to.deep.equal([400, 'bad_request']);
      expect(body.error.message).to.contain('Idempotency-Key');
    }
  });

  it('may have any bytes that a header can carry, also those of half a character', async () => {
    // contract 4.1:10 4.1:12
    for (const key of [Buffer.from([0xed, 0xa0, 0x80]).toString('latin1'), '\u0080', '\u00ff'.repeat(255)]) {
      const [first, second] = [await create(key), await create(key)];
      expect([first.status, second.status, second.body.data.id]).to.deep.equal([201, 201, first.body.data.id]);
    }
  });

  it('creates one task and one reservation from 50 requests at once, through two processes', async () => {
    const second = await app.startSecond();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => create('k', { baseUrl: index % 2 ? second : app.baseUrl })),
    );
    const created = answers.filter(({ status }) => status === 201);
    for (const answer of answers.filter(({ status }) => status !== 201)) expectConflict(answer);
    expect(new Set(created.map(({ body }) => body.data.id))).to.have.property('size', 1);
    expect(created.filter(({ headers }) => headers.get('idempotent-replayed') === null)).to.have.length(1);
    expect(await countOf('tasks')).to.equal(1);
    expect(await app.database('transfers').where({ account_id: caller.accountId, kind: 'reservation' })).to.have.length(
      1,
    );
  });

  it('does not replay to a key that may no longer make the call', async () => {
    await create('k');
    await updateApiKey(app.database, caller.keyId, { disabled: true });
    expect((await create('k')).status).to.equal(401);
  });

  it('is not stored in plain text: the stored response is encrypted', async () => {
    const { body } = await create('k');
    const row = await app.database('idempotency_keys').where({ account_id: caller.accountId }).first('encrypted_body');
    expect(row.encrypted_body.includes(body.data.id)).to.equal(false);
  });
});
