import { expect } from 'chai';
import { createWorkflowAccess, type WorkflowAccess } from '../../../services/tasks/workflow-access.ts';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';
import { newId } from '../../../domain/ids.ts';
import { ENDING_MEMO, type RecordedEnding } from '../../../domain/task.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { useTestTemporal } from '../../support/temporal.ts';

const RECORDED: RecordedEnding = {
  ending: { status: 'failed', failure: { code: 'processing_timeout', message: 'Too late.' } },
  resolutionId: newId('transfer'),
  deliveryIds: [newId('delivery')],
};

describe('access to workflows', () => {
  const temporal = useTestTemporal();
  let access: WorkflowAccess;
  let accessToNothing: WorkflowAccess;

  before(() => {
    access = createWorkflowAccess(temporal.client);
    accessToNothing = createWorkflowAccess(temporal.unreachable);
  });

  /** No worker executes the workflow, so it runs until it is ended from outside. */
  async function startWorkflow(workflowId: string, memo: Record<string, unknown> = {}): Promise<void> {
    await temporal.client.workflow.start('anything', { workflowId, taskQueue: 'nobody', memo });
  }

  it('reports that Temporal answers', async () => {
    expect(await access.isReachable()).to.equal(true);
    expect(await accessToNothing.isReachable()).to.equal(false);
  });

  it('reports the state of a workflow', async () => {
    await startWorkflow('described');
    expect(await access.describe('described')).to.include({ status: 'RUNNING', closedAt: null, historyEvents: 2 });
    await temporal.client.workflow.getHandle('described').terminate();
    const closed = await access.describe('described');
    expect(closed?.status).to.equal('TERMINATED');
    expect(closed?.closedAt).to.be.instanceOf(Date);
  });

  it('cancels a running workflow, and reports a workflow that is not running', async () => {
    await startWorkflow('cancelled');
    expect(await access.cancel('cancelled')).to.equal(true);
    expect(await access.cancel('cancelled')).to.equal(true);
    await temporal.client.workflow.getHandle('cancelled').terminate();
    expect(await access.cancel('cancelled')).to.equal(false);
  });

  it('does not find a workflow that never existed', async () => {
    expect(await access.describe('missing')).to.equal(null);
    expect(await access.cancel('missing')).to.equal(false);
  });

  it('reads the ending that the latest run of a workflow records, or else an earlier run', async () => {
    await startWorkflow('recorded');
    expect(await access.readEnding('recorded')).to.equal(null);
    await temporal.client.workflow.getHandle('recorded').terminate();
    await startWorkflow('recorded', { [ENDING_MEMO]: RECORDED });
    expect(await access.readEnding('recorded')).to.deep.equal(RECORDED);
    await temporal.client.workflow.getHandle('recorded').terminate();
    await startWorkflow('recorded');
    // Temporal lists a run shortly after its start.
    await waitUntil(async () => expect(await access.readEnding('recorded')).to.deep.equal(RECORDED), {
      timeoutMs: PATIENCE_MS,
    });
    expect(await access.readEnding('missing')).to.equal(null);
  });

  it('reports an error when Temporal does not answer', async () => {
    for (const call of [
      () => accessToNothing.readEnding('any'),
      () => accessToNothing.describe('any'),
      () => accessToNothing.cancel('any'),
    ]) {
      expect(await rejectionOf(call())).to.include({ code: 'processing_unavailable', status: 503 });
    }
  });
});
