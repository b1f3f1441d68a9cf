import { expect } from 'chai';
import { recover, type RecoveryOptions } from '../../bin/recover.ts';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../support/eventually.ts';
import { claimBatchesToStart } from '../../db/queries/batch-runs.ts';
import { markWorkflowsStarted } from '../../db/queries/tasks.ts';
import { newId } from '../../domain/ids.ts';
import { createLocalStorage } from '../../storage/local.ts';
import { useTestDatabase } from '../support/database.ts';
import { createFundedKey, createTaskRow, reloadTask } from '../support/factories.ts';
import { useTestTemporal } from '../support/temporal.ts';

describe('the recovery after a database or Temporal has lost its latest state', () => {
  const testDatabase = useTestDatabase();
  const temporal = useTestTemporal();

  async function recovered(options: Partial<RecoveryOptions> = {}): Promise<string> {
    const lines: string[] = [];
    const files = createLocalStorage({ directory: '/nowhere', publicUrl: 'http://files.test' });
    await recover(
      { database: testDatabase.database, client: temporal.client, files },
      { isDryRun: false, canTerminateUnknown: false, filesSince: null, ...options },
      (line) => lines.push(line),
    );
    return lines.join('\n');
  }

  it('lets the relay start the workflow of a batch that is not final at once', async () => {
    const { database } = testDatabase;
    const key = await createFundedKey(database);
    const id = newId('batch');
    await database('batches').insert({
      id,
      account_id: key.accountId,
      api_key_id: key.id,
      request_id: newId('request'),
      endpoint: '/v1/chat/completions',
      input_file_id: newId('file'),
      created_at: new Date(),
      expires_at: new Date(),
      next_start_at: 'infinity',
    });
    expect(await recovered({ isDryRun: true })).to.include(`${id}  to be started again`);
    expect(await claimBatchesToStart(database, 10)).to.deep.equal([]);
    await recovered();
    expect((await claimBatchesToStart(database, 10)).map((batch) => batch.id)).to.deep.equal([id]);
  });

  it('starts a task again without a workflow, leaves a running one, and terminates a stranger only when asked', async () => {
    const { database } = testDatabase;
    const key = await createFundedKey(database);
    const [lost, running] = await Promise.all([createTaskRow(database, key), createTaskRow(database, key)]);
    await markWorkflowsStarted(database, [lost.id, running.id]);
    const stranger = newId('task');
    for (const workflowId of [running.id, stranger])
      await temporal.client.workflow.start('mediaTask', { workflowId, taskQueue: 'nobody' });
    const stateOf = async (id: string) => (await temporal.client.workflow.getHandle(id).describe()).status.name;
    // Temporal lists a workflow a moment after its start.
    await waitUntil(async () => expect(await recovered({ isDryRun: true })).to.include(stranger), {
      timeoutMs: PATIENCE_MS,
    });
    expect((await database('tasks').where({ id: lost.id }).first()).workflow_started_at).to.be.instanceOf(Date);

    const report = await recovered();
    expect(report).to.include(`${lost.id}  to be started again: no workflow works on it`);
    expect(report).to.include('1 left alone: its workflow is running');
    expect(report).to.include('workflows unknown to the database: 1').and.to.include('--terminate-unknown');
    expect((await database('tasks').where({ id: lost.id }).first()).workflow_started_at).to.equal(null);
    expect(await stateOf(stranger)).to.equal('RUNNING');

    await recovered({ canTerminateUnknown: true });
    expect(await stateOf(stranger)).to.equal('TERMINATED');
    expect(await stateOf(running.id)).to.equal('RUNNING');
    expect(await reloadTask(database, running)).to.include({ status: running.status });
  });
});
