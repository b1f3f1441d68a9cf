import { expect } from 'chai';
import pino from 'pino';
import { createCallRecorder } from '../../db/call-recorder.ts';
import { recordPollProblem } from '../../db/queries/poll-problems.ts';
import { ProviderUnreachableError } from '../../providers/media/outcomes.ts';
import { baseUrlsAt } from '../../providers/text/settings.ts';
import { useAccount, useTestConsole, useVisitor } from '../support/console.ts';
import { createEndpoint, createTaskRow, createTextRequestRow, finishAsSucceeded, keyOf } from '../support/factories.ts';
import { call } from '../support/stack.ts';

describe('the pages of operators', () => {
  const app = useTestConsole({
    textUpstreams: [
      { name: 'simulator', apiKeys: ['sk-one-1111', 'sk-two-2222'], baseUrls: baseUrlsAt('http://127.0.0.1:9') },
    ],
  });
  const customer = useAccount(app, { fundedUsd: 10 });
  const operator = useVisitor(app, () => ({ email: 'op@example.com', staff_role: 'operator' }));

  describe('models', () => {
    const path = '/console/staff/models/vidone-3.0';

    it('the list of models shows their status, their prices and the units of the prices', async () => {
      const { text } = await operator.get('/console/staff/models');
      expect(text).to.match(/vidone-3\.0[^]*On sale[^]*720p[^]*\$0\.10\/s/);
      expect(text).to.include('Text prices are per million tokens');
    });

    it('are disabled and enabled with a reason', async () => {
      await operator.send(`${path}/disable`, { reason: 'the vendor is down' });
      expect((await operator.get(path)).text).to.include('by op@example.com: the vendor is down');
      await operator.send(`${path}/enable`, { reason: 'it is back' });
      expect((await operator.get(path)).text).not.to.include('the vendor is down');
    });
  });

  describe('upstreams', () => {
    it('are listed by model and key, and opened and closed by an override, with a reason', async () => {
      const { text } = await operator.get('/console/staff/upstreams');
      expect(text).to.include('…1111').and.include('…2222').and.include('In service').and.not.include('sk-one');
      const fields = { upstream: 'simulator', minutes: '5', reason: 'maintenance' };
      expect((await operator.send('/console/staff/upstreams/rest', fields)).status).to.equal(303);
      const resting = (await operator.get('/console/staff/upstreams/health')).text;
      expect(resting).to.include('Paused by an operator').and.include('by op@example.com: maintenance');
      expect(resting).not.to.include('In service');
      const [order] = await app.database('upstream_overrides').where({ author: 'op@example.com' });
      expect(order).to.include({ upstream: 'simulator', reason: 'maintenance' });
      expect((await operator.send('/console/staff/upstreams/resume', fields)).status).to.equal(303);
      expect((await operator.get('/console/staff/upstreams/health')).text)
        .to.include('In service')
        .and.not.include('maintenance');
    });

    it('are paused for one of their models, and resumed as a whole by a later override', async () => {
      const states = async () => {
        const { text } = await operator.get('/console/staff/upstreams/health');
        return [text.match(/In service/g)?.length ?? 0, text.match(/Paused by an operator/g)?.length ?? 0];
      };
      const [inService = 0] = await states();
      const fields = { upstream: 'simulator', reason: 'maintenance' };
      const path = '/console/staff/upstreams';
      expect((await operator.send(`${path}/rest`, { ...fields, model: 'imageb-2', minutes: '5' })).status).to.equal(
        303,
      );
      expect(await states()).to.deep.equal([inService - 1, 1]);
      expect((await operator.send(`${path}/rest`, { ...fields, model: 'none', minutes: '5' })).status).to.equal(404);
      expect((await operator.send(`${path}/resume`, fields)).status).to.equal(303);
      expect(await states()).to.deep.equal([inService, 0]);
    });

    it('have the forms for overrides above the table, which are open after a refusal', async () => {
      const path = '/console/staff/upstreams';
      const { text } = await operator.get(path);
      expect(text.indexOf(`action="${path}/rest"`)).to.be.within(1, text.indexOf('<table'));
      const refused = await operator.send(`${path}/rest`, { upstream: 'simulator', minutes: '0', reason: 'x' });
      expect(
        [text, refused.text].map((page) => /<details class="question overrides"( open)?/.exec(page)?.[1]),
      ).to.deep.equal([undefined, ' open']);
    });

    it('get no overrides if they are not configured', async () => {
      const fields = { upstream: 'none', minutes: '5', reason: 'x' };
      const shown = await operator.send('/console/staff/upstreams/rest', fields);
      expect([shown.status, shown.text.includes('role="alert"')]).to.deep.equal([404, true]);
    });

    for (const minutes of ['', '0', '-1', '1.5', 'x', '43201']) {
      it(`get no open circuit for an invalid time: "${minutes}"`, async () => {
        const shown = await operator.send('/console/staff/upstreams/rest', {
          upstream: 'openai',
          minutes,
          reason: 'x',
        });
        expect([shown.status, shown.text.includes('whole number of minutes')]).to.deep.equal([400, true]);
      });
    }
  });

  describe('webhooks', () => {
    it('webhooks are listed while they fail, and missed deliveries are redelivered', async () => {
      const endpoint = await createEndpoint(app.database, { id: customer.accountId }, { url: 'https://failing.test/' });
      const working = await createEndpoint(app.database, { id: customer.accountId }, { url: 'https://working.test/' });
      await finishAsSucceeded(app.database, await createTaskRow(app.database, keyOf(customer)));
      const ofEndpoint = () => app.database('deliveries').where({ endpoint_id: endpoint.id });
      const failed = { status: 'failed', completed_at: new Date(), next_attempt_at: null };
      await ofEndpoint().update(failed);
      await app.database('webhook_endpoints').where({ id: endpoint.id }).update({ failing_since: new Date() });

      const listed = await operator.get('/console/staff/webhooks');
      expect(listed.text).to.include('failing.test').and.not.include('working.test');
      expect((await operator.get('/console/staff/webhooks?show=all')).text).to.include('working.test');

      const path = `/console/staff/webhooks/${endpoint.id}`;
      expect((await operator.get(`${path}?status=failed`)).text).to.include('task.succeeded');
      const waiting = { status: 'pending', next_attempt_at: new Date(Date.now() + 3_600_000) };
      for (const missed of [failed, waiting]) {
        await ofEndpoint().update({ ...missed, workflow_started_at: new Date() });
        expect((await operator.send(`${path}/redeliver`)).status).to.equal(303);
        expect(await ofEndpoint().select('status', 'workflow_started_at')).to.deep.equal([
          { status: 'pending', workflow_started_at: null },
        ]);
        expect((await operator.send(`${path}/redeliver`)).status).to.equal(400);
      }

      const [delivery] = await ofEndpoint().pluck<string[]>('id');
      const other = `/console/staff/webhooks/${working.id}/deliveries/${delivery}/redeliver`;
      expect((await operator.send(other)).status).to.equal(404);
      expect((await operator.send(`${path}/deliveries/${delivery}/redeliver`)).status).to.equal(303);
    });
  });

  describe('text requests', () => {
    it('text requests are found by their own id and by that of the request', async () => {
      const { id, requestId } = await createTextRequestRow(app.database, keyOf(customer));
      for (const wanted of [id, requestId]) {
        const { status, headers } = await operator.get(`/console/staff/text-requests?id=${wanted}`);
        expect([status, headers['location']]).to.deep.equal([303, `/console/staff/text-requests/${id}`]);
      }
      const { text } = await operator.get(`/console/staff/text-requests/${id}`);
      expect(text).to.include('acme-gpt').and.include('1,234').and.include('120 ms');
    });

    it('text requests are listed by account, model and status, a page at a time', async () => {
      const other = await app.createAccount();
      const ids = [];
      for (let count = 0; count < 51; count++) ids.push((await createTextRequestRow(app.database, keyOf(other))).id);
      // Requests of one millisecond are in the order of their ids.
      ids.sort();
      await createTextRequestRow(app.database, keyOf(other), { outcome: 'failed', error_code: 'bad_request' });
      const shown = async (filter: string): Promise<string> =>
        (await operator.get(`/console/staff/text-requests?${filter}`)).text;
      for (const filter of [`account=${other.accountId}&status=succeeded`, 'status=succeeded&model=gpt-test']) {
        const first = await shown(filter);
        expect(first, filter)
          .to.include(String(ids.at(-1)))
          .and.not.include(String(ids[0]));
        const cursor = /cursor=(txt_\w+)/.exec(first)?.[1] ?? '';
        expect(await shown(`${filter}&cursor=${cursor}`), filter).to.include(String(ids[0]));
      }
      const [, table = ''] =
        /<tbody>(.*)<\/tbody>/s.exec(await shown(`account=${other.accountId}&status=failed`)) ?? [];
      expect(table).to.include('Refused by the vendor').and.not.include('bad_request');
      expect(await shown('model=none')).to.include('No text requests match');
      expect(await shown('id=nothing')).to.include('No text requests match');
    });
  });

  it('text requests are listed by error, upstream and the fault of an attempt', async () => {
    const other = await app.createAccount();
    const failed = { outcome: 'failed', error_code: 'processing_failed', upstream: null };
    const answered = await createTextRequestRow(app.database, keyOf(other));
    const lost = await createTextRequestRow(app.database, keyOf(other), failed);
    const recorder = createCallRecorder(app.database, pino({ level: 'silent' }));
    const attempt = {
      upstream: 'first',
      format: '',
      model: 'm',
      key: '',
      decision: 'next',
      status: 500,
      message: 'Down',
    };
    recorder.recordAttempt({
      ...attempt,
      accountId: other.accountId,
      requestId: answered.requestId,
      number: 1,
      fault: 'failed',
      durationMs: 1,
    });
    await recorder.stop();
    for (const [filter, found] of [
      ['error_code=processing_failed', [lost.id]],
      ['upstream=acme', [answered.id]],
      ['fault=failed&upstream=first', [answered.id]],
      ['fault=failed', [answered.id]],
      ['fault=silent', []],
      ['fault=failed&upstream=acme', []],
    ] as const) {
      const { text } = await operator.get(`/console/staff/text-requests?account=${other.accountId}&${filter}`);
      expect(
        [answered.id, lost.id].filter((id) => text.includes(id)),
        filter,
      ).to.deep.equal(found);
      const { body } = await call<{ data: { id: string }[] }>(
        `${app.baseUrl}/admin/v1/accounts/${other.accountId}/usage/requests?${filter}`,
        { key: app.adminToken },
      );
      expect(
        body.data.map(({ id }) => id),
        filter,
      ).to.deep.equal(found);
    }
  });

  it('the live state counts the work in progress, and the browser fetches it again', async () => {
    const before = await operator.get('/console/staff/live/state');
    const count = (text: string): number => Number(/class="big number">(\d+)</.exec(text)?.[1]);
    await createTaskRow(app.database, keyOf(customer));
    const { text } = await operator.get('/console/staff/live');
    expect(count(text)).to.equal(count(before.text) + 1);
    expect(text).to.include('hx-get="/console/staff/live/state"').and.include('Ready');
  });

  it('the live state leads from the number of overdue tasks to a list of these tasks alone', async () => {
    const running = await createTaskRow(app.database, keyOf(customer));
    const overdue = await createTaskRow(app.database, keyOf(customer), { deadlineAt: new Date(Date.now() - 1_000) });
    const { text } = await operator.get('/console/staff/live');
    expect(text).to.include('<a href="/console/staff/tasks?status=overdue">Past the deadline</a>');
    const list = (await operator.get('/console/staff/tasks?status=overdue')).text;
    expect(list).to.include(overdue.id).and.not.include(running.id);
    const url = `${app.baseUrl}/admin/v1/tasks?overdue=true&account_id=${customer.accountId}`;
    const { body } = await call<{ data: { id: string }[] }>(url, { key: app.adminToken });
    expect(body.data.map(({ id }) => id)).to.deep.equal([overdue.id]);
  });

  it('the home of operators shows an upstream that is out of service once, with the number of its models', async () => {
    const upstream = { upstream: 'simulator', reason: 'maintenance' };
    await operator.send('/console/staff/upstreams/rest', { ...upstream, minutes: '5' });
    const { text } = await operator.get('/console/staff/live');
    await operator.send('/console/staff/upstreams/resume', upstream);
    expect(text.match(/simulator, \d+ models: Paused by an operator/g)).to.have.lengthOf(1);
  });

  it('the home of operators shows a model while it is disabled, with the author and the reason', async () => {
    const path = '/console/staff/models/vidone-3.0';
    const home = async (): Promise<string> => (await operator.get('/console/staff/live/state')).text;
    expect(await home()).not.to.include('Model disabled by an operator');
    await operator.send(`${path}/disable`, { reason: 'the vendor is down' });
    expect(await home())
      .to.include('Model disabled by an operator')
      .and.include(`<a href="${path}">vidone-3.0: by op@example.com: the vendor is down</a>`);
    await operator.send(`${path}/enable`, { reason: 'it is back' });
    expect(await home()).not.to.include('Model disabled by an operator');
  });

  it('the home of operators shows current problems, with the vendor’s message on the page of upstreams', async () => {
    const target = { upstream: 'simulator', format: 'chat-completions', model: 'textc-M3', key: '1111' };
    const recorder = createCallRecorder(app.database, pino({ level: 'silent' }));
    for (let call = 0; call < 5; call += 1) {
      recorder.record(target, {
        accountId: 'acc_1',
        durationMs: 40,
        failure: { fault: 'failed', status: 500, message: 'The model is overloaded' },
      });
    }
    const renders = { upstream: 'simulator', format: '', model: 'vidone-3.0', key: '' };
    const failure = { fault: 'processing_failed', status: null, message: 'The render failed.' };
    for (let call = 0; call < 21; call += 1) {
      recorder.record(renders, {
        accountId: customer.accountId,
        durationMs: 60_000,
        failure: call < 20 ? failure : null,
      });
    }
    await recorder.stop();
    // Renders are slow, so that five minutes have few.
    await app
      .database('upstream_calls')
      .where({ model: renders.model, span: 'minute' })
      .update({ start: app.database.raw(`start - interval '10 minutes'`) });
    await createTaskRow(app.database, keyOf(customer), { deadlineAt: new Date(Date.now() - 60_000) });
    const polled = { upstream: 'relay', model: 'vidone-3.0' };
    await recordPollProblem(app.database, { ...polled, kind: 'unknown_state', words: 'archived' });
    await recordPollProblem(app.database, { ...polled, kind: 'failed_polls', words: 'the upstream answered 401' });

    expect((await operator.get('/console')).headers['location']).to.equal('/console/staff/live');
    const { text } = await operator.get('/console/staff/live');
    expect(text).to.include('simulator, textc-M3: 5 of 5 calls failed in 5 minutes');
    expect(text).to.match(/href="([^"]+failures[^"]*)">simulator, \w[^<]*: 20 of 21 calls failed in 60 minutes/);
    expect(text).to.include('Tasks past their deadline');
    expect(text).to.match(/Unknown state of jobs[^]*relay, vidone-3\.0: the state “archived” repeats/);
    expect(text).to.match(/Polls of jobs fail[^]*relay, vidone-3\.0: the upstream answered 401/);
    const upstreams = (await operator.get('/console/staff/upstreams')).text;
    // Failing routes come first.
    const rows = upstreams.slice(upstreams.indexOf('<tbody>')).split('<tr').slice(1);
    const failing = rows.map((row) => row.includes('calls failed in'));
    expect(failing.filter(Boolean)).to.have.length.above(0);
    expect(failing.lastIndexOf(true)).to.be.below(failing.indexOf(false));
    expect(upstreams)
      .to.include('HTTP 500')
      .and.include('The model is overloaded')
      .and.include('5 failed')
      .and.include('20 failed')
      .and.include('20 of 21 calls failed in 60 minutes');
    const failures = (await operator.get('/console/staff/failures?period=day')).text;
    expect(failures)
      .to.include('Vendor failed')
      .and.include('95.2%')
      .and.match(/<rect class="series-0"/);
    expect(failures).to.match(new RegExp(`<span title="${customer.accountId}">`));
    const list = `tasks?account=${customer.accountId}&amp;upstream=simulator&amp;status=failed&amp;error_code=processing_failed`;
    expect(failures).to.include('The render failed.').and.include(`href="/console/staff/${list}&amp;from=`);
    expect(failures).to.match(
      /href="\/console\/staff\/text-requests\?account=acc_1&amp;upstream=simulator&amp;fault=failed/,
    );
  });
});

describe('the current problems of a gateway with moderation', () => {
  let outage: Error | null = null;
  const check = async () => {
    if (outage) throw outage;
    return { flagged: false, categories: [] };
  };
  const app = useTestConsole({ moderator: { check, judge: async () => [] } });
  const customer = useAccount(app, { fundedUsd: 10 });
  const reader = useVisitor(app, () => ({ email: 'reader@example.com', staff_role: 'readonly' }));

  it('have the cause while its checks have no verdict', async () => {
    const createTask = async () => {
      const body = { model: 'vidone-3.0', prompt: 'A kite' };
      return (await call(`${app.baseUrl}/v1/videos/tasks`, { key: customer.apiKey, body })).status;
    };
    const problems = async () => (await reader.get('/console/staff/live')).text;
    expect(await createTask()).to.equal(201);
    expect(await problems()).not.to.include('No verdict of moderation');
    outage = new ProviderUnreachableError('the upstream answered 401');
    expect(await createTask()).to.equal(503);
    expect(await problems()).to.match(
      /No verdict of moderation<[^]*the upstream answered 401; requests that need a verdict/,
    );
    outage = null;
    expect(await createTask()).to.equal(201);
    expect(await problems()).not.to.include('No verdict of moderation');
  });
});
