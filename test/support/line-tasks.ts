import { createTaskCreation } from '../../services/tasks/task-creation.ts';
import { MACHINE_CLOCK } from '../../db/database-clock.ts';
import type { Database } from '../../db/database.ts';
import { createGuardedClient } from '../../providers/guard/address-guard.ts';
import type { LineTasks } from '../../services/batches/start-task.ts';
import { createFindPrices } from '../../services/money/customer-prices.ts';
import type { Storage } from '../../storage/storage.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { CATALOGUE } from './catalogue.ts';
import { ALL_MODELS } from './dependencies.ts';
import { NO_STARTER } from './starter.ts';

/** Creates tasks whose workflows never start. */
export function testLineTasks(database: Database, storage: Storage): LineTasks {
  const settings = { allowPrivateAddresses: false, tasks: { deadlineMs: 60_000, concurrentTasks: 10 } };
  const creation = createTaskCreation({
    database,
    storage,
    settings,
    clock: MACHINE_CLOCK,
    catalogue: () => CATALOGUE,
    starter: NO_STARTER,
    guardedClient: createGuardedClient(settings),
    metrics: createMetrics(),
  });
  return {
    clock: MACHINE_CLOCK,
    tasks: creation,
    limits: settings.tasks,
    money: { findPrices: createFindPrices(database) },
    moderation: { moderate: null },
    operations: { models: ALL_MODELS },
    endpoints: {
      '/v1/videos/tasks': { parse: creation.parseVideoRequest },
      '/v1/images/tasks': { parse: creation.parseImageRequest, checkLinks: creation.checkImageLinks },
    },
    cancelTask: async () => {},
  };
}
