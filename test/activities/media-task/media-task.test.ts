import { ApplicationFailure } from '@temporalio/common';
import { expect } from 'chai';
import { tmpdir } from 'node:os';
import { createMediaTaskActivities } from '../../../activities/media-task/media-task.ts';
import { MACHINE_CLOCK } from '../../../db/database-clock.ts';
import { newId } from '../../../domain/ids.ts';
import { createLocalStorage } from '../../../storage/local.ts';
import { watchStorage } from '../../../storage/watched.ts';
import { createMetrics } from '../../../telemetry/metrics.ts';
import { useTestDatabase } from '../../support/database.ts';
import { rejectionOf } from '../../support/rejection.ts';

describe('the steps of a media task', () => {
  const testDatabase = useTestDatabase();

  it('stop without a repetition if the database has lost the task to settle or refund', async () => {
    const steps = createMediaTaskActivities({
      database: testDatabase.database,
      upstreams: new Map(),
      isLimited: () => false,
      storage: watchStorage(createLocalStorage({ directory: tmpdir(), publicUrl: 'http://127.0.0.1/files' }), {
        onChange: () => {},
      }),
      providerPatienceMs: 1_000,
      readInputs: async () => new Map(),
      clock: MACHINE_CLOCK,
      metrics: createMetrics(),
      calls: { record: () => {} },
    });
    for (const end of [
      () => steps.refund(newId('task'), 'processing_failed', 'x'),
      () => steps.settle(newId('task'), []),
    ]) {
      const error = await rejectionOf(end());
      if (!(error instanceof ApplicationFailure)) throw error;
      expect(error).to.include({ type: 'TaskMissing', nonRetryable: true });
    }
  });
});
