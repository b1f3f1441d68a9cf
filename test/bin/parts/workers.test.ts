import { expect } from 'chai';
import { versioned } from '../../../bin/parts/workers.ts';
import { providerQueue, TASK_QUEUES } from '../../../domain/task-queues.ts';

describe('workers', () => {
  const version = { deploymentName: 'genway', buildId: 'one' };

  it('use no versioning without the id of a build', () => {
    expect(
      versioned({ workflowBundle: undefined, port: undefined, version: undefined }, TASK_QUEUES.media),
    ).to.deep.equal({});
  });

  for (const [queue, behavior] of [
    [TASK_QUEUES.media, 'PINNED'],
    [providerQueue('studio'), 'PINNED'],
    [TASK_QUEUES.webhooks, 'AUTO_UPGRADE'],
    [TASK_QUEUES.schedules, 'AUTO_UPGRADE'],
  ] as const) {
    it(`run the workflows of ${queue} as ${behavior}`, () => {
      expect(versioned({ workflowBundle: undefined, port: undefined, version }, queue)).to.deep.equal({
        workerDeploymentOptions: { version, useWorkerVersioning: true, defaultVersioningBehavior: behavior },
      });
    });
  }
});
