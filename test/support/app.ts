/** The api application in this process, over a real socket and a real database; nothing starts workflows. */
import pino from 'pino';
import { createApp } from '../../api/app.ts';
import { digestApiKey, newApiKey } from '../../api/services/api-key-digest.ts';
import { listen } from '../../bin/parts/http-server.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { insertAccount } from '../../db/queries/accounts.ts';
import { insertApiKey } from '../../db/queries/api-keys.ts';
import { createSealer } from '../../db/sealing.ts';
import type { Database } from '../../db/database.ts';
import { newId } from '../../domain/ids.ts';
import { createGuardedClient } from '../../webhooks/address-guard.ts';
import { createTestDatabase } from './database.ts';

export interface TestApp {
  readonly baseUrl: string;
  readonly adminToken: string;
  readonly database: Database;
  /** Everything that was logged. */
  readonly logged: () => string;
  createAccount(): Promise<{ accountId: string; apiKey: string }>;
  stop(): Promise<void>;
}

const KEY_PEPPER = Buffer.alloc(32, 1);
const ADMIN_TOKEN = 'the-token-of-the-operators';

export async function startTestApp(): Promise<TestApp> {
  const testDatabase = await createTestDatabase();
  const { database } = testDatabase;
  const guardedClient = createGuardedClient({ allowPrivateAddresses: false });
  let log = '';
  const app = createApp({
    database,
    catalogue: loadCatalogue(),
    sealer: createSealer(Buffer.alloc(32, 2)),
    starter: { start: async () => false, startSoon: () => {}, idle: async () => {} },
    guardedClient,
    log: pino({ level: 'trace' }, { write: (line) => void (log += line) }),
    settings: {
      adminToken: ADMIN_TOKEN,
      keyPepper: KEY_PEPPER,
      requestsPerMinute: 100_000,
      tasks: { deadlineMs: 60_000, concurrentTasks: 10 },
      trustedProxies: 0,
      allowPrivateAddresses: false,
      temporal: { uiUrl: 'http://temporal.example', namespace: 'default' },
      filesFolder: null,
    },
  });
  const server = await listen(app.callback(), '127.0.0.1', 0);
  return {
    baseUrl: `http://127.0.0.1:${server.port}`,
    adminToken: ADMIN_TOKEN,
    database,
    logged: () => log,
    createAccount: () => createAccount(database),
    stop: async () => {
      await server.stop(0);
      await guardedClient.close();
      await testDatabase.drop();
    },
  };
}

async function createAccount(database: Database): Promise<{ accountId: string; apiKey: string }> {
  const accountId = newId('account');
  const apiKey = newApiKey();
  await insertAccount(database, { id: accountId, name: 'Test' });
  const digest = digestApiKey(apiKey, KEY_PEPPER);
  await insertApiKey(database, { id: newId('apiKey'), accountId, digest, hint: 'sk-…', settings: {} });
  return { accountId, apiKey };
}
