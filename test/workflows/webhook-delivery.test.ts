import { expect } from 'chai';
import type { ServerResponse } from 'node:http';
import { NativeConnection, Worker } from '@temporalio/worker';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { WebhookDeliveryActivities } from '../../activities/webhook-delivery.ts';
import { findDeliveryContent } from '../../db/queries/deliveries.ts';
import { WEBHOOKS } from '../../domain/policy.ts';
import { TASK_QUEUES } from '../../domain/task-queues.ts';
import { verifySignature } from '../../domain/webhook-signature.ts';
import type { webhookDelivery } from '../../workflows/webhook-delivery.ts';
import { eventually } from '../support/eventually.ts';
import { LIGHT_WORKERS, stopPromiseStacks } from '../support/light-workers.ts';
import { testTemporalAddress } from '../support/services.ts';
import { call, useTestStack } from '../support/stack.ts';
import { createTask, taskWhenFinal } from '../support/tasks.ts';
import { type ReceivedRequest, type RecordingReceiver, startRecordingReceiver } from '../support/receiver.ts';
import { createWebhookClient, type DeliveryBody, type EndpointBody } from '../support/webhooks.ts';

/** A few quick attempts; then one too late for a test to see. */
const SCHEDULE_SECONDS = [0, 0.2, 1, 3600];

const ok = (response: ServerResponse): unknown => response.end('thanks');
const fail = (response: ServerResponse): unknown => response.writeHead(500).end();
const isDelivered = ({ status }: DeliveryBody): boolean => status === 'delivered';
const isFailed = ({ status }: DeliveryBody): boolean => status === 'failed';
const hasAttempts =
  (count: number) =>
  ({ attempts }: DeliveryBody): boolean =>
    attempts.length >= count;

describe('a webhook delivery', () => {
  let apiKey: string;
  let accountId: string;
  let webhooks: ReturnType<typeof createWebhookClient>;
  let others: ReturnType<typeof createWebhookClient>;
  let silent: RecordingReceiver;
  let unanswered: { endpointId: string; deliveryId: string };
  const receivers: RecordingReceiver[] = [];

  const stack = useTestStack({ env: { GENWAY_WEBHOOK_SCHEDULE_S: SCHEDULE_SECONDS.join(',') } });
  before(async () => {
    await Promise.all([stack.api.start(), stack.worker.start()]);
    ({ apiKey, accountId } = await stack.createAccount());
    webhooks = createWebhookClient(stack, apiKey);
    others = createWebhookClient(stack, (await stack.createAccount()).apiKey);
    // Started here, so that it runs during the other tests.
    silent = await startRecordingReceiver(() => undefined);
    const { id } = await others.create(silent.url);
    unanswered = { endpointId: id, deliveryId: (await others.test(id)).id };
  });
  afterEach(async () => {
    const { body } = await call<{ data: EndpointBody[] }>(`${stack.baseUrl}/v1/webhooks`, { key: apiKey });
    await Promise.all(body.data.map(({ id }) => webhooks.remove(id)));
    await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
  });
  after(async () => {
    await silent.close();
  });

  async function receiver(answer: (response: ServerResponse, number: number) => unknown): Promise<RecordingReceiver> {
    const started = await startRecordingReceiver(answer);
    receivers.push(started);
    return started;
  }

  it('carries the task of the events that its endpoint subscribed to', async () => {
    // contract 2.4:13 2.4:14 6:1 6:2 6:6 6:7 6:9
    const [all, failures] = await Promise.all([receiver(ok), receiver(ok)]);
    const everything = await webhooks.create(all.url);
    const failuresOnly = await webhooks.create(failures.url, { events: ['task.failed'] });
    const succeeded = await createTask(stack, apiKey, 'x');
    const failed = await createTask(stack, apiKey, 'x [sim:fail=processing_failed]');
    await Promise.all([succeeded, failed].map(({ id }) => taskWhenFinal(stack, apiKey, id)));
    await Promise.all([all.received(2), failures.received(1)]);

    const events = all.requests.map(({ headers, body }) => [headers['x-svc-event'], JSON.parse(body).data.id]);
    expect(events).to.have.deep.members([
      ['task.succeeded', succeeded.id],
      ['task.failed', failed.id],
    ]);
    expect(all.requests.every((request) => isSigned(request, everything.secret))).to.equal(true);
    const sent = await webhooks.deliveries(failuresOnly.id);
    expect(sent.map(({ event, task_id }) => [event, task_id])).to.deep.equal([['task.failed', failed.id]]);
  });

  it('disables an endpoint that answers 410, until its owner enables it', async () => {
    // contract 2.4:8 2.4:15 6:21
    const hook = await receiver((response) => response.writeHead(410).end());
    const { id } = await webhooks.create(hook.url);
    const delivery = await webhooks.deliveryWhen(id, (await webhooks.test(id)).id, isFailed);
    expect(delivery.attempts).to.have.length(1);
    expect(await webhooks.get(id)).to.include({ enabled: false, disabled_reason: 'the receiver answered 410 Gone' });
    expect(await webhooks.update(id, { enabled: true })).to.include({ enabled: true, failing_since: null });
  });

  it('disables an endpoint that has failed for days without one success', async () => {
    // contract 6:22
    const hook = await receiver(fail);
    const { id } = await webhooks.create(hook.url);
    await stack
      .database('webhook_endpoints')
      .where({ id })
      .update({ failing_since: daysAgo(6) });
    await webhooks.deliveryWhen(id, (await webhooks.test(id)).id, isFailed);
    expect(await webhooks.get(id)).to.include({
      enabled: false,
      disabled_reason: 'every attempt has failed for 5 days',
    });
  });

  it('resets past failures after a success, which is any 2xx', async () => {
    // contract 6:14
    const hook = await receiver((response) => response.writeHead(204).end());
    const { id } = await webhooks.create(hook.url);
    await stack
      .database('webhook_endpoints')
      .where({ id })
      .update({ failing_since: daysAgo(6) });
    await webhooks.deliveryWhen(id, (await webhooks.test(id)).id, isDelivered);
    expect(await webhooks.get(id)).to.include({ enabled: true, failing_since: null });
  });

  it('waits as long as Retry-After requests', async () => {
    // contract 2.4:17 6:17
    const hook = await receiver((response) => response.writeHead(503, { 'retry-after': '7200' }).end());
    const { id } = await webhooks.create(hook.url);
    const delivery = await webhooks.deliveryWhen(id, (await webhooks.test(id)).id, hasAttempts(1));
    const startedAt = delivery.attempts[0]?.started_at ?? 0;
    expect(Number(delivery.next_attempt_at) - startedAt).to.be.within(7199, 7200 * 1.2 + 10);
  });

  it('does not follow a redirect', async () => {
    // contract 6:15
    const hook = await receiver((response) => response.writeHead(302, { location: '/elsewhere' }).end());
    const { id } = await webhooks.create(`${hook.url}/hook`);
    const delivery = await webhooks.deliveryWhen(id, (await webhooks.test(id)).id, hasAttempts(1));
    expect(delivery.attempts[0]).to.include({ http_status: 302, error: 'HTTP 302: redirects are not followed' });
    expect(new Set(hook.requests.map(({ path }) => path))).to.deep.equal(new Set(['/hook']));
  });

  it('does not reach an address that became private after the creation of the endpoint', async () => {
    // contract 8.4:3
    const hook = await receiver(ok);
    const { id } = await webhooks.create(hook.url);
    await stack.database('webhook_endpoints').where({ id }).update({ url: 'https://10.0.0.1/' });
    const delivery = await webhooks.deliveryWhen(id, (await webhooks.test(id)).id, hasAttempts(1));
    expect(delivery.attempts[0]).to.include({ http_status: null });
    expect(delivery.attempts[0]?.error).to.match(/^address refused/);
  });

  it('fails when the customer deletes its endpoint between two attempts', async () => {
    // contract 4.7:5
    let endpointId = '';
    const hook = await receiver((response) => webhooks.remove(endpointId).then(() => fail(response)));
    ({ id: endpointId } = await webhooks.create(hook.url));
    const { id } = await webhooks.test(endpointId);
    await hook.received(1);
    expect(await outcomeOf(id)).to.deep.equal({ status: 'failed', attempts: 1 });
    expect(hook.requests).to.have.length(1);
  });

  it('repeats on request, under the same event id, after it arrived', async () => {
    // contract 2.4:12 4.7:9 6:10 6:13
    const hook = await receiver(ok);
    const { id } = await webhooks.create(hook.url);
    const first = await webhooks.deliveryWhen(id, (await webhooks.test(id)).id, isDelivered);
    await webhooks.redeliver(id, first.id);
    const second = await webhooks.deliveryWhen(id, first.id, hasAttempts(2));
    expect(second.attempts.map(({ number }) => number)).to.deep.equal([1, 2]);
    expect(hook.requests.map(({ headers }) => headers['webhook-id'])).to.deep.equal([first.event_id, first.event_id]);
  });

  it('repeats at once on request while it waits for its next attempt', async () => {
    const hook = await receiver((response, number) => (number <= 3 ? fail(response) : ok(response)));
    const { id } = await webhooks.create(hook.url);
    const { id: deliveryId } = await webhooks.deliveryWhen(id, (await webhooks.test(id)).id, hasAttempts(3));
    await webhooks.redeliver(id, deliveryId);
    const delivery = await webhooks.deliveryWhen(id, deliveryId, isDelivered);
    expect(delivery.attempts).to.have.length(4);
    expect(await outcomeOf(deliveryId)).to.deep.equal({ status: 'delivered', attempts: 4 });
  });

  it('repeats on request after its workflow was terminated', async () => {
    const hook = await receiver((response, number) => (number <= 3 ? fail(response) : ok(response)));
    const { id } = await webhooks.create(hook.url);
    const { id: deliveryId } = await webhooks.deliveryWhen(id, (await webhooks.test(id)).id, hasAttempts(3));
    await stack.temporal.workflow.getHandle(deliveryId).terminate();
    await webhooks.redeliver(id, deliveryId);
    const delivery = await webhooks.deliveryWhen(id, deliveryId, isDelivered);
    expect(delivery.attempts.map(({ number }) => number)).to.deep.equal([1, 2, 3, 4]);
  });

  it('repeats on request with all other failed deliveries of a period', async () => {
    // contract 4.7:10
    let isBroken = true;
    const hook = await receiver((response) => (isBroken ? response.writeHead(410).end() : ok(response)));
    const { id } = await webhooks.create(hook.url);
    const failed = await webhooks.deliveryWhen(id, (await webhooks.test(id)).id, isFailed);
    await webhooks.update(id, { enabled: true });
    isBroken = false;
    const arrived = await webhooks.deliveryWhen(id, (await webhooks.test(id)).id, isDelivered);
    expect(await webhooks.redeliverRange(id, { from: 0 })).to.include({ count: 1 });
    await webhooks.deliveryWhen(id, failed.id, isDelivered);
    expect((await webhooks.deliveryWhen(id, arrived.id, isDelivered)).attempts).to.have.length(1);
  });

  it('repeats on request when the request arrives between the record of its last attempt and the end of its workflow', async () => {
    const [workflowId, attemptQueue] = ['requested-late', 'attempts-of-a-test'];
    const numbers: number[] = [];
    const attemptDelivery: WebhookDeliveryActivities['attemptDelivery'] = async ({ number }) => {
      numbers.push(number);
      if (number === 1) await stack.temporal.workflow.getHandle(workflowId).signal('redeliver');
      return { status: 'delivered', attempts: number, delayMs: 0, detail: 'HTTP 200' };
    };
    const connection = await NativeConnection.connect({ address: await testTemporalAddress() });
    const { namespace } = stack.temporal.options;
    const activities = { attemptDelivery };
    const worker = await Worker.create({
      ...LIGHT_WORKERS,
      connection,
      namespace,
      activities,
      taskQueue: attemptQueue,
    });
    stopPromiseStacks();
    const outcome = await worker.runUntil(
      stack.temporal.workflow.execute<typeof webhookDelivery>('webhookDelivery', {
        workflowId,
        taskQueue: TASK_QUEUES.webhooks,
        args: [{ deliveryId: workflowId, attemptQueue }],
      }),
    );
    await connection.close();
    expect(outcome).to.deep.equal({ status: 'delivered', attempts: 2 });
    expect(numbers).to.deep.equal([1, 2]);
  });

  it('makes no second attempt under a recorded number', async () => {
    const hook = await receiver(ok);
    const { id } = await webhooks.create(hook.url);
    const delivery = await webhooks.deliveryWhen(id, (await webhooks.test(id)).id, isDelivered);
    const repeated = await stack.temporal.workflow.execute<typeof webhookDelivery>('webhookDelivery', {
      workflowId: `${delivery.id}-repeated`,
      taskQueue: TASK_QUEUES.webhooks,
      args: [{ deliveryId: delivery.id }],
    });
    expect(repeated).to.deep.equal({ status: 'delivered', attempts: 1 });
    expect(hook.requests).to.have.length(1);
  });

  it('keeps the body that it sent and the start of each answer, and waits for no answer to end', async () => {
    // contract 6:25
    const long = 'é'.repeat(5_000);
    const answers: readonly [answer: (response: ServerResponse) => unknown, kept: string | null][] = [
      [(response) => response.end('thanks'), 'thanks'],
      [(response) => response.end(), null],
      [(response) => response.end('\0\0'), null],
      [(response) => response.end(long), long.slice(0, WEBHOOKS.answerBytes / 2)],
      [(response) => response.end(`a${long}`), `a${long.slice(0, WEBHOOKS.answerBytes / 2 - 1)}`],
      [(response) => response.end(Buffer.alloc(9_000, 0xff)), '\uFFFD'.repeat(WEBHOOKS.answerBytes)],
      [(response) => response.write('so far'), 'so far'],
    ];
    const kept = await Promise.all(
      answers.map(async ([answer]) => {
        const hook = await receiver(answer);
        const endpoint = await webhooks.create(hook.url);
        const { id } = await webhooks.deliveryWhen(endpoint.id, (await webhooks.test(endpoint.id)).id, isDelivered);
        const content = await findDeliveryContent(stack.database, { id, accountId });
        expect(content?.payload).to.equal(hook.requests[0]?.body);
        return content?.attempts.map((attempt) => attempt.answer);
      }),
    );
    expect(kept).to.deep.equal(answers.map(([, text]) => [text]));
  });

  it('carries signatures of both the new and the old secret right after a rotation', async () => {
    // contract 6:23
    const hook = await receiver(ok);
    const { id, secret: oldSecret } = await webhooks.create(hook.url);
    const { secret } = await webhooks.rotateSecret(id);
    await webhooks.deliveryWhen(id, (await webhooks.test(id)).id, isDelivered);
    const [request] = hook.requests;
    if (!request) throw new Error('a delivery that arrived has a request');
    expect([isSigned(request, secret), isSigned(request, oldSecret)]).to.deep.equal([true, false]);
    expect(String(request.headers['webhook-signature']).split(' ')).to.have.length(2);
  });

  it('counts no failure of its receiver when Genway cannot decrypt the secret, and continues once it can', async () => {
    const hook = await receiver(ok);
    const { id } = await webhooks.create(hook.url);
    const endpoint = stack.database<{ id: string; encrypted_secret: Buffer }>('webhook_endpoints').where({ id });
    const row = await endpoint.clone().first('encrypted_secret');
    await endpoint.clone().update({ encrypted_secret: Buffer.from('encrypted with another key') });
    const { id: deliveryId } = await webhooks.test(id);
    await eventually(async () => {
      const { raw } = await stack.temporal.workflow.getHandle(deliveryId).describe();
      const failure = raw.pendingActivities?.[0]?.lastFailure?.applicationFailureInfo;
      return expect(failure?.type).to.equal('DecryptionError');
    });
    await endpoint.clone().update({ encrypted_secret: row?.encrypted_secret ?? Buffer.alloc(0) });
    const { attempts } = await webhooks.deliveryWhen(id, deliveryId, isDelivered);
    expect(attempts.map(({ http_status }) => http_status)).to.deep.equal([200]);
    expect((await webhooks.get(id)).failing_since).to.equal(null);
  });

  it('records its outcome in its history, and no secret, address or payload', async () => {
    const hook = await receiver(ok);
    const { id, secret } = await webhooks.create(`${hook.url}/hidden`);
    const { id: deliveryId } = await webhooks.deliveryWhen(id, (await webhooks.test(id)).id, isDelivered);
    expect(await outcomeOf(deliveryId)).to.deep.equal({ status: 'delivered', attempts: 1 });
    const handle = stack.temporal.workflow.getHandle(deliveryId);
    const { searchAttributes } = await handle.describe();
    expect(searchAttributes).to.deep.include({
      GenwayAccount: [accountId],
      GenwayKind: ['endpoint.test'],
      GenwayOutcome: ['delivered'],
    });
    const history = withPayloads(historyToJSON(await handle.fetchHistory()));
    expect(history).to.include(deliveryId).and.to.include('HTTP 200');
    for (const hidden of [secret, 'hidden', 'created_at']) expect(history).to.not.include(hidden);
  });

  it('counts an attempt as failed when the receiver is silent for 15 seconds', async () => {
    // contract 2.4:16 4.7:7 6:5 6:14
    const { endpointId, deliveryId } = unanswered;
    const delivery = await others.deliveryWhen(endpointId, deliveryId, hasAttempts(1));
    expect(delivery.attempts[0]).to.include({ http_status: null, error: 'no answer within 15 s' });
  });

  it('delivers the same event under a fresh signature to a failing receiver, even if its worker is killed', async () => {
    // contract 2.4:15 2.4:16 6:8 6:13 6:18
    const victim = stack.killable('worker');
    await stack.worker.stop();
    await victim.start();
    const hook = await receiver((response, number) => (number <= 2 ? fail(response) : ok(response)));
    const { id, secret } = await webhooks.create(hook.url);
    const { id: deliveryId, event_id: eventId } = await webhooks.test(id);
    await webhooks.deliveryWhen(id, deliveryId, hasAttempts(2));
    await victim.kill();
    await stack.worker.start();
    const delivery = await webhooks.deliveryWhen(id, deliveryId, isDelivered);

    expect(delivery.attempts.map(({ number, http_status }) => [number, http_status])).to.deep.equal([
      [1, 500],
      [2, 500],
      [3, 200],
    ]);
    expect(hook.requests.map(({ headers }) => headers['webhook-id'])).to.deep.equal([eventId, eventId, eventId]);
    expect(new Set(hook.requests.map(({ body }) => body)).size).to.equal(1);
    expect(hook.requests.every((request) => isSigned(request, secret))).to.equal(true);
    const stamps = hook.requests.map(({ headers }) => Number(headers['x-svc-timestamp']));
    expect(stamps[2]).to.be.greaterThan(stamps[0] ?? Number.POSITIVE_INFINITY);
    expect((await webhooks.get(id)).failing_since).to.equal(null);
  });

  async function outcomeOf(deliveryId: string): Promise<unknown> {
    return stack.temporal.workflow.getHandle<typeof webhookDelivery>(deliveryId).result();
  }
});

/** Verifies a request as a receiver does, at its own timestamp. */
function isSigned({ headers, body }: ReceivedRequest, secret: string): boolean {
  const timestamp = String(headers['x-svc-timestamp']);
  const signature = String(headers['x-svc-signature']);
  return verifySignature({ secret, timestamp, signature, body, nowSeconds: Number(timestamp) });
}

/** A history as JSON, followed by its decoded payloads. */
function withPayloads(history: string): string {
  const payloads = [...history.matchAll(/"data":\s*"([^"]*)"/g)];
  return history + payloads.map(([, base64 = '']) => Buffer.from(base64, 'base64').toString()).join('\n');
}

function daysAgo(days: number): Date {
  return new Date(Date.now() - days * 86_400_000);
}
