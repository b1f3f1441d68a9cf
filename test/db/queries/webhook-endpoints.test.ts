import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import type { Database } from '../../../db/database.ts';
import type { Account } from '../../../db/queries/accounts.ts';
import { replaceWebhookSecret, updateWebhookEndpoint } from '../../../db/queries/webhook-endpoints.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createAccount, createEndpoint } from '../../support/factories.ts';

describe('db/queries/webhook-endpoints', () => {
  let database: Database;
  let account: Account;

  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });
  beforeEach(async () => {
    account = await createAccount(database);
  });

  it('records why and since when an endpoint is disabled, and clears the record and its failures when it is enabled', async () => {
    // contract 2.4:4 2.4:8 2.4:9
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

  it('clears the failures of an old URL when it gets a new one', async () => {
    // contract 2.4:9 2.4:19
    const { id } = await createEndpoint(database, account);
    const failures = { failing_since: new Date(0), timeouts: 3, paused_until: new Date() };
    await database('webhook_endpoints').where({ id }).update(failures);
    await updateWebhookEndpoint(database, account.id, id, { description: 'The same address' });
    expect(await database('webhook_endpoints').where({ id }).first()).to.deep.include(failures);
    await updateWebhookEndpoint(database, account.id, id, { url: 'https://new.example.com/hook' });
    expect(await database('webhook_endpoints').where({ id }).first()).to.include({
      failing_since: null,
      timeouts: 0,
      paused_until: null,
    });
  });

  it('keeps the old secret valid for a while after a new one', async () => {
    // contract 6:23
    const { id } = await createEndpoint(database, account);
    const [{ encrypted_secret: old }] = await database('webhook_endpoints').where({ id });
    const encryptedSecret = randomBytes(32);
    await replaceWebhookSecret(database, {
      accountId: account.id,
      endpointId: id,
      encryptedSecret,
      overlapSeconds: 60,
    });
    const row = await database('webhook_endpoints')
      .where({ id })
      .first('*', database.raw('extract(epoch FROM previous_secret_until - updated_at)::integer AS overlap'));
    expect(row.encrypted_secret).to.deep.equal(encryptedSecret);
    expect(row.previous_encrypted_secret).to.deep.equal(old);
    expect(row.overlap).to.equal(60);
  });
});
