import { expect } from 'chai';
import pino from 'pino';
import { warmUp } from '../../../bin/parts/warm-up.ts';
import { createDatabase } from '../../../db/database.ts';
import { createGuardedClient } from '../../../providers/guard/address-guard.ts';
import { createLocalStorage } from '../../../storage/local.ts';
import { createMetrics } from '../../../telemetry/metrics.ts';
import { CATALOGUE } from '../../support/catalogue.ts';
import { testDependencies, testTextService } from '../../support/dependencies.ts';
import { startTextParts } from '../../support/text-parts.ts';

/** Nothing listens there. */
const UNREACHABLE = 'postgres://genway@127.0.0.1:1/genway';

describe('a warm-up', () => {
  it('answers requests in every format, and needs no database, no upstream and no metric', async () => {
    const database = createDatabase(UNREACHABLE, 1);
    const parts = startTextParts({
      database,
      databaseUrl: UNREACHABLE,
      catalogue: CATALOGUE,
      settings: [],
      maxSilenceMs: 1_000,
    });
    const guardedClient = createGuardedClient({ allowPrivateAddresses: false });
    const metrics = createMetrics();
    const dependencies = testDependencies({
      database,
      storage: createLocalStorage({ directory: '/nowhere', publicUrl: 'http://127.0.0.1/files' }),
      guardedClient,
      metrics,
      log: pino({ level: 'silent' }),
      text: testTextService(database, { catalogue: CATALOGUE, ...parts }),
    });
    try {
      // The warm-up fails if a request does.
      expect(await warmUp(dependencies, 300)).to.be.greaterThan(0);
      const samples = await metrics.registry.metrics();
      expect(samples).not.to.match(/^genway_(http|text|upstream)\w* [1-9]/m);
      expect(samples).not.to.include('chat/completions');
    } finally {
      await guardedClient.close();
      await parts.stop();
      await database.destroy();
    }
  });
});
