import { join } from 'node:path';
import { expect } from 'chai';
import { findFreePort } from '../bin/stack/ports.ts';
import { waitUntil } from '../bin/stack/wait-until.ts';
import { PATIENCE_MS } from './support/eventually.ts';
import { verifySignature } from '../domain/webhook-signature.ts';
import { announcePaymentEvent } from './support/payments.ts';
import { call, startTestStack, type TestStack } from './support/stack.ts';
import { type RecordingReceiver, startRecordingReceiver } from './support/receiver.ts';
import { createWebhookClient } from './support/webhooks.ts';

const TEN_MINUTES_MS = 600_000;
const SKEWED_CLOCK = join(import.meta.dirname, '../lab/drill/skewed-clock.mjs');
const PAYMENT_SECRET = 'the secret of the payment provider';
const VIDEO = { model: 'vidone-3.0', prompt: 'A test' };

for (const [where, aheadMs] of [
  ['ahead of', TEN_MINUTES_MS],
  ['behind', -TEN_MINUTES_MS],
] as const) {
  describe(`processes whose clocks are ten minutes ${where} that of the database`, () => {
    let stack: TestStack;
    let receiver: RecordingReceiver;
    let workerUrl: string;
    let key: string;

    before(async () => {
      receiver = await startRecordingReceiver((response) => response.writeHead(204).end());
      const port = String(await findFreePort());
      workerUrl = `http://127.0.0.1:${port}`;
      stack = await startTestStack({
        processes: ['api', 'text', 'worker'],
        env: {
          NODE_OPTIONS: `--import=file://${SKEWED_CLOCK}?ahead_ms=${aheadMs}`,
          GENWAY_WORKER_PORT: port,
          GENWAY_PAYMENT_WEBHOOK_SECRET: PAYMENT_SECRET,
        },
      });
      await Promise.all([stack.api.start(), stack.text.start(), stack.worker.start()]);
      key = (await stack.createAccount()).apiKey;
    });
    after(async () => {
      await stack.stop();
      await receiver.close();
    });

    it('sign webhooks with the correct time', async () => {
      const { secret } = await createWebhookClient(stack, key).create(receiver.url);
      await call(`${stack.baseUrl}/v1/videos/tasks`, { key, body: VIDEO });
      await receiver.received(1);
      const [request] = receiver.requests;
      const isSigned = verifySignature({
        secret,
        timestamp: String(request?.headers['x-svc-timestamp']),
        signature: String(request?.headers['x-svc-signature']),
        body: request?.body ?? '',
        nowSeconds: Math.floor(Date.now() / 1000),
      });
      expect(isSigned, JSON.stringify(request?.headers)).to.equal(true);
    });

    it('date tasks, their deadlines and text requests by the clock of the database, and delay nothing', async () => {
      const created = await call<{ data: { id: string } }>(`${stack.baseUrl}/v1/videos/tasks`, { key, body: VIDEO });
      const { id } = created.body.data;
      const question = { model: 'textd-v2.5', messages: [{ role: 'user', content: 'Hello' }] };
      const answer = await call(`${stack.textBaseUrl}/v1/chat/completions`, { key, body: question });
      expect([created.status, answer.status]).to.deep.equal([201, 200]);
      const task = await waitUntil(
        async () => {
          const row = await stack.database('tasks').where({ id }).first();
          expect(row.status).to.equal('succeeded');
          return row;
        },
        { timeoutMs: PATIENCE_MS },
      );
      const request = await waitUntil(
        async () => {
          const row = await stack.database('text_requests').first();
          expect(row).to.not.equal(undefined);
          return row;
        },
        { timeoutMs: PATIENCE_MS },
      );
      const about = TEN_MINUTES_MS / 2;
      expect(task.created_at.getTime()).to.be.closeTo(Date.now(), about);
      expect(task.completed_at.getTime()).to.be.within(task.created_at.getTime(), task.created_at.getTime() + about);
      expect(request.created_at.getTime()).to.be.closeTo(Date.now(), about);
      expect(request.latency_ms).to.be.within(0, about);
    });

    it('accept recent signatures of other processes', async () => {
      const event = { type: 'charge.updated', data: { object: {} } };
      expect((await announcePaymentEvent(stack.baseUrl, PAYMENT_SECRET, event)).status).to.equal(200);
    });

    it('report at /readyz that the clocks differ', async () => {
      for (const url of [stack.baseUrl, stack.textBaseUrl, workerUrl]) {
        const { status, body } = await call<{ status: string; database: string }>(`${url}/readyz`);
        expect(status, url).to.equal(503);
        expect(body, url).to.include({ status: 'not_ready', database: 'clocks_differ' });
      }
    });
  });
}
