import { expect } from 'chai';
import { eraseContent } from '../../db/queries/content.ts';
import { insertTestDelivery } from '../../db/queries/deliveries.ts';
import { recordAttempt } from '../../db/queries/delivery-attempts.ts';
import { findWebhookEndpoint, type WebhookEndpoint } from '../../db/queries/webhook-endpoints.ts';
import { newId } from '../../domain/ids.ts';
import { copyableIn, useAccount, useTestConsole, useVisitor } from '../support/console.ts';
import { createEndpoint } from '../support/factories.ts';

describe('pages of webhooks', () => {
  let path: string;
  let own: WebhookEndpoint;

  const app = useTestConsole({ settings: { allowPrivateAddresses: true } });
  const customer = useAccount(app);
  const owner = useVisitor(app, () => ({ email: 'owner@example.com', account_id: customer.accountId }));
  const operator = useVisitor(app, () => ({ email: 'operator@example.com', staff_role: 'readonly' }));
  before(async () => {
    own = await createEndpoint(app.database, { id: customer.accountId });
    path = `/console/accounts/${customer.accountId}/webhooks`;
  });

  function reloaded({ accountId, id }: WebhookEndpoint) {
    return findWebhookEndpoint(app.database, accountId, id);
  }

  it('show the secret of a new endpoint once', async () => {
    const fields = { url: 'http://127.0.0.1:9/hooks', description: 'Tests', events: 'task.failed' };
    const made = await owner.send(path, fields);
    const secret = copyableIn(made);
    const id = /webhooks\/(\w+)"/.exec(made.text)?.[1] ?? '';
    const shown = await owner.get(`${path}/${id}`);
    expect(secret).to.match(/^whsec_/);
    expect(shown.text).to.include('127.0.0.1:9/hooks').and.not.include(secret);
    expect((await findWebhookEndpoint(app.database, customer.accountId, id))?.events).to.deep.equal(['task.failed']);
  });

  it('show the form again with its errors, and create nothing', async () => {
    const bad = [
      { url: 'file:///etc/passwd', events: 'task.failed' },
      { url: 'no address', events: 'task.failed' },
      { url: 'http://127.0.0.1:9/x'.padEnd(3_000, 'x'), events: 'task.failed' },
      { url: 'http://127.0.0.1:9/x', events: 'task.none' },
      { url: 'http://127.0.0.1:9/x' },
      { url: 'http://127.0.0.1:9/x', description: '\0', events: 'task.failed' },
    ];
    const before = await app.database('webhook_endpoints');
    for (const fields of bad) {
      const shown = await owner.send(path, fields);
      expect([shown.status, shown.text.includes('role="alert"')], JSON.stringify(fields)).to.deep.equal([400, true]);
    }
    expect(await app.database('webhook_endpoints')).to.have.length(before.length);
  });

  it('change, disable and enable an endpoint', async () => {
    const at = `${path}/${own.id}`;
    await owner.edit(at, { url: 'http://127.0.0.1:9/other', events: 'task.succeeded' });
    await owner.send(`${at}/disable`);
    const disabled = await reloaded(own);
    expect([disabled?.url, disabled?.disabledAt === null]).to.deep.equal(['http://127.0.0.1:9/other', false]);
    const refused = await owner.send(`${at}/test`);
    expect([refused.status, refused.text.includes('Enable it first')]).to.deep.equal([400, true]);
    await owner.send(`${at}/enable`);
    expect((await reloaded(own))?.disabledAt).to.equal(null);
  });

  it('replace the secret, and show how long the old one is valid', async () => {
    const shown = await owner.send(`${path}/${own.id}/rotate-secret`);
    expect(shown.text).to.include('whsec_').and.include('with the old secret for 24 hours');
  });

  it('send a test event, and show its delivery', async () => {
    const sent = await owner.send(`${path}/${own.id}/test`);
    expect(sent.status).to.equal(303);
    const shown = await owner.get(`${path}/${own.id}?status=pending`);
    expect(shown.text).to.include('endpoint.test').and.include('Not attempted yet');
    const others = await owner.get(`${path}/${own.id}?status=delivered&cursor=%27`);
    expect(others.text).to.include('No deliveries match');
  });

  it('show what a delivery sent and received, to members and operators, until its content is erased', async () => {
    const { id: endpointId, accountId } = await createEndpoint(app.database, { id: customer.accountId });
    const event = { id: newId('event'), payload: '{"id":1,"text":"<b>sent</b>"}', createdAt: new Date() };
    const { id } = await insertTestDelivery(app.database, { id: endpointId, accountId }, event);
    const pages = [
      () => owner.get(`${path}/${endpointId}/deliveries/${id}`),
      () => operator.get(`/console/staff/webhooks/${endpointId}/deliveries/${id}`),
    ];
    const contains = async (...texts: string[]) =>
      Promise.all(
        pages.map(async (open) => {
          const { status, text } = await open();
          expect(status).to.equal(200);
          return texts.map((part) => text.includes(part));
        }),
      );
    expect(await contains('&lt;b&gt;sent&lt;/b&gt;', 'Not attempted yet')).to.deep.equal([
      [true, true],
      [true, true],
    ]);
    const [startedAt, nextAttemptAt] = [new Date('2026-11-23T09:00:00Z'), new Date('2026-11-23T10:00:00Z')];
    await recordAttempt(
      app.database,
      id,
      { number: 1, startedAt, latencyMs: 7, status: 500, error: 'HTTP 500', answer: '<i>no</i>' },
      { delivered: false, timedOut: false, nextAttemptAt, disabledReason: null },
    );
    const shown = [
      '&lt;b&gt;sent&lt;/b&gt;',
      '{\n  &quot;id&quot;: 1,',
      '&lt;i&gt;no&lt;/i&gt;',
      'Attempt 1, 7 ms: HTTP 500',
      'dateTime="2026-11-23T09:00:00.000Z"',
      'dateTime="2026-11-23T10:00:00.000Z"',
      'https://receiver.test/',
    ];
    expect(await contains(...shown)).to.deep.equal(pages.map(() => shown.map(() => true)));
    expect(await contains(`/deliveries/${id}/redeliver"`)).to.deep.equal([[true], [false]]);
    await app.database.transaction((transaction) => eraseContent(transaction, accountId));
    expect(await contains('sent&lt;', 'no&lt;', 'were erased')).to.deep.equal(pages.map(() => [false, false, true]));
  });

  it('delete an endpoint after a confirmation', async () => {
    const at = `${path}/${own.id}/delete`;
    expect((await owner.get(at)).text).to.include('You cannot undo this');
    expect((await owner.send(at)).status).to.equal(303);
    expect(await reloaded(own)).to.equal(null);
  });
});
