import { expect } from 'chai';
import { recordNoResult, settleSubmission } from '../../db/queries/submissions.ts';
import { newId } from '../../domain/ids.ts';
import { describeInBrowser } from '../support/browser.ts';
import { useAccount, useTestConsole, useVisitor, Visitor } from '../support/console.ts';
import {
  createEndpoint,
  createMediaBatchRow,
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  keyOf,
  newTask,
  openTaskSubmission,
  submitTask,
} from '../support/factories.ts';
import { call } from '../support/stack.ts';

const PROMPT = 'My secret kite over the sea';

describe('tasks of all accounts in the console of the staff', () => {
  const app = useTestConsole();
  const customer = useAccount(app, { fundedUsd: 100 });
  const operator = useVisitor(app, () => ({ email: 'op@example.com', staff_role: 'operator' }));
  const reader = useVisitor(app, () => ({ email: 'reader@example.com', staff_role: 'readonly' }));

  const createTask = (caller = customer) => {
    const { request } = newTask(keyOf(caller));
    return createTaskRow(app.database, keyOf(caller), { request: { ...request, prompt: PROMPT } });
  };
  const pathOf = ({ id }: { readonly id: string }): string => `/console/staff/tasks/${id}`;

  it('are listed by a part of an account’s name or of a model, with a choice where several match', async () => {
    const [kites, films] = [await app.createAccount({ fundedUsd: 10 }), await app.createAccount({ fundedUsd: 10 })];
    await app.database('accounts').where({ id: kites.accountId }).update({ name: 'Lantern kites' });
    await app.database('accounts').where({ id: films.accountId }).update({ name: 'Lantern films' });
    const { id } = await createTask(kites);
    const listed = async (query: string) => (await reader.get(`/console/staff/tasks?${query}`)).text;
    expect(await listed('account=ern+KIT')).to.include(id);
    expect(await listed(`account=${kites.accountId}&model=DONE-3.0-p`)).not.to.include(id);
    expect(await listed(`account=${kites.accountId}&model=vidone-3.0`)).to.include(id);
    const several = await listed('account=lantern');
    expect(several).not.to.include(id);
    for (const { accountId } of [kites, films]) expect(several).to.include(`href="?account=${accountId}"`);
    const models = await listed(`account=${kites.accountId}&model=vid`);
    expect(models).not.to.include(id);
    expect(models).to.include(`&amp;model=vidone-3.0"`);
    expect(await listed('account=nobody')).not.to.include(id);
  });

  it('are listed by account, status, model and day, a page at a time', async () => {
    const other = await app.createAccount({ fundedUsd: 100 });
    const tasks = [];
    for (let count = 0; count < 51; count++) tasks.push(await createTask(other));
    const [oldest] = tasks;
    const listed = await reader.get(`/console/staff/tasks?account=${other.accountId}&status=queued&model=vidone-3.0`);
    expect(listed.text).not.to.include(String(oldest?.id));
    const older = /href="([^"]*cursor=[^"]+)"/.exec(listed.text)?.[1] ?? '';
    const second = await reader.get(older.replaceAll('&amp;', '&'));
    expect(second.text).to.include(String(oldest?.id));
    const today = new Date().toISOString().slice(0, 10);
    for (const [filter, isThere] of [
      [`from=${today}`, true],
      [`to=${today}`, true],
      ['from=2999-01-01', false],
      ['status=failed', false],
      ['model=none', false],
      ['from=x&to=2026-02-31&cursor=x&status=x', true],
    ] as const) {
      const { text, status } = await reader.get(`/console/staff/tasks?account=${other.accountId}&${filter}`);
      expect([status, text.includes('<tbody>')], filter).to.deep.equal([200, isThere]);
    }
  });

  it('are listed by error, upstream and the fault of an attempt, as in the API', async () => {
    const other = await app.createAccount({ fundedUsd: 10 });
    const [failed, moved, running] = [await createTask(other), await createTask(other), await createTask(other)];
    await finishAsFailed(app.database, failed, 'result_transfer_failed');
    const first = await openTaskSubmission(app.database, moved, { provider: 'busy' });
    await settleSubmission(app.database, first, { outcome: 'not_taken', evidence: 'the answer', code: 'unreachable' });
    await openTaskSubmission(app.database, moved, { provider: 'second', attempt: 2 });
    const batchId = await createMediaBatchRow(app.database, keyOf(other));
    const ofBatch = await createTaskRow(app.database, keyOf(other), { batchId, batchLine: 1 });
    const all = [failed, moved, running, ofBatch].map(({ id }) => id);
    for (const [filter, found] of [
      [`batch_id=${batchId}`, [ofBatch.id]],
      [`batch_id=${newId('batch')}`, []],
      ['error_code=result_transfer_failed', [failed.id]],
      ['error_code=processing_failed', []],
      ['upstream=second', [moved.id]],
      ['upstream=busy', []],
      ['fault=unreachable&upstream=busy', [moved.id]],
      ['fault=unreachable', [moved.id]],
      ['fault=unreachable&upstream=second', []],
    ] as const) {
      const { text } = await reader.get(`/console/staff/tasks?account=${other.accountId}&${filter}`);
      expect(
        all.filter((id) => text.includes(id)),
        filter,
      ).to.deep.equal(found);
      const { body } = await call<{ data: { id: string }[] }>(
        `${app.baseUrl}/admin/v1/tasks?account_id=${other.accountId}&${filter}`,
        { key: app.adminToken },
      );
      expect(
        body.data.map(({ id }) => id),
        filter,
      ).to.deep.equal(found);
    }
  });

  it('show no cost of a submission that its upstream did not accept', async () => {
    const task = await createTask();
    const submission = await openTaskSubmission(app.database, task);
    await settleSubmission(app.database, submission, { outcome: 'not_taken', evidence: 'the answer', code: 'busy' });
    const { text } = await reader.get(pathOf(task));
    expect(text).to.include('simulator was busy').and.not.include('unknown');
  });

  it('say in words why they failed, as the list of refunds does', async () => {
    const failed = await app.createAccount({ fundedUsd: 10 });
    const task = await createTask(failed);
    await finishAsFailed(app.database, task, 'result_transfer_failed');
    expect((await reader.get(pathOf(task))).text).to.include('Result not transferred');
    for (const list of [`tasks?account=${failed.accountId}`, `refunds?account=${failed.accountId}`]) {
      const { text } = await reader.get(`/console/staff/${list}`);
      const [, table = ''] = /<tbody>(.*)<\/tbody>/s.exec(text) ?? [];
      expect(table, list).to.include('Result not transferred').and.not.include('result_transfer_failed');
    }
  });

  it('show the settings, the error code and the request, but no text among the parameters', async () => {
    const { request } = newTask(keyOf(customer));
    const parameters = { negative_prompt: 'no grandmother', seed: 4711 };
    const task = await createTaskRow(app.database, keyOf(customer), {
      request: { ...request, durationSeconds: 5, resolution: '720p', aspectRatio: '16:9', parameters },
    });
    await finishAsFailed(app.database, task, 'processing_failed');
    const { text } = await reader.get(pathOf(task));
    expect(text).to.include('5 s, 720p, 16:9, seed: 4711').and.include('<code>processing_failed</code>');
    expect(text).to.include(task.requestId).and.not.include('grandmother');
  });

  it('show their timeline, their submissions and a link to Temporal, but not the prompt', async () => {
    const task = await createTask();
    await submitTask(app.database, task, 'job-77');
    const { text } = await reader.get(pathOf(task));
    expect(text).to.include('class="timeline"').and.include('job-77').and.include(`/workflows/${task.id}`);
    expect(text).to.include(`hx-get="${pathOf(task)}/story"`);
    expect(text).not.to.include(PROMPT);
    await finishAsSucceeded(app.database, task);
    expect((await reader.get(pathOf(task))).text)
      .not.to.include('hx-get')
      .and.not.include(PROMPT);
    expect((await reader.get(`${pathOf(task)}/story`)).text)
      .to.include('class="timeline"')
      .and.not.include('<html');
  });

  it('show what the upstream last reported about a render that failed, but not to the customer', async () => {
    const task = await createTask();
    await submitTask(app.database, task, 'job-78');
    await recordNoResult(app.database, task.id, { code: 'processing_failed', detail: 'GPU 7 lost' });
    await finishAsFailed(app.database, task);
    expect((await reader.get(pathOf(task))).text).to.include('GPU 7 lost');
    const shown = await call(`${app.baseUrl}/admin/v1/tasks/${task.id}`, { key: app.adminToken });
    expect(shown.body).to.have.nested.property('data.vendor_message', 'GPU 7 lost');
    const own = await call(`${app.baseUrl}/v1/tasks/${task.id}`, { key: customer.apiKey });
    expect(JSON.stringify(own.body)).to.include(task.id).and.not.include('GPU');
  });

  it('show the prompt to an operator who gives a reason, and record the access', async () => {
    // contract 4.11:31
    const task = await createTask();
    expect((await operator.send(`${pathOf(task)}/prompt`, { reason: '' })).text).not.to.include(PROMPT);
    const shown = await operator.send(`${pathOf(task)}/prompt`, { reason: 'reported by a customer' });
    expect(await app.database('sent_forms').where({ content_of: task.accountId })).to.have.length(1);
    expect(shown.text).to.include(PROMPT);
    const [action] = await app.database('operator_actions').where({ task_id: task.id });
    expect(action).to.include({ kind: 'read_prompt', author: 'op@example.com', reason: 'reported by a customer' });
  });

  it('are cancelled and refunded with a reason, once', async () => {
    const task = await createTask();
    expect((await operator.send(`${pathOf(task)}/cancel`, { reason: '' })).status).to.equal(400);
    for (let time = 0; time < 2; time++) {
      expect((await operator.send(`${pathOf(task)}/cancel`, { reason: 'asked by phone' })).status).to.equal(303);
    }
    const { text } = await operator.get(pathOf(task));
    expect(text).to.include('cancel by op@example.com: asked by phone').and.include('refunded in full');
    const refunds = await app.database('transfers').where({ task_id: task.id, kind: 'refund' });
    expect(refunds).to.have.length(1);
  });

  it('tasks are not cancelled once they are final, and the page gives the reason', async () => {
    const task = await createTask();
    await finishAsFailed(app.database, task);
    const shown = await operator.send(`${pathOf(task)}/cancel`, { reason: 'late' });
    expect(shown.status).to.equal(400);
    expect(shown.text).to.include('role="alert"').and.include('can no longer be cancelled');
  });

  it('have their events redelivered, or the page reports that there are none', async () => {
    const receiving = await app.createAccount({ fundedUsd: 10 });
    const task = await createTask(receiving);
    expect((await operator.send(`${pathOf(task)}/redeliver`, { reason: 'lost' })).status).to.equal(400);
    await createEndpoint(app.database, { id: receiving.accountId });
    await finishAsSucceeded(app.database, task);
    await app
      .database('deliveries')
      .where({ task_id: task.id })
      .update({ status: 'delivered', next_attempt_at: null, completed_at: new Date() });
    expect((await operator.send(`${pathOf(task)}/redeliver`, { reason: 'lost' })).status).to.equal(303);
    const [delivery] = await app.database('deliveries').where({ task_id: task.id });
    expect(delivery).to.include({ status: 'pending' });
  });
});

describeInBrowser('the id of a task in a browser', (browser) => {
  const app = useTestConsole();

  it('stays on one line, with its end and a button that copies it, on a wide and on a narrow screen', async () => {
    const caller = await app.createAccount({ fundedUsd: 10 });
    const { id, accountId } = await createTaskRow(app.database, keyOf(caller));
    const tab = await browser.open(app.baseUrl);
    await tab.signIn(await Visitor.invited(app, { email: 'op@example.com', staff_role: 'operator' }));
    for (const [path, shown] of [
      [`/console/staff/tasks/${id}`, id],
      [`/console/staff/accounts/${accountId}`, accountId],
    ] as const)
      for (const width of [1280, 390]) {
        await tab.page.setViewportSize({ width, height: 900 });
        await tab.page.goto(path);
        const code = tab.page.locator(`dd > .copied > code[title="${shown}"]`);
        const { height = 0, width: shownWidth = 0 } = (await code.boundingBox()) ?? {};
        expect(height, `${path} at ${width}`).to.be.within(1, 25);
        expect(shownWidth, `${path} at ${width}`).to.be.above(100);
        expect(await tab.page.locator('dd > .copied > button').first().isVisible()).to.equal(true);
        const overflow = await tab.page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
        expect(overflow, `${path} at ${width}`).to.equal(0);
      }
    await tab.close();
  });
});
