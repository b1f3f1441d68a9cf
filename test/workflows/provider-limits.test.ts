import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { call, useTestStack } from '../support/stack.ts';
import { useTestFolder } from '../support/started.ts';
import {
  createTask,
  expectRenderedOnce,
  simulatorJobs,
  type TaskBody,
  taskWhen,
  taskWhenFinal,
} from '../support/tasks.ts';

describe('the task queue of a provider', () => {
  const folder = useTestFolder();
  const providers = join(folder, 'providers.yaml');
  const catalogue = join(folder, 'catalogue.yaml');
  const stack = useTestStack({ env: { GENWAY_PROVIDERS: providers, GENWAY_CATALOGUE: catalogue } });
  let apiKey: string;

  before(async () => {
    const upstream = { protocol: 'http-jobs', base_url: stack.simulatorUrl, api_key: 'simulator' };
    await writeFile(
      providers,
      JSON.stringify({
        media: [
          { ...upstream, name: 'simulator' },
          { ...upstream, name: 'narrow', concurrent_steps: 1, steps_per_second: 50 },
        ],
        text: [{ name: 'simulator', base_url: `${stack.simulatorUrl}/v1`, api_key: 'simulator' }],
      }),
    );
    const models = await readFile(join(import.meta.dirname, '../../catalogue/catalogue.yaml'), 'utf8');
    await writeFile(
      catalogue,
      models.replace(
        'route: { provider: simulator, model: vidone-3.0-prime }',
        'route: { provider: narrow, model: vidone-3.0-prime }',
      ),
    );
    await Promise.all([stack.api.start(), stack.worker.start()]);
    ({ apiKey } = await stack.createAccount());
  });

  async function createNarrowTask(prompt: string): Promise<TaskBody> {
    const { body } = await call<{ data: TaskBody }>(`${stack.baseUrl}/v1/videos/tasks`, {
      key: apiKey,
      body: { model: 'vidone-3.0-prime', prompt },
    });
    return body.data;
  }

  it('runs no more steps at once than the provider permits, and delays no other provider', async () => {
    const first = await createNarrowTask('x [sim:stuck]');
    await taskWhen(stack, apiKey, first.id, 'processing');
    const waiting = await createNarrowTask('x');
    const elsewhere = await createTask(stack, apiKey, 'x');
    await expectRenderedOnce(stack, apiKey, [elsewhere]);
    expect(await simulatorJobs(stack, waiting.id)).to.have.length(0);
    await stack.temporal.workflow.getHandle(first.id).cancel();
    await expectRenderedOnce(stack, apiKey, [waiting]);
  });

  it('contains the steps that call the provider, and no step that moves money', async () => {
    const task = await createNarrowTask('x');
    await taskWhenFinal(stack, apiKey, task.id);
    const { events } = await stack.temporal.workflow.getHandle(task.id).fetchHistory();
    const queues = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled ? [[scheduled.activityType?.name, scheduled.taskQueue?.name]] : [],
    );
    expect(queues).to.deep.equal([
      ['dispatch', 'genway-provider-narrow'],
      ['awaitResult', 'genway-provider-narrow'],
      ['storeResult', 'genway-provider-narrow'],
    ]);
  });
});
