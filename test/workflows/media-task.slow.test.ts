import { expect } from 'chai';
import { listSubmissions } from '../../db/queries/submissions.ts';
import { useTestStack } from '../support/stack.ts';
import { createTask, taskWhenFinal } from '../support/tasks.ts';

describe('a media task whose upstream stops answering', () => {
  const stack = useTestStack();

  it('keeps the last words of the upstream for operators', async () => {
    // Genway polls eight times after the deadline, five seconds apart.
    await Promise.all([stack.api.start({ GENWAY_TASK_DEADLINE_S: '6' }), stack.worker.start()]);
    const { apiKey } = await stack.createAccount({ fundedUsd: 5 });
    const created = await createTask(stack, apiKey, 'x [sim:stuck,poll_errors=1000000]');
    const task = await taskWhenFinal(stack, apiKey, created.id);
    expect(task).to.include({ status: 'failed', error_code: 'processing_timeout' });
    const [submission] = await listSubmissions(stack.database, created.id);
    expect(submission).to.include({ code: 'processing_timeout', detail: 'the upstream answered 500' });
  });
});
