import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import { deleteApiKey, findApiKey, findCaller, type KeySettings, updateApiKey } from '../../../db/queries/api-keys.ts';
import { newId } from '../../../domain/ids.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createAccount, createFundedKey, createKey, createTaskRow } from '../../support/factories.ts';

describe('db/queries/api-keys', () => {
  let database: Database;
  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  const SETTINGS = {
    name: 'Büro 2',
    usageLimit: 123_456_789_012_345_678n,
    limitPeriod: 'week',
    models: ['vidone-3.0', 'textc-M3'],
    ipAllowlist: ['10.0.0.0/8', '2001:db8::1'],
    rateLimitRpm: 600,
    expiresAt: new Date('2031-02-03T04:05:06.789Z'),
  } as const satisfies KeySettings;

  it('keeps the settings of an operator', async () => {
    const account = await createAccount(database);
    const { digest, ...key } = await createKey(database, account, SETTINGS);
    expect(key).to.deep.include({ ...SETTINGS, accountId: account.id, used: 0n, disabledAt: null });
    expect(await findApiKey(database, key.id)).to.deep.equal(key);
    expect(await findCaller(database, digest)).to.deep.equal({
      key,
      account: {
        id: account.id,
        toppedUpAt: null,
        suspendedAt: null,
        prices: [],
        budgetsVersion: 0,
        responseMinutes: null,
      },
    });
  });

  it('allows everything by default', async () => {
    expect(await createKey(database, await createAccount(database))).to.include({
      usageLimit: null,
      limitPeriod: null,
      models: null,
      ipAllowlist: null,
      rateLimitRpm: null,
      expiresAt: null,
      deletedAt: null,
      disabledAt: null,
    });
  });

  for (const [name, value] of Object.entries(SETTINGS)) {
    it(`changes ${name} and leaves the other settings`, async () => {
      const { digest: _, ...key } = await createKey(database, await createAccount(database));
      const changed = await updateApiKey(database, key.id, { [name]: value });
      expect(changed).to.deep.equal({ ...key, [name]: value });
      expect(await findApiKey(database, key.id)).to.deep.equal(changed);
    });
  }

  it('removes a limit that is set to null, and lets an empty list allow nothing', async () => {
    // contract 4.11:17
    const key = await createKey(database, await createAccount(database), SETTINGS);
    const lifted = {
      usageLimit: null,
      limitPeriod: null,
      models: null,
      ipAllowlist: null,
      rateLimitRpm: null,
      expiresAt: null,
    };
    expect(await updateApiKey(database, key.id, lifted)).to.deep.include(lifted);
    expect(await updateApiKey(database, key.id, { models: [] })).to.deep.include({ models: [] });
  });

  it('changes nothing without settings, and never the usage of a key', async () => {
    const key = await createFundedKey(database);
    const { price } = await createTaskRow(database, key);
    expect(await updateApiKey(database, key.id, {})).to.include({ used: price });
    expect(await updateApiKey(database, key.id, { usageLimit: 0n })).to.include({ used: price, usageLimit: 0n });
  });

  it('deletes a key at once and for good, but keeps its row for the ledger', async () => {
    const key = await createFundedKey(database);
    expect(await deleteApiKey(database, key.id)).to.equal(true);
    expect((await findCaller(database, key.digest))?.key.deletedAt).to.be.instanceOf(Date);
    expect(await findApiKey(database, key.id)).to.equal(null);
    expect(await updateApiKey(database, key.id, { disabled: false })).to.equal(null);
    expect(await deleteApiKey(database, key.id)).to.equal(false);
    expect(await database('api_keys').where({ id: key.id })).to.have.length(1);
  });

  it('returns null for a key that does not exist', async () => {
    const id = newId('apiKey');
    expect(await findApiKey(database, id)).to.equal(null);
    expect(await updateApiKey(database, id, { name: 'x' })).to.equal(null);
    expect(await deleteApiKey(database, id)).to.equal(false);
  });
});
