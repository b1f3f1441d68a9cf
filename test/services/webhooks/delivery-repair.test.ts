import { expect } from 'chai';
import { pino } from 'pino';
import { repairDeliveries } from '../../../services/webhooks/delivery-repair.ts';
import { createWorkflowAccess } from '../../../services/tasks/workflow-access.ts';
import { claimDeliveriesToStart, insertTestDelivery } from '../../../db/queries/deliveries.ts';
import { newId } from '../../../domain/ids.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createAccount, createEndpoint } from '../../support/factories.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { useTestTemporal } from '../../support/temporal.ts';

describe('the repair of abandoned deliveries', () => {
  const testDatabase = useTestDatabase();
  const temporal = useTestTemporal();
  let endpoint: { id: string; accountId: string };

  before(async () => {
    endpoint = await createEndpoint(testDatabase.database, await createAccount(testDatabase.database));
  });

  /** A delivery whose workflow was started, and whose next attempt is long overdue. */
  async function overdueDelivery(): Promise<string> {
    const { database } = testDatabase;
    const event = { id: newId('event'), payload: '{}', createdAt: new Date() };
    const { id } = await insertTestDelivery(database, endpoint, event);
    const longAgo = new Date(Date.now() - 3_600_000);
    await database('deliveries').where({ id }).update({ workflow_started_at: longAgo, next_attempt_at: longAgo });
    return id;
  }

  /** No worker executes the workflow, so it runs until it is ended from outside. */
  async function startWorkflow(id: string): Promise<void> {
    await temporal.client.workflow.start('webhookDelivery', { workflowId: id, taskQueue: 'nobody' });
  }

  const repair = (client = temporal.client) =>
    repairDeliveries({
      database: testDatabase.database,
      workflows: createWorkflowAccess(client),
      log: pino({ level: 'silent' }),
    });

  const toStart = async (): Promise<string[]> => {
    const due = await claimDeliveriesToStart(testDatabase.database, { limit: 10, retryAfterSeconds: 3600 });
    return due.map(({ id }) => id);
  };

  it('restarts a delivery whose workflow was terminated or is missing, and skips a delivery whose workflow runs', async () => {
    const [terminated, missing, running] = [await overdueDelivery(), await overdueDelivery(), await overdueDelivery()];
    await Promise.all([terminated, running].map(startWorkflow));
    await temporal.client.workflow.getHandle(terminated).terminate();
    await repair();
    expect(await toStart()).to.have.members([terminated, missing]);
  });

  it('decides nothing while Temporal does not answer', async () => {
    await overdueDelivery();
    expect(await rejectionOf(repair(temporal.unreachable))).to.have.property('code', 'processing_unavailable');
    expect(await toStart()).to.deep.equal([]);
  });
});
