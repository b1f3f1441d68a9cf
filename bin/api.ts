/** The api process: everything under `{base_url}`, and the relay. */
import { Client, Connection } from '@temporalio/client';
import { createApp } from '../api/app.ts';
import { startRelay } from '../api/relay.ts';
import { createTaskStarter } from '../api/services/task-starter.ts';
import { loadCatalogue } from '../catalogue/load.ts';
import { loadConfig } from '../config.ts';
import { createDatabase } from '../db/database.ts';
import { createSealer } from '../db/sealing.ts';
import { createGuardedClient } from '../webhooks/address-guard.ts';
import { listen } from './parts/http-server.ts';
import { createLog, stopOnSignal } from './parts/process.ts';
import { connectionOptions } from './parts/temporal.ts';

const config = loadConfig();
const log = createLog('api', config);
const database = createDatabase(config.database.url, config.database.poolSize);
const connection = Connection.lazy(connectionOptions(config.temporal));
const client = new Client({ connection, namespace: config.temporal.namespace });
const guardedClient = createGuardedClient(config.edge);
const starter = createTaskStarter({ client, database, log });
const app = createApp({
  database,
  catalogue: loadCatalogue(),
  sealer: createSealer(config.secrets.encryptionKey),
  starter,
  guardedClient,
  log,
  settings: {
    adminToken: config.secrets.adminToken,
    keyPepper: Buffer.from(config.secrets.keyPepper),
    requestsPerMinute: config.limits.requestsPerMinute,
    tasks: { deadlineMs: config.tasks.deadlineMs, concurrentTasks: config.limits.concurrentTasks },
    trustedProxies: config.edge.trustedProxies,
    allowPrivateAddresses: config.edge.allowPrivateAddresses,
    temporal: config.temporal,
    filesFolder: config.storage.kind === 'local' ? config.storage.folder : null,
  },
});
const server = await listen(app.callback(), config.host, config.api.port);
const relay = startRelay({ database, starter, log });
log.info({ port: server.port }, 'listening');

stopOnSignal(log, config.shutdownGraceMs + 5_000, async () => {
  await server.stop(config.shutdownGraceMs);
  await relay.stop();
  await starter.idle();
  await guardedClient.close();
  await connection.close();
  await database.destroy();
});
