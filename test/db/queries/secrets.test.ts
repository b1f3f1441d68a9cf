import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { checkSecrets, countKeysUnderOtherPeppers, recordSecrets, pepperMark } from '../../../db/queries/secrets.ts';
import { reencrypt, type ReencryptedTable } from '../../../db/reencrypt.ts';
import { createEncryption } from '../../../db/encryption.ts';
import { insertRealtimeSecret } from '../../../db/queries/realtime-secrets.ts';
import { insertStoredResponses } from '../../../db/queries/stored-responses.ts';
import { findUserSecrets } from '../../../db/queries/users.ts';
import { newId } from '../../../domain/ids.ts';
import { OperatorError } from '../../../domain/operator-error.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { createAccount, createEndpoint, createKey } from '../../support/factories.ts';
import { rejectionOf } from '../../support/rejection.ts';

describe('the secrets of a database', () => {
  const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
  const [oldPepper, newPepper] = [randomBytes(32), randomBytes(32)];
  const before = { encryption: createEncryption(oldKey), keyPeppers: [oldPepper] } as const;
  const during = { encryption: createEncryption(newKey, oldKey), keyPeppers: [newPepper, oldPepper] } as const;
  const after = { encryption: createEncryption(newKey), keyPeppers: [newPepper] } as const;
  let testDatabase: TestDatabase;

  beforeEach(async () => {
    testDatabase = await createTestDatabase();
  });
  afterEach(() => testDatabase.drop());

  async function refused(secrets: Parameters<typeof checkSecrets>[1]): Promise<string> {
    const error = await rejectionOf(checkSecrets(testDatabase.database, secrets));
    expect(error).to.be.instanceOf(OperatorError);
    return error.message;
  }

  it('are recorded at the first start, and other secrets are refused from then on', async () => {
    await checkSecrets(testDatabase.database, before);
    await checkSecrets(testDatabase.database, before);
    expect(await refused({ ...before, encryption: createEncryption(newKey) })).to.match(
      /^GENWAY_ENCRYPTION_KEY does not decrypt/,
    );
    expect(await refused({ ...before, keyPeppers: [newPepper] })).to.match(/^GENWAY_KEY_PEPPER is not the pepper/);
    await checkSecrets(testDatabase.database, during);
  });

  it('must decrypt the stored values, even if no secrets were recorded', async () => {
    const { database } = testDatabase;
    const account = await createAccount(database);
    const { id } = await createEndpoint(database, account);
    await database('webhook_endpoints')
      .where({ id })
      .update({ encrypted_secret: before.encryption.encrypt('whsec_x', id) });
    expect(await refused(after)).to.match(/^GENWAY_ENCRYPTION_KEY does not decrypt/);
    await checkSecrets(database, before);
  });

  it('are replaced while the old ones are still valid, and the old ones are refused at the end', async () => {
    const { database } = testDatabase;
    await checkSecrets(database, before);
    const account = await createAccount(database);
    const { id } = await createEndpoint(database, account);
    await database('webhook_endpoints')
      .where({ id })
      .update({
        encrypted_secret: before.encryption.encrypt('whsec_new', id),
        previous_encrypted_secret: before.encryption.encrypt('whsec_old', id),
        previous_secret_until: new Date(Date.now() + 60_000),
      });
    const userId = newId('user');
    await database('users').insert([
      {
        id: userId,
        email: 'two@example.com',
        name: 'Two',
        second_factor_secret: before.encryption.encrypt('GEZDGNBV', userId),
      },
      { id: newId('user'), email: 'one@example.com', name: 'One' },
    ]);
    await database('idempotency_keys').insert({
      account_id: account.id,
      key: 'key',
      request_digest: randomBytes(32),
      claim_token: '00000000-0000-0000-0000-000000000000',
      lease_until: new Date(),
      completed_at: new Date(),
      expires_at: new Date(Date.now() + 60_000),
      status: 201,
      encrypted_body: before.encryption.encrypt('{}'),
    });
    await database('sent_forms').insert({
      form_id: 'form',
      request_digest: randomBytes(32),
      encrypted_answer: before.encryption.encrypt('{}', 'form'),
    });
    await insertStoredResponses(database, [
      {
        id: 'response',
        accountId: account.id,
        responseId: 'resp_1',
        itemIds: [],
        previousId: null,
        encryptedContent: before.encryption.encrypt('{}', 'response'),
        createdAt: new Date(),
        minutes: 60,
      },
    ]);
    await insertRealtimeSecret(database, {
      id,
      digest: randomBytes(32),
      accountId: account.id,
      apiKeyId: (await createKey(database, account)).id,
      model: 'demo-realtime',
      encryptedSettings: before.encryption.encrypt('{}', id),
      allowedOrigins: [],
      transports: [],
      sessionSeconds: 60,
      seconds: 600,
    });
    const content = `${newId('batch')}/00001/000`;
    await database('batch_contents').insert({
      id: content,
      encrypted_content: before.encryption.encrypt('{}', content),
    });
    const last = async (): Promise<Record<string, number>> => {
      const steps: ReencryptedTable[] = [];
      for await (const step of reencrypt(database, during.encryption)) steps.push(step);
      return Object.fromEntries(steps.map(({ table, changed }) => [table, changed]));
    };
    const tables = [
      'webhook_endpoints',
      'users',
      'idempotency_keys',
      'stored_responses',
      'realtime_secrets',
      'batch_contents',
      'sent_forms',
    ];
    const each = (changed: number) => Object.fromEntries(tables.map((table) => [table, changed]));
    expect(await last()).to.deep.equal(each(1));
    expect(await last(), 'once').to.deep.equal(each(0));
    await recordSecrets(database, during);
    await checkSecrets(database, after);
    expect(await refused(before)).to.match(/^GENWAY_ENCRYPTION_KEY does not decrypt/);
    const endpoint = await database<{ id: string; encrypted_secret: Buffer; previous_encrypted_secret: Buffer }>(
      'webhook_endpoints',
    ).first();
    expect(endpoint && after.encryption.decrypt(endpoint.encrypted_secret, id)).to.equal('whsec_new');
    expect(endpoint && after.encryption.decrypt(endpoint.previous_encrypted_secret, id)).to.equal('whsec_old');
    const secrets = await findUserSecrets(database, userId);
    expect(secrets?.secondFactorSecret && after.encryption.decrypt(secrets.secondFactorSecret, userId)).to.equal(
      'GEZDGNBV',
    );
  });

  it('report how many API keys are stored under an earlier pepper', async () => {
    const { database } = testDatabase;
    const key = await createKey(database, await createAccount(database));
    expect(await countKeysUnderOtherPeppers(database, newPepper)).to.equal(1);
    await database('api_keys')
      .where({ id: key.id })
      .update({ pepper_mark: pepperMark(newPepper) });
    expect(await countKeysUnderOtherPeppers(database, newPepper)).to.equal(0);
  });
});
