import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { expect } from 'chai';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { call, type StackProcess, type TestStack, useTestStack } from '../support/stack.ts';
import { useTestFolder } from '../support/started.ts';
import { createTask, expectRenderedOnce, type TaskBody, taskWhen } from '../support/tasks.ts';

/** A version registers a task queue when it polls it, and an empty poll takes a minute: a lost registration is repeated then. */
const WAIT_MS = 150_000;
const DEPLOYMENT = 'genway';

function createTasks(stack: TestStack, apiKey: string, count: number, prompt: string): Promise<TaskBody[]> {
  return Promise.all(Array.from({ length: count }, () => createTask(stack, apiKey, prompt)));
}

describe('a deployment with running tasks', function () {
  this.timeout(400_000);
  const folder = useTestFolder();
  const stack = useTestStack({ processes: ['worker'] });
  let apiKey: string;
  let old: StackProcess;
  let next: StackProcess;

  before(async () => {
    const { code } = await bundleWorkflowCode({
      workflowsPath: join(import.meta.dirname, 'next-workflows.ts'),
      logger: new DefaultLogger('ERROR'),
    });
    const nextBundle = join(folder, 'next.js');
    await writeFile(nextBundle, code);
    old = stack.moreWorkers({ GENWAY_WORKER_BUILD_ID: 'old' });
    next = stack.moreWorkers({ GENWAY_WORKER_BUILD_ID: 'next', GENWAY_WORKFLOW_BUNDLE: nextBundle });
    await Promise.all([stack.api.start(), old.start()]);
    ({ apiKey } = await stack.createAccount());
  });

  /** Does the same as `temporal worker deployment set-current-version`. */
  async function makeCurrent(buildId: string): Promise<void> {
    const { connection, options } = stack.temporal;
    await waitUntil(
      () =>
        connection.workflowService.setWorkerDeploymentCurrentVersion({
          namespace: options.namespace,
          deploymentName: DEPLOYMENT,
          buildId,
          identity: 'test',
        }),
      // Temporal refuses this call when it is too frequent.
      { timeoutMs: WAIT_MS, pauseMs: 1_000 },
    );
  }

  async function buildOf({ id }: TaskBody): Promise<string | null | undefined> {
    const { raw } = await stack.temporal.workflow.getHandle(id).describe();
    return raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId;
  }

  it('leaves each task with the version that started it, even if another version would decide differently, and loses no task', async () => {
    await makeCurrent('old');
    const begunByOld = await createTasks(stack, apiKey, 4, 'x [sim:render_ms=6000]');
    await Promise.all(begunByOld.map(({ id }) => taskWhen(stack, apiKey, id, 'processing')));
    await next.start();
    await makeCurrent('next');
    const begunByNext = await createTasks(stack, apiKey, 4, 'x');
    await expectRenderedOnce(stack, apiKey, begunByNext);
    await expectRenderedOnce(stack, apiKey, begunByOld);
    expect(new Set(await Promise.all(begunByOld.map(buildOf)))).to.deep.equal(new Set(['old']));
    expect(new Set(await Promise.all(begunByNext.map(buildOf)))).to.deep.equal(new Set(['next']));
    await old.stop();
  });

  it('rolls back when the operator makes the earlier version current again, while the later version finishes its own tasks', async () => {
    const begunByNext = await createTasks(stack, apiKey, 2, 'x [sim:render_ms=4000]');
    await Promise.all(begunByNext.map(({ id }) => taskWhen(stack, apiKey, id, 'processing')));
    await old.start();
    await makeCurrent('old');
    const begunByOld = await createTasks(stack, apiKey, 2, 'x');
    await expectRenderedOnce(stack, apiKey, [...begunByOld, ...begunByNext]);
    expect(new Set(await Promise.all(begunByOld.map(buildOf)))).to.deep.equal(new Set(['old']));
    expect(new Set(await Promise.all(begunByNext.map(buildOf)))).to.deep.equal(new Set(['next']));
  });
});

describe('many processes of one deployment', () => {
  const stack = useTestStack({ processes: ['api', 'worker'] });
  let apiKey: string;

  before(async () => {
    ({ apiKey } = await startApi());
  });

  async function startApi(): Promise<{ apiKey: string }> {
    await stack.api.start();
    return stack.createAccount();
  }

  it('share the work: any api answers for any task, and the other workers replace a dead worker', async () => {
    const otherApi = await stack.moreApis();
    const workers = [stack.worker, stack.moreWorkers()];
    await Promise.all([otherApi.start(), ...workers.map((worker) => worker.start())]);
    const create = (baseUrl: string, index: number) =>
      call<{ data: TaskBody }>(`${baseUrl}/v1/videos/tasks`, {
        key: apiKey,
        headers: { 'idempotency-key': `key-${index}` },
        body: { model: 'vidone-3.0', prompt: 'x [sim:render_ms=2000]' },
      });
    const created = await Promise.all(
      Array.from({ length: 6 }, (_, index) => create(index % 2 === 0 ? stack.baseUrl : otherApi.baseUrl, index)),
    );
    const tasks = created.map(({ body }) => body.data);
    const repeated = await Promise.all(
      tasks.map((_, index) => create(index % 2 === 0 ? otherApi.baseUrl : stack.baseUrl, index)),
    );
    expect(repeated.map(({ body }) => body.data.id)).to.deep.equal(tasks.map(({ id }) => id));
    await Promise.all(tasks.map(({ id }) => taskWhen(stack, apiKey, id, 'processing')));
    await stack.worker.kill();
    await expectRenderedOnce(stack, apiKey, tasks);
  });
});
