import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { newApiKey, digestApiKey } from '../../../services/people/api-key-digest.ts';
import { createCachedFindCaller, createFindCaller } from '../../../services/people/find-caller.ts';
import { insertApiKey } from '../../../db/queries/api-keys.ts';
import { pepperMark } from '../../../db/queries/secrets.ts';
import { newId } from '../../../domain/ids.ts';
import { eventually } from '../../support/eventually.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createAccount } from '../../support/factories.ts';

describe('the pepper of API keys', () => {
  const [oldPepper, newPepper] = [randomBytes(32), randomBytes(32)];
  const testDatabase = useTestDatabase();

  async function createKeyUnder(pepper: Buffer): Promise<{ id: string; secret: string }> {
    const { database } = testDatabase;
    const [id, secret] = [newId('apiKey'), newApiKey()];
    const { id: accountId } = await createAccount(database);
    const digest = digestApiKey(secret, pepper);
    await insertApiKey(database, { id, accountId, digest, pepperMark: pepperMark(pepper), hint: 'test', settings: {} });
    return { id, secret };
  }

  for (const [which, create] of [
    ['asked each time', createFindCaller],
    ['remembered', createCachedFindCaller],
  ] as const) {
    it(`can be replaced while older keys remain valid, which their next use rehashes (${which})`, async () => {
      const { database } = testDatabase;
      const { id, secret } = await createKeyUnder(oldPepper);
      expect(await create(database, [newPepper])(secret), 'no overlap').to.equal(null);
      const found = await create(database, [newPepper, oldPepper])(secret);
      expect(found?.key.id).to.equal(id);
      const moved = await eventually(async () => (await create(database, [newPepper])(secret)) ?? undefined);
      expect(moved.key.id).to.equal(id);
      expect(await create(database, [oldPepper])(secret)).to.equal(null);
    });
  }

  it('looks up many keys at once, each with its own owner', async () => {
    const keys = await Promise.all([oldPepper, newPepper, oldPepper].map(createKeyUnder));
    const find = createFindCaller(testDatabase.database, [newPepper, oldPepper]);
    const found = await Promise.all([...keys.map(({ secret }) => find(secret)), find(newApiKey())]);
    expect(found.map((caller) => caller?.key.id)).to.deep.equal([...keys.map(({ id }) => id), undefined]);
  });
});
