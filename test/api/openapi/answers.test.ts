import { expect } from 'chai';
import { finishTask } from '../../../db/queries/finish-task.ts';
import type { TaskEnding } from '../../../domain/task.ts';
import { awaitRoomInMinute } from '../../support/one-minute.ts';
import { call } from '../../support/stack.ts';
import { newId } from '../../../domain/ids.ts';
import { renderEvent, TASK_EVENT } from '../../../domain/webhook-event.ts';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../../domain/wire-format-name.ts';
import { useTestApp } from '../../support/app.ts';
import type { TestCaller } from '../../support/factories.ts';
import { FORM_HEADERS, formOf } from '../../support/forms.ts';
import { pngFile } from '../../support/media-files.ts';
import { schemaChecks, undescribed } from '../../support/openapi.ts';
import { ASK, modelVia, useTestText } from '../../support/text.ts';

const LINK = 'https://hooks.example.com/genway';
const OUTPUT = [{ type: 'video', url: 'https://files.example.com/a.mp4', mimeType: 'video/mp4' }] as const;

const SMALL_BUDGET: Readonly<Record<WireFormatName, object>> = {
  'chat-completions': { max_tokens: 16 },
  responses: { max_output_tokens: 16 },
  messages: { max_tokens: 16 },
  'generate-content': { generationConfig: { maxOutputTokens: 16 } },
};

interface AskOptions {
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
  /** The values of the path parameters, in order. */
  readonly of?: readonly string[];
}

interface Answer {
  readonly status: number;
  readonly data: Readonly<Record<string, unknown>>;
}

describe('the description of answers', () => {
  const checks = schemaChecks({ closed: true });
  const app = useTestApp();
  let caller: TestCaller;

  beforeEach(async () => {
    caller = await app.createAccount({ fundedUsd: 50, signupUsd: 5 });
  });

  /** Calls an operation by its described path, and checks that its answer is described. */
  async function ask(
    operation: string,
    { key = caller.apiKey, body, headers = {}, query = '', of = [] }: AskOptions = {},
  ): Promise<Answer> {
    const [method = '', path = ''] = operation.split(' ');
    const values = [...of];
    const address = path.replaceAll(/\{\w+\}/g, () => values.shift() ?? '');
    const response = await fetch(`${app.baseUrl}${address}${query}`, {
      method,
      headers: {
        ...(key !== '' && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: body instanceof Uint8Array ? body : JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    const { status } = response;
    expect(undescribed({ method, path, status, headers: response.headers, body: answer }, checks)).to.deep.equal([]);
    return { status, data: Object(answer).data ?? {} };
  }

  const asOperator = (operation: string, options: AskOptions = {}) =>
    ask(operation, { key: app.adminToken, ...options });

  async function createTask(): Promise<string> {
    const { data } = await ask('POST /v1/videos/tasks', { body: { model: 'vidone-3.0', prompt: 'A kite' } });
    return String(data['id']);
  }

  async function endTask(taskId: string, ending: TaskEnding): Promise<void> {
    const id = newId('event');
    const type = ending.status === 'succeeded' ? 'task.succeeded' : 'task.failed';
    await finishTask(app.database, taskId, ending, {
      id,
      type,
      payload: (task) => renderEvent(TASK_EVENT, { id, type, task }),
    });
  }

  it('holds for tasks, whatever their outcome', async () => {
    // contract 2:1 2:2 4.10:4 4.11:31
    const [queued, succeeded, failed] = [await createTask(), await createTask(), await createTask()];
    await endTask(succeeded, { status: 'succeeded', output: OUTPUT });
    await endTask(failed, { status: 'failed', failure: { code: 'processing_failed', message: 'It failed.' } });
    for (const of of [queued, succeeded, failed]) {
      await ask('GET /v1/tasks/{task_id}', { of: [of] });
      await asOperator('GET /admin/v1/tasks/{task_id}', { of: [of] });
      await asOperator('GET /admin/v1/tasks/{task_id}/explanation', { of: [of] });
    }
    expect((await ask('GET /v1/tasks', { query: '?limit=2' })).status).to.equal(200);
    expect((await ask('GET /v1/tasks', { query: '?status=lost' })).status).to.equal(400);
    expect((await asOperator('GET /admin/v1/tasks')).status).to.equal(200);
    const image = { model: 'imagea-2.5-sunburst', prompt: 'A kite' };
    expect((await ask('POST /v1/images/tasks', { body: image })).status).to.equal(201);
  });

  it('holds for each refusal of a create call', async () => {
    const body = { model: 'vidone-3.0', prompt: 'A kite' };
    const path = 'POST /v1/videos/tasks';
    const poor = await app.createAccount({ fundedUsd: 0.1 });
    const free = await app.createAccount({ signupUsd: 5 });
    const slow = await app.createAccount({ fundedUsd: 5, key: { rateLimitRpm: 1 } });
    const headers = { 'idempotency-key': 'one' };
    const statuses = [
      await ask(path, { body, headers }),
      await ask(path, { body, headers }),
      await ask(path, { body: { ...body, duration: 6 }, headers }),
      await ask(path, { body: {} }),
      await ask(path, { body, key: '' }),
      await ask(path, { body, key: poor.apiKey }),
      await ask(path, { body, key: free.apiKey }),
      await ask(path, { body: 'a'.repeat(2 ** 20) }),
    ].map(({ status }) => status);
    expect(statuses).to.deep.equal([201, 201, 409, 400, 401, 402, 403, 413]);
    await awaitRoomInMinute(app.database);
    const limited = [await ask(path, { body, key: slow.apiKey }), await ask(path, { body, key: slow.apiKey })];
    expect(limited.map(({ status }) => status)).to.deep.equal([201, 429]);
  });

  it('holds for files and models', async () => {
    const body = formOf({ filename: 'a.png', content: pngFile() });
    const uploaded = await ask('POST /v1/files', { body, headers: FORM_HEADERS });
    expect(uploaded.status).to.equal(201);
    await ask('GET /v1/files');
    for (const method of ['GET', 'DELETE', 'DELETE']) {
      await ask(`${method} /v1/files/{file_id}`, { of: [String(uploaded.data['id'])] });
    }
    await ask('GET /v1/models');
    for (const model of ['vidone-3.0', 'imagea-2.5-sunburst', 'textc-M3', 'texte-3', 'none']) {
      await ask('GET /v1/models/{model_id}', { of: [model] });
    }
  });

  it('holds for webhooks and their deliveries', async () => {
    // contract 2.4:5 2.4:10 2.4:11 2.4:12 2.4:18 4.7:7 4.7:9 6:5
    const { data } = await ask('POST /v1/webhooks', { body: { url: LINK } });
    const id = String(data['id']);
    await ask('GET /v1/webhooks');
    await ask('GET /v1/webhooks/{webhook_id}', { of: [id] });
    await ask('PATCH /v1/webhooks/{webhook_id}', { of: [id], body: { description: null } });
    await ask('POST /v1/webhooks/{webhook_id}/rotate-secret', { of: [id] });
    const delivery = await ask('POST /v1/webhooks/{webhook_id}/test', { of: [id] });
    const deliveryId = String(delivery.data['id']);
    await app.database('deliveries').where({ id: deliveryId }).update({ status: 'failed', completed_at: new Date() });
    await ask('GET /v1/webhooks/{webhook_id}/deliveries', { of: [id] });
    await ask('POST /v1/webhooks/{webhook_id}/redeliver', { of: [id], body: { from: 0 } });
    const again = 'POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver';
    expect((await ask(again, { of: [id, deliveryId] })).status).to.equal(202);
    await asOperator('GET /admin/v1/webhooks/deliveries');
    await asOperator('POST /admin/v1/webhooks/deliveries/{delivery_id}/redeliver', { of: [deliveryId] });
    expect((await ask('DELETE /v1/webhooks/{webhook_id}', { of: [id] })).status).to.equal(200);
    expect((await ask('DELETE /v1/webhooks/{webhook_id}', { of: [id] })).status).to.equal(404);
  });

  it('holds for accounts, keys and the ledger', async () => {
    // contract 4.11:5 4.11:7 4.11:12 4.11:13 4.11:15 4.11:17 4.11:18 7.2:9
    const { data } = await asOperator('POST /admin/v1/accounts', { body: { name: 'Acme', signup_credit_usd: 1 } });
    const of = [String(data['id'])];
    const topUp = 'POST /admin/v1/accounts/{account_id}/topups';
    const body = { amount_usd: 25, reference: 'invoice-1' };
    const statuses = [
      await asOperator(topUp, { of, body }),
      await asOperator(topUp, { of, body }),
      await asOperator(topUp, { of, body: { ...body, amount_usd: 26 } }),
      await asOperator('POST /admin/v1/accounts/{account_id}/adjustments', {
        of,
        body: { amount_usd: -1, reason: 'A' },
      }),
      await asOperator('POST /admin/v1/accounts/{account_id}/adjustments', {
        of,
        body: { amount_usd: -99, reason: 'A' },
      }),
      await asOperator('GET /admin/v1/accounts/{account_id}', { of }),
      await asOperator('GET /admin/v1/accounts/{account_id}/ledger', { of }),
    ].map(({ status }) => status);
    expect(statuses).to.deep.equal([201, 200, 409, 201, 402, 200, 200]);
    const settings = { models: ['textc-M3'], ip_allowlist: ['10.0.0.0/8'], expires_at: '2099-01-01T00:00:00Z' };
    const key = await asOperator('POST /admin/v1/accounts/{account_id}/keys', { of, body: settings });
    const keyId = [String(key.data['id'])];
    await asOperator('PATCH /admin/v1/keys/{key_id}', { of: keyId, body: { disabled: true, usage_limit_usd: 3 } });
    expect((await asOperator('DELETE /admin/v1/keys/{key_id}', { of: keyId })).status).to.equal(200);
    expect((await asOperator('DELETE /admin/v1/keys/{key_id}', { of: keyId })).status).to.equal(404);
    expect((await ask('GET /admin/v1/tasks')).status).to.equal(401);
  });

  it('holds for the operators’ actions on tasks', async () => {
    await ask('POST /v1/webhooks', { body: { url: LINK } });
    const of = [await createTask()];
    const body = { reason: 'An outage' };
    expect((await asOperator('POST /admin/v1/tasks/{task_id}/cancel', { of, body })).status).to.equal(202);
    expect((await asOperator('POST /admin/v1/tasks/{task_id}/redeliver', { of, body })).status).to.equal(202);
    expect((await asOperator('GET /admin/v1/tasks/{task_id}/explanation', { of })).status).to.equal(200);
  });

  it('holds for the operators’ actions on batches', async () => {
    const params = { model: 'textm-opus', max_tokens: 1, messages: [{ role: 'user', content: 'Hello' }] };
    const body = { requests: [{ custom_id: 'a', params }] };
    const created = await call<{ id: string }>(`${app.baseUrl}/v1/messages/batches`, { key: caller.apiKey, body });
    const of = [created.body.id];
    for (const [action, status] of [
      ['resume', 409],
      ['pause', 200],
      ['pause', 409],
      ['resume', 200],
      ['retry', 409],
      ['cancel', 200],
    ] as const) {
      const path = `POST /admin/v1/batches/{batch_id}/${action}`;
      expect((await asOperator(path, { of, body: { reason: 'An outage' } })).status, action).to.equal(status);
    }
    expect((await asOperator('GET /admin/v1/batches/{batch_id}/explanation', { of })).status).to.equal(200);
  });

  it('holds for the status of the service', async () => {
    await ask('GET /healthz', { key: '' });
    await ask('GET /readyz', { key: '' });
    await ask('GET /openapi.json', { key: '' });
  });

  it('holds for the bodies of events', async () => {
    // contract 6:6
    await ask('POST /v1/webhooks', { body: { url: LINK } });
    await endTask(await createTask(), { status: 'succeeded', output: OUTPUT });
    const events = await app.database<{ type: string; payload: string }>('events').select('type', 'payload');
    expect(events.map(({ type }) => type)).to.include('task.succeeded');
    for (const { type, payload } of events) {
      const [subject] = type.split('.');
      const schema = { endpoint: 'TestEvent', batch: 'BatchEvent' }[subject ?? ''] ?? 'TaskEvent';
      expect(checks.faultsOf(`#/components/schemas/${schema}`, JSON.parse(payload))).to.deep.equal([]);
    }
  });
});

describe('the description of text answers', () => {
  // A forwarded answer may hold more than is described.
  const checks = schemaChecks({ closed: false });
  const service = useTestText();

  for (const format of WIRE_FORMAT_NAMES) {
    const { path } = ASK[format]('{model}', '', false);

    async function ask(prompt: string, model = modelVia(format), more: object = {}): Promise<number> {
      const asked = ASK[format](model, prompt, false);
      const response = await service.post(asked.path, { ...asked.body, ...more });
      const { status, headers } = response;
      const answer = { method: 'POST', path, status, headers, body: await response.json() };
      expect(undescribed(answer, checks)).to.deep.equal([]);
      return status;
    }

    it(`holds for answers on ${format}, from every upstream`, async () => {
      // contract 4.8.1:30 4.8.1:31 4.8.1:33 4.8.2:26 4.8.2:27 4.8.3:20 4.8.4:12
      for (const upstream of WIRE_FORMAT_NAMES) {
        for (const prompt of ['Hi', '[sim:reasoning=20]', '[sim:tokens=2000]']) {
          expect(await ask(prompt, modelVia(upstream))).to.equal(200);
        }
      }
    });

    it(`holds for answers on ${format} whose reasoning used the whole budget, from every upstream`, async () => {
      for (const upstream of WIRE_FORMAT_NAMES) {
        expect(await ask('[sim:reasoning=200]', modelVia(upstream), SMALL_BUDGET[format])).to.equal(200);
      }
    });

    it(`holds for errors on ${format}, before and after the access check`, async () => {
      expect(await ask('Hi', 'no-such-model')).to.equal(404);
      expect(await ask('[sim:fail=content_policy_violation]')).to.equal(400);
      expect(await ask('[sim:status=429]')).to.equal(429);
      expect(await ask('[sim:status=500]')).to.equal(503);
      const { status, headers, body } = await service
        .post(ASK[format]('texth-4-argon', '', false).path, { model: 7 })
        .then(async (response) => ({
          status: response.status,
          headers: response.headers,
          body: await response.json(),
        }));
      expect(undescribed({ method: 'POST', path, status, headers, body }, checks)).to.deep.equal([]);
      expect(status).to.equal(400);
    });
  }
});
