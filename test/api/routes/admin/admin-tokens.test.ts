import { expect } from 'chai';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import { createEndpoint, createTaskRow, finishAsSucceeded } from '../../../support/factories.ts';
import { connectGenway, field, type Genway } from '../../../support/genway.ts';
import { call } from '../../../support/stack.ts';

const OTHER_TOKEN = 'the-token-that-replaces-the-first';

interface Token {
  readonly id: string;
  readonly secret: string;
  readonly genway: Genway;
}

describe('api/routes/admin/admin-tokens', () => {
  let genway: Genway;

  const app = useTestApp({ settings: { adminTokens: ['the-token-of-the-operators', OTHER_TOKEN] } });
  before(async () => {
    genway = await connectGenway(app);
  });

  async function create(name: string, role = 'operator', ...words: string[]): Promise<Token> {
    const made = await genway('admin-tokens', 'create', name, '--role', role, ...words);
    const secret = field(made, 'admin_token');
    return { id: field(made, 'id'), secret, genway: await connectGenway({ baseUrl: app.baseUrl, adminToken: secret }) };
  }

  const statusFor = async (key: string): Promise<number> =>
    (await call(`${app.baseUrl}/admin/v1/tasks`, { key })).status;

  it('shows a token once, and stores neither the token nor anything from which it can be derived', async () => {
    // contract 4.11:47
    const { id, secret } = await create('Ada');
    expect(secret).to.match(/^ga-[0-9a-z]{48}$/);
    const list = await genway('admin-tokens', 'list');
    expect(list)
      .to.contain(id)
      .and.to.contain(`ga-…${secret.slice(-4)}`);
    expect(list).to.not.contain(secret);
    const rows = JSON.stringify(await app.database('admin_tokens'));
    expect(rows).to.contain('Ada');
    expect(rows).to.not.contain(secret);
    expect(app.logged()).to.not.contain(secret);
  });

  it('lets a name have two tokens, so that one replaces the other without a gap', async () => {
    const [old, next] = [await create('Bea'), await create('Bea')];
    expect([await statusFor(old.secret), await statusFor(next.secret)]).to.deep.equal([200, 200]);
    expect(await genway('admin-tokens', 'revoke', old.id)).to.match(/revoked +true/);
    expect([await statusFor(old.secret), await statusFor(next.secret)]).to.deep.equal([401, 200]);
    expect(await genway('admin-tokens', 'revoke', old.id)).to.contain('There is no such admin token');
  });

  it('refuses a token in another process as soon as it is revoked in this one', async () => {
    // contract 4.11:47
    const { id, secret } = await create('Cid');
    const other = await app.startSecond();
    expect((await call(`${other}/admin/v1/tasks`, { key: secret })).status).to.equal(200);
    await genway('admin-tokens', 'revoke', id);
    expect((await call(`${other}/admin/v1/tasks`, { key: secret })).status).to.equal(401);
  });

  it('refuses a token that has expired', async () => {
    const { secret } = await create('Dan', 'operator', '--expires-at', '2026-01-01T00:00:00Z');
    expect(await statusFor(secret)).to.equal(401);
  });

  it('accepts both tokens of the environment while one replaces the other', async () => {
    expect([await statusFor(app.adminToken), await statusFor(OTHER_TOKEN)]).to.deep.equal([200, 200]);
  });

  it('shows when a token was last used', async () => {
    const { id, secret } = await create('Eve');
    const lastUse = async (): Promise<unknown> =>
      (await app.database('admin_tokens').where({ id }).first('last_used_at')).last_used_at;
    expect(await lastUse()).to.equal(null);
    await statusFor(secret);
    expect(await lastUse()).to.be.a('date');
  });

  it('records the name of a token as the author of its changes', async () => {
    // contract 4.11:2
    const { accountId } = await app.createAccount({ fundedUsd: 5 });
    const fay = await create('Fay', 'finance');
    expect(await fay.genway('accounts', 'adjust', accountId, '-1', '--reason', 'a test')).to.contain('adjustment');
    const { author } = await app.database('transfers').where({ kind: 'adjustment' }).first('author');
    expect(author).to.equal('Fay');
  });

  it("permits another author's name only with the token of the environment", async () => {
    // contract 4.11:3 4.11:4
    const { accountId } = await app.createAccount({ fundedUsd: 5 });
    const gus = await create('Gus', 'finance');
    const words = ['accounts', 'adjust', accountId, '-1', '--reason', 'a test', '--author'];
    expect(await gus.genway(...words, 'Hal')).to.contain('"author" is the name of the admin token, Gus');
    expect(await gus.genway(...words, 'Gus')).to.contain('adjustment');
    expect(await genway(...words, 'Hal')).to.contain('adjustment');
  });

  it('refuses the name that stands for the token of the environment, and unknown roles', async () => {
    // contract 4.11:47
    for (const body of [
      { name: 'admin', role: 'readonly' },
      { name: 'Ivy', role: 'king' },
      { name: '', role: 'readonly' },
    ]) {
      const { status } = await call<ErrorBody>(`${app.baseUrl}/admin/v1/admin-tokens`, { key: app.adminToken, body });
      expect(status).to.equal(400);
    }
  });

  it('lists each change with its author and token, and no reads', async () => {
    // contract 4.11:52
    const jan = await create('Jan');
    const account = field(await jan.genway('accounts', 'create', 'Acme'), 'id');
    await jan.genway('accounts', 'show', account);
    await jan.genway('keys', 'create', account);
    const { body } = await call<{ data: Record<string, string>[] }>(
      `${app.baseUrl}/admin/v1/admin-actions?author=Jan`,
      { key: jan.secret },
    );
    expect(body.data.map(({ action, path, admin_token_id: token }) => ({ action, path, token }))).to.deep.equal([
      { action: 'createKey', path: `/admin/v1/accounts/${account}/keys`, token: jan.id },
      { action: 'createAccount', path: '/admin/v1/accounts', token: jan.id },
    ]);
    expect(await genway('actions', '--author', 'Jan', '--limit', '1'))
      .to.contain('createKey')
      .and.to.contain('more:');
  });

  it('lists the changes of one account with their reasons, and those of what the account has', async () => {
    // contract 4.11:52
    const { accountId, keyId } = await app.createAccount({ fundedUsd: 10 });
    const other = await app.createAccount();
    const endpoint = await createEndpoint(app.database, { id: accountId });
    const { id: taskId } = await createTaskRow(app.database, { id: keyId, accountId });
    await finishAsSucceeded(app.database, { id: taskId });
    const [delivery] = await app.database('deliveries').where({ task_id: taskId }).pluck('id');
    await genway('keys', 'update', keyId, '--name', 'first');
    await genway('keys', 'update', other.keyId, '--name', 'second');
    await genway('webhooks', 'redeliver', delivery);
    await genway('webhooks', 'redeliver-all', endpoint.id, '--from', '2026-01-01');
    await genway('tasks', 'redeliver', taskId, '--reason', 'ticket 4711');
    await genway('accounts', 'suspend', accountId, '--reason', 'card stolen', '--author', 'Ada');
    const { body } = await call<{ data: Record<string, string>[] }>(
      `${app.baseUrl}/admin/v1/admin-actions?account_id=${accountId}`,
      { key: app.adminToken },
    );
    expect(body.data.map(({ author, action, reason }) => [author, action, reason])).to.deep.equal([
      ['Ada', 'suspendAccount', 'card stolen'],
      ['admin', 'redeliverTask', 'ticket 4711'],
      ['admin', 'redeliverAllOfWebhook', null],
      ['admin', 'redeliverAny', null],
      ['admin', 'updateKey', null],
    ]);
    expect(new Set(body.data.map(({ account_id: account }) => account))).to.deep.equal(new Set([accountId]));
    expect(await genway('actions', '--account-id', accountId)).to.include('card stolen');
  });

  it('makes no change that it cannot record', async () => {
    await app.database.raw('ALTER TABLE admin_actions RENAME TO unwritable');
    try {
      const before = await app.database('accounts').count();
      const { status } = await call(`${app.baseUrl}/admin/v1/accounts`, { key: app.adminToken, body: { name: 'x' } });
      expect(status).to.equal(500);
      expect(await app.database('accounts').count()).to.deep.equal(before);
    } finally {
      await app.database.raw('ALTER TABLE unwritable RENAME TO admin_actions');
    }
  });
});
