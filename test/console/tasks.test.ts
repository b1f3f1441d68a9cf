import { expect } from 'chai';
import { useAccount, useTestConsole, useVisitor, Visitor } from '../support/console.ts';
import { finishTask } from '../../db/queries/finish-task.ts';
import { storeLateResult } from '../../db/queries/late-results.ts';
import {
  createEndpoint,
  createTaskRow,
  finishAsFailed,
  keyOf,
  newTask,
  type TestCaller,
  VIDEO,
} from '../support/factories.ts';

describe('pages of tasks', () => {
  const app = useTestConsole();
  const customer = useAccount(app, { fundedUsd: 25 });
  const owner = useVisitor(app, () => ({ email: 'owner@example.com', account_id: customer.accountId }));
  let path: string;

  before(() => {
    path = `/console/accounts/${customer.accountId}/tasks`;
  });

  function taskOf(caller: TestCaller, settings: Parameters<typeof createTaskRow>[2] = {}) {
    return createTaskRow(app.database, keyOf(caller), settings);
  }

  it('are filtered by model and by day', async () => {
    const task = await taskOf(customer, { model: 'vidtwo-1.1' });
    const day = task.createdAt.toISOString().slice(0, 10);
    const isShown = async (query: string) => (await owner.get(`${path}?${query}`)).text.includes(task.id);
    expect(await isShown(`model=vidtwo-1.1&from=${day}&to=${day}`)).to.equal(true);
    expect(await isShown('model=vidone-3.0')).to.equal(false);
    expect(await isShown('to=2020-01-01')).to.equal(false);
  });

  it('open the task of an id, and none of another account', async () => {
    const own = await taskOf(customer);
    const foreign = await taskOf(await app.createAccount({ fundedUsd: 5 }));
    expect((await owner.get(`${path}?id=${own.id}`)).headers['location']).to.equal(`${path}/${own.id}`);
    const shown = await owner.get(`${path}?id=${foreign.id}`);
    expect([shown.status, shown.text.includes('No tasks match')]).to.deep.equal([200, true]);
  });

  it('fetch the status of all running tasks by one request, which answers the account’s tasks whose status changed', async () => {
    const [running, failed] = [await taskOf(customer), await taskOf(customer)];
    const foreign = await taskOf(await app.createAccount({ fundedUsd: 5 }));
    const list = await owner.get(path);
    const [poll = '', ...others] = Array.from(list.text.matchAll(/hx-get="([^"]+)"/g), ([, at]) => at ?? '');
    expect(others).to.deep.equal([]);
    expect(poll).to.include(`${running.id}.queued`).and.include(`${failed.id}.queued`);
    await finishAsFailed(app.database, failed);
    const { text } = await owner.get(
      `${path}/tiles?shown=${[running, failed, foreign].map(({ id }) => `${id}.queued`).join()}`,
    );
    expect(text)
      .to.include(`<li id="tile-${failed.id}" hx-swap-oob="true">`)
      .and.include(`tiles?shown=${running.id}.queued"`);
    expect(text).not.to.include(`tile-${running.id}`).and.not.include(foreign.id);
    expect((await owner.get(`${path}/tiles?shown=${failed.id}.failed,x,,'`)).text).to.equal('');
    expect((await owner.get(`${path}/tiles`)).text).to.equal('');
  });

  it('show why a task failed, its refund, and the notified endpoints', async () => {
    const endpoint = await createEndpoint(app.database, { id: customer.accountId });
    const task = await taskOf(customer);
    await finishAsFailed(app.database, task);
    const { text } = await owner.get(`${path}/${task.id}`);
    expect(text).to.include('It failed. Try again.').and.include('$1.00 refunded').and.include(endpoint.id);
  });

  it('show why a task failed in the reader’s language, before the message of the API', async () => {
    const reader = await Visitor.invited(app, { email: 'reader@example.com', account_id: customer.accountId });
    await reader.setLanguage('zh');
    const task = await taskOf(customer);
    await finishAsFailed(app.database, task, 'processing_unavailable');
    const { text } = await reader.get(`${path}/${task.id}`);
    expect(text).to.match(/供应商不可用.*It failed\. Try again\./s);
  });

  it('show the request and its key, and fill the playground with the request again', async () => {
    const inputs = { prompt: 'A lighthouse "in" a storm', durationSeconds: 7, images: ['https://a.test/1.png'] };
    const task = await taskOf(customer, { request: { ...newTask(keyOf(customer)).request, ...inputs } });
    const { text } = await owner.get(`${path}/${task.id}`);
    expect(text).to.include('7 s').and.include('https://a.test/1.png').and.include('sk-');
    const again = `/console/accounts/${customer.accountId}/playground?task=${task.id}`;
    expect(text).to.include(`href="${again}"`);
    const filled = (await owner.get(again)).text;
    expect(filled).to.include('A lighthouse &quot;in&quot; a storm').and.include('https://a.test/1.png');
    const foreign = await taskOf(await app.createAccount({ fundedUsd: 5 }));
    expect((await owner.get(again.replace(task.id, foreign.id))).status).to.equal(404);
  });

  it('show in the list why a task failed', async () => {
    const task = await taskOf(customer);
    await finishAsFailed(app.database, task, 'content_policy_violation');
    expect((await owner.get(path)).text).to.match(/<span class="soft" title="It failed[^"]*">Content policy<\/span>/);
  });

  it('offer a late result after the refund, and link to the task that it becomes', async () => {
    const task = await taskOf(customer);
    const failure = { code: 'processing_timeout', message: 'It took too long.' } as const;
    await finishTask(app.database, task.id, { status: 'failed', failure }, null);
    await storeLateResult(app.database, { taskId: task.id, accountId: customer.accountId, output: [VIDEO] });
    expect((await owner.get(`${path}/${task.id}`)).text).to.include('Claim for $1.00');
    const claimed = await owner.send(`${path}/${task.id}/claim`, {});
    const to = String(claimed.headers['location']);
    expect(to)
      .to.match(/\/tasks\/task_/)
      .and.not.include(task.id);
    expect((await owner.get(to)).text).to.include(VIDEO.url);
    expect((await owner.get(`${path}/${task.id}`)).text).to.include('You have claimed the result');
  });
});
