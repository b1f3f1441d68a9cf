import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { expect } from 'chai';
import { listSubmissions } from '../../db/queries/submissions.ts';
import { newId } from '../../domain/ids.ts';
import { TASK_QUEUES } from '../../domain/task-queues.ts';
import { describeStep } from '../../services/tasks/timeline.ts';
import { TIMELINE_TEXTS } from '../../services/tasks/timeline-texts.ts';
import { PICO_PER_USD } from '../../domain/money.ts';
import { readHistorySteps } from '../../services/tasks/history-steps.ts';
import { eventually } from '../support/eventually.ts';
import { rejectionOf } from '../support/rejection.ts';
import { call, useTestStack } from '../support/stack.ts';
import { useTestFolder } from '../support/started.ts';
import { createTask, simulatorJobs, taskWhen, taskWhenFinal, transfersOf, type TaskBody } from '../support/tasks.ts';

/** The steps in words, of a task that costs 1 USD. */
function storyOf(history: History): string[] {
  return readHistorySteps(history).map((step) => describeStep(step, PICO_PER_USD, TIMELINE_TEXTS));
}

describe('a media task with a failing upstream or store', () => {
  const folder = useTestFolder();
  const stack = useTestStack({ env: { GENWAY_HOME: folder } });
  let apiKey: string;

  before(async () => {
    await Promise.all([stack.api.start(), stack.worker.start()]);
    ({ apiKey } = await stack.createAccount({ fundedUsd: 100 }));
  });

  const create = (prompt: string): Promise<TaskBody> => createTask(stack, apiKey, prompt);
  const final = async (task: Promise<TaskBody>): Promise<TaskBody> => taskWhenFinal(stack, apiKey, (await task).id);

  /** Every file that is stored for a task, under any name. */
  async function filesOf({ id }: TaskBody): Promise<string[]> {
    const entries = await readdir(join(folder, 'files/results', id), { recursive: true, withFileTypes: true }).catch(
      () => [],
    );
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  }

  /** The steps of a final task's workflow, as operators see them. */
  async function storySteps({ id }: TaskBody): Promise<string[]> {
    const handle = stack.temporal.workflow.getHandle(id);
    await handle.result();
    return storyOf(await handle.fetchHistory());
  }

  it('continues the job of a submission that was accepted and answered with an error, and submits it once', async () => {
    const task = await final(create('x [sim:submit_error]'));
    expect(task.status).to.equal('succeeded');
    expect(await simulatorJobs(stack, task.id)).to.have.nested.property('[0].submissions', 1);
  });

  it('continues when the upstream does not know the job for a while', async () => {
    expect((await final(create('x [sim:forget=7]'))).status).to.equal('succeeded');
  });

  it('fails when the upstream has lost the job permanently', async () => {
    expect(await final(create('x [sim:forget=100000]'))).to.include({
      status: 'failed',
      error_code: 'processing_failed',
    });
  });

  it('requests fresh links when the links of the result are dead, and shows each failure to store the result', async () => {
    const task = await final(create('x [sim:dead_links=2]'));
    expect(task.status).to.equal('succeeded');
    expect(await storySteps(task)).to.include(
      'Store and check the result (attempt 3): done; the previous attempt failed: ' +
        'ResultFaultError: The result was generated but could not be fetched. Try again later. ' +
        "(upstream: the file's server answered 403)",
    );
  });

  it('shows a failure to store its result, with the cause', async () => {
    const task = await final(create('x [sim:result=wrong_type]'));
    expect(task).to.include({ status: 'failed', error_code: 'result_transfer_failed' });
    const why =
      "The model's result is not a media file. (upstream: the file starts with <!doctype html><title>Not a file</title>)";
    expect((await storySteps(task)).slice(-3, -1)).to.deep.equal([
      `Store and check the result (attempt 4): failed: result_transfer_failed: ${why}; ` +
        `the previous attempt failed: ResultFaultError: ${why}`,
      'Refunded $1.00',
    ]);
  });

  it('shows what the upstream answered about a failed job, which the customer does not get', async () => {
    const task = await final(create('x [sim:fail=processing_failed]'));
    const message = 'The model could not finish this task. Try again later.';
    expect(task).to.include({ error_code: 'processing_failed', error_message: message });
    expect(await storySteps(task)).to.include(
      `Wait for the provider: failed: processing_failed: ${message} (upstream: The prompt asked for this failure.)`,
    );
  });

  for (const { directive, outcome, code, words } of [
    {
      directive: 'fail=processing_failed',
      outcome: 'accepted',
      code: 'processing_failed',
      words: 'The prompt asked for this failure.',
    },
    {
      directive: 'reject=processing_failed',
      outcome: 'refused',
      code: 'processing_failed',
      words: 'The prompt asked for this refusal.',
    },
    {
      directive: 'reject=content_policy_violation',
      outcome: 'refused',
      code: 'content_policy_violation',
      words: 'The prompt asked for this refusal.',
    },
    {
      directive: 'result=wrong_type',
      outcome: 'accepted',
      code: 'result_transfer_failed',
      words: 'the file starts with <!doctype html><title>Not a file</title>',
    },
    {
      directive: 'dead_links=99',
      outcome: 'accepted',
      code: 'result_transfer_failed',
      words: "the file's server answered 403",
    },
    {
      directive: 'recant',
      outcome: 'accepted',
      code: 'processing_failed',
      words: 'The prompt asked for this failure.',
    },
    {
      directive: 'forget=100000',
      outcome: 'accepted',
      code: 'processing_failed',
      words: 'the upstream does not know the job any more',
    },
  ] as const) {
    it(`keeps the words of the upstream with the submission: ${directive}`, async () => {
      const { id } = await final(create(`x [sim:${directive}]`));
      expect((await listSubmissions(stack.database, id)).at(-1)).to.include({ outcome, code, detail: words });
    });
  }

  it('shows a failed step in PostgreSQL, with the cause', async () => {
    const id = newId('task');
    const handle = await stack.temporal.workflow.start('mediaTask', {
      workflowId: id,
      taskQueue: TASK_QUEUES.media,
      args: [{ taskId: id, deadlineAt: new Date().toISOString(), price: '$0.50' }],
    });
    await rejectionOf(handle.result());
    expect(storyOf(await handle.fetchHistory())).to.include(
      `Reserve $1.00: failed: TaskMissing: there is no task ${id}`,
    );
  });

  it('fails when an upstream reports a failure after a success', async () => {
    const task = await final(create('x [sim:recant]'));
    expect(task).to.include({ status: 'failed', error_code: 'processing_failed' });
    expect(await transfersOf(stack, task.id)).to.deep.equal(['reservation', 'refund']);
  });

  it('leaves no file behind when one of several is missing', async () => {
    const { body } = await call<{ data: TaskBody }>(`${stack.baseUrl}/v1/images/tasks`, {
      key: apiKey,
      body: { model: 'imagea-2.5-sunburst', prompt: 'x [sim:files=2,missing_file=1]' },
    });
    const task = await final(Promise.resolve(body.data));
    expect(task).to.include({ status: 'failed', error_code: 'result_transfer_failed' });
    expect(await filesOf(task)).to.deep.equal([]);
  });

  it('stores nothing when its history replays after the refund', async () => {
    const task = await final(create('x [sim:dead_links=9]'));
    expect(task).to.include({ status: 'failed', error_code: 'result_transfer_failed' });
    const handle = stack.temporal.workflow.getHandle(task.id);
    await handle.result();
    const { events } = await handle.fetchHistory();
    // After the second one the job is at the upstream.
    const dispatched = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes)[1]?.eventId;
    if (!dispatched) throw new Error('the history has no second workflow task');
    await stack.temporal.workflowService.resetWorkflowExecution({
      namespace: stack.temporal.options.namespace,
      workflowExecution: { workflowId: task.id },
      reason: 'to see that nothing happens',
      workflowTaskFinishEventId: dispatched,
      requestId: task.id,
    });
    const outcome = await stack.temporal.workflow.getHandle(task.id).result();
    expect(outcome).to.have.nested.property('failure.code', 'result_transfer_failed');
    expect(await transfersOf(stack, task.id)).to.deep.equal(['reservation', 'refund']);
    expect(await filesOf(task)).to.deep.equal([]);
  });

  it('stores a result under a name that only its task reveals', async () => {
    const task = await final(create('x'));
    expect(task.output?.r2_url).to.match(new RegExp(`/files/results/${task.id}/[0-9a-f]{20}/0\\.mp4$`));
    expect(await filesOf(task)).to.deep.equal(['0.mp4']);
  });

  describe('while the store refuses writes', () => {
    const stored = (): string => join(folder, 'files');

    beforeEach(async () => {
      await final(create('x'));
      await rename(stored(), join(folder, 'away'));
      await writeFile(stored(), 'not a folder');
    });

    async function repair(): Promise<void> {
      await rm(stored());
      await rename(join(folder, 'away'), stored());
    }

    it('keeps rendered results, renders nothing more, and stores and charges all results afterwards', async () => {
      const rendered = await Promise.all([create('x'), create('x [sim:render_ms=1500]')]);
      await eventually(async () => {
        const { raw } = await stack.temporal.workflow.getHandle(rendered[0].id).describe();
        return raw.pendingActivities?.[0]?.lastFailure?.message === 'the store could not be written';
      });
      const waiting = await create('x');
      await taskWhen(stack, apiKey, rendered[1].id, 'processing');
      await eventually(async () => {
        const { pendingActivities, workflowExecutionInfo } = (
          await stack.temporal.workflow.getHandle(waiting.id).describe()
        ).raw;
        return !pendingActivities?.length && Number(workflowExecutionInfo?.historyLength ?? 0) >= 10;
      });
      expect(await simulatorJobs(stack, waiting.id)).to.deep.equal([]);
      await repair();
      for (const task of [...rendered, waiting]) {
        expect((await final(Promise.resolve(task))).status).to.equal('succeeded');
        expect(await transfersOf(stack, task.id)).to.deep.equal(['reservation', 'settlement']);
      }
    });
  });
});
