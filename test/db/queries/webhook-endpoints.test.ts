import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import type { Database } from '../../../db/database.ts';
import type { Account } from '../../../db/queries/accounts.ts';
import {
  deleteWebhookEndpoint,
  findWebhookEndpoint,
  insertWebhookEndpoint,
  listWebhookEndpoints,
  replaceWebhookSecret,
  updateWebhookEndpoint,
  type WebhookEndpoint,
} from '../../../db/queries/webhook-endpoints.ts';
import { newId } from '../../../domain/ids.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createAccount, createEndpoint } from '../../support/factories.ts';

describe('db/queries/webhook-endpoints', () => {
  let database: Database;
  let account: Account;
  let stranger: Account;

  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });
  before(async () => {
    stranger = await createAccount(database);
  });

  beforeEach(async () => {
    account = await createAccount(database);
  });

  it('keeps an endpoint as it was made, without showing its secret', async () => {
    const endpoint = await createEndpoint(database, account, { description: 'internal', events: ['task.failed'] });
    expect(endpoint).to.include({ accountId: account.id, description: 'internal', disabledAt: null });
    expect(endpoint.events).to.deep.equal(['task.failed']);
    expect(Object.keys(endpoint).join()).not.to.match(/secret/i);
    expect(await findWebhookEndpoint(database, account.id, endpoint.id)).to.deep.equal(endpoint);
  });

  it('keeps to the limit of an account, however many come at the same time', async () => {
    const insert = () =>
      database.transaction((transaction) =>
        insertWebhookEndpoint(
          transaction,
          {
            id: newId('webhookEndpoint'),
            accountId: account.id,
            url: 'https://receiver.test/',
            description: null,
            events: ['task.failed'],
            sealedSecret: randomBytes(32),
            createdAt: new Date(),
          },
          3,
        ),
      );
    const made = await Promise.all(Array.from({ length: 8 }, insert));
    expect(made.filter((endpoint) => endpoint !== null).length).to.equal(3);
    const [first] = await listWebhookEndpoints(database, { accountId: account.id, limit: 1 });
    await deleteWebhookEndpoint(database, account.id, first?.id ?? '');
    expect(await insert(), 'a deleted one does not count').not.to.equal(null);
  });

  it('lists each endpoint once, newest first, page by page', async () => {
    const made: string[] = [];
    for (let index = 0; index < 5; index += 1) made.push((await createEndpoint(database, account)).id);
    const listed: WebhookEndpoint[] = [];
    for (let page = 0; page < 3; page += 1) {
      const before = listed.at(-1)?.id;
      listed.push(...(await listWebhookEndpoints(database, { accountId: account.id, before, limit: 2 })));
    }
    expect(listed.map(({ id }) => id)).to.deep.equal(made.toSorted().toReversed());
  });

  for (const changes of [
    { url: 'https://other.test/hook' },
    { description: 'another' },
    { description: null },
    { events: ['task.succeeded'] as const },
  ]) {
    it(`changes ${JSON.stringify(changes)} and leaves the rest`, async () => {
      const endpoint = await createEndpoint(database, account, { description: 'internal' });
      const changed = await updateWebhookEndpoint(database, account.id, endpoint.id, changes);
      expect(changed).to.deep.equal({ ...endpoint, ...changes, updatedAt: changed?.updatedAt });
    });
  }

  it('keeps why and since when an endpoint is disabled, and forgets it with its failures when it is enabled', async () => {
    const { id } = await createEndpoint(database, account);
    await database('webhook_endpoints')
      .where({ id })
      .update({ disabled_at: new Date(0), disabled_reason: 'gone', failing_since: new Date(0) });
    expect(await updateWebhookEndpoint(database, account.id, id, { enabled: false })).to.deep.include({
      disabledAt: new Date(0),
      disabledReason: 'gone',
      failingSince: new Date(0),
    });
    const nothing = { disabledAt: null, disabledReason: null, failingSince: null };
    expect(await updateWebhookEndpoint(database, account.id, id, { enabled: true })).to.include(nothing);
    const disabled = await updateWebhookEndpoint(database, account.id, id, { enabled: false });
    expect(disabled?.disabledAt).to.be.instanceOf(Date);
    expect(disabled?.disabledReason).to.equal('disabled by its owner');
  });

  it('keeps the old secret valid for a while after a new one', async () => {
    const { id } = await createEndpoint(database, account);
    const [{ sealed_secret: old }] = await database('webhook_endpoints').where({ id });
    const sealedSecret = randomBytes(32);
    await replaceWebhookSecret(database, { accountId: account.id, endpointId: id, sealedSecret, overlapSeconds: 60 });
    const row = await database('webhook_endpoints')
      .where({ id })
      .first('*', database.raw('extract(epoch FROM previous_secret_until - updated_at)::integer AS overlap'));
    expect(row.sealed_secret).to.deep.equal(sealedSecret);
    expect(row.previous_sealed_secret).to.deep.equal(old);
    expect(row.overlap).to.equal(60);
  });

  for (const [what, prepare] of [
    ["another account's endpoint", async () => (await createEndpoint(database, stranger)).id],
    [
      'a deleted endpoint',
      async () => {
        const { id } = await createEndpoint(database, account);
        expect(await deleteWebhookEndpoint(database, account.id, id)).to.equal(true);
        return id;
      },
    ],
    ['an endpoint that never was', async () => newId('webhookEndpoint')],
    ['an id of another form', async () => "we_' OR true --"],
  ] as const) {
    it(`neither shows nor touches ${what}`, async () => {
      const id = await prepare();
      const row = () => database('webhook_endpoints').where({ id }).first();
      const before = await row();
      const secret = { accountId: account.id, endpointId: id, sealedSecret: randomBytes(32), overlapSeconds: 1 };
      expect(await findWebhookEndpoint(database, account.id, id)).to.equal(null);
      expect(await listWebhookEndpoints(database, { accountId: account.id, limit: 10 })).to.deep.equal([]);
      expect(await updateWebhookEndpoint(database, account.id, id, { url: 'https://other.test/' })).to.equal(null);
      expect(await replaceWebhookSecret(database, secret)).to.equal(null);
      expect(await deleteWebhookEndpoint(database, account.id, id)).to.equal(false);
      expect(await row()).to.deep.equal(before);
    });
  }
});
