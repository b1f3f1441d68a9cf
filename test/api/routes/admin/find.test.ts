import { expect } from 'chai';
import { listDeliveries } from '../../../../db/queries/deliveries.ts';
import { deleteApiKey } from '../../../../db/queries/api-keys.ts';
import { findTask } from '../../../../db/queries/tasks.ts';
import type { NewTextHold } from '../../../../db/text-money/ledger.ts';
import { grantPromoCredit } from '../../../../db/queries/promo-grants.ts';
import { newId } from '../../../../domain/ids.ts';
import { parseUsd } from '../../../../domain/money.ts';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import { issueGiftBatch, redeemGiftCode } from '../../../../services/money/gift-codes.ts';
import {
  createEndpoint,
  createTaskRow,
  finishAsSucceeded,
  newGiftBatch,
  type TestCaller,
} from '../../../support/factories.ts';
import { eventually } from '../../../support/eventually.ts';
import { type Answer, call } from '../../../support/stack.ts';
import { newHold, openTextLedger, settlementOf } from '../../../support/text-money.ts';

interface FoundBody {
  readonly data: {
    readonly id: string;
    readonly kind: string;
    readonly account: { readonly id: string; readonly name: string } | null;
    readonly verdict: string;
    readonly lines: readonly string[];
    readonly events: readonly { readonly text: string }[];
  };
}

describe('api/routes/admin/find', () => {
  const app = useTestApp({ recordsRefusals: true });
  let caller: TestCaller;

  before(async () => {
    caller = await app.createAccount({ fundedUsd: 10 });
  });

  const find = <Body = FoundBody>(id: string): Promise<Answer<Body>> =>
    call<Body>(`${app.baseUrl}/admin/v1/find/${encodeURIComponent(id)}`, { key: app.adminToken });

  /** Finds the account of the caller. @returns the timeline as one text */
  async function storyOf(id: string, kind: string): Promise<string> {
    const { status, body } = await find(id);
    expect(status, `${id}: ${JSON.stringify(body)}`).to.equal(200);
    expect(body.data).to.include({ kind });
    expect(body.data.account?.id).to.equal(caller.accountId);
    return body.data.lines.join('\n');
  }

  /** The rows that a completed text request leaves. */
  async function text(): Promise<NewTextHold> {
    const ledger = openTextLedger(app.databaseUrl);
    try {
      const hold = newHold({ id: caller.keyId, accountId: caller.accountId });
      await ledger.hold([hold]);
      await ledger.settle([settlementOf(hold)]);
      return hold;
    } finally {
      await ledger.close();
    }
  }

  it('finds the account and the timeline by a task, its request, its money and its deliveries', async () => {
    // contract 4.11:11
    const endpoint = await createEndpoint(app.database, { id: caller.accountId });
    const { id: taskId, requestId } = await createTaskRow(app.database, {
      id: caller.keyId,
      accountId: caller.accountId,
    });
    await finishAsSucceeded(app.database, { id: taskId });
    const task = await findTask(app.database, taskId);
    const [delivery] = await listDeliveries(app.database, { taskId, limit: 1 });
    expect(await storyOf(taskId, 'task')).to.include('Succeeded; $1.00 charged.');
    expect(await storyOf(requestId, 'request')).to.include(`${taskId}: Succeeded`);
    const settlement = await storyOf(task?.resolutionId ?? '', 'transfer');
    expect(settlement).to.include(`settlement of $1.00 for ${taskId}`);
    expect(await storyOf(delivery?.id ?? '', 'delivery')).to.include('task.succeeded');
    expect(await storyOf(delivery?.eventId ?? '', 'event')).to.include(`task.succeeded of ${taskId}`);
    expect(await storyOf(endpoint.id, 'webhookEndpoint')).to.include('https://receiver.test/ is enabled.');
  });

  it('finds the cost by a text request, its HTTP request and its answer', async () => {
    // contract 4.11:11
    const { id, requestId } = await text();
    const letters = requestId.slice('req_'.length);
    for (const [asked, kind] of [
      [id, 'textRequest'],
      [requestId, 'request'],
      [`chatcmpl-${letters}`, 'request'],
      [`resp_${letters}`, 'request'],
      [`msg_${letters}`, 'request'],
    ] as const) {
      const story = await storyOf(asked, kind);
      expect(story)
        .to.include(`${id}: succeeded; `)
        .and.to.match(/ledger +charge of /);
    }
  });

  it('ends the timeline of a text request with its outcome, after all attempts', async () => {
    const { id, requestId } = await text();
    await app.database('text_attempts').insert({
      account_id: caller.accountId,
      request_id: requestId,
      number: 1,
      ended_at: new Date(Date.now() + 60_000),
      upstream: 'simulator',
      format: 'messages',
      model: 'm',
      key: '7Kq2',
      decision: 'next',
      message: 'Overloaded',
      duration_ms: 20,
    });
    const story = await storyOf(id, 'textRequest');
    expect(story.indexOf('Overloaded')).to.be.within(0, story.indexOf(': succeeded, '));
  });

  it('finds why a request was refused, by the id of the request', async () => {
    // contract 4.11:80
    const { headers, body } = await call<ErrorBody>(`${app.baseUrl}/v1/videos/tasks`, {
      key: caller.apiKey,
      body: { model: 'no-such-model', prompt: 'x' },
    });
    const id = headers.get('x-request-id') ?? '';
    await eventually(async () => (await find(id)).status === 200);
    expect(await storyOf(id, 'request'))
      .to.include('Refused with status 400, bad_request; nothing was charged.')
      .and.include(`POST /v1/videos/tasks with key ${caller.keyId} was refused`)
      .and.include(body.error.message);
  });

  it('finds a request that got 503 because operators had disabled its model', async () => {
    // contract 4.11:80
    const model = `${app.baseUrl}/admin/v1/models/vidone-3.0`;
    await call(`${model}/disable`, { key: app.adminToken, body: { reason: 'a test' } });
    const { status, headers } = await call(`${app.baseUrl}/v1/videos/tasks`, {
      key: caller.apiKey,
      body: { model: 'vidone-3.0', prompt: 'x' },
    });
    await call(`${model}/enable`, { key: app.adminToken, body: {} });
    expect(status).to.equal(503);
    const id = headers.get('x-request-id') ?? '';
    await eventually(async () => (await find(id)).status === 200);
    expect(await storyOf(id, 'request'))
      .to.include('Refused with status 503, processing_unavailable; nothing was charged.')
      .and.include('The model vidone-3.0 is out of service for now');
  });

  it('finds a deleted key, an account and the actions of operators on it', async () => {
    // contract 4.11:11
    const { accountId, keyId } = await app.createAccount();
    await deleteApiKey(app.database, keyId);
    expect((await find(keyId)).body.data.verdict).to.include('is deleted');
    await call(`${app.baseUrl}/admin/v1/accounts/${accountId}/suspend`, { key: app.adminToken, body: { reason: 'x' } });
    expect((await find(accountId)).body.data.verdict).to.include('suspended since');
    const [action] = await app.database('operator_actions').where({ account_id: accountId }).select('id');
    expect((await find(action.id)).body.data.verdict).to.equal(`suspend of ${accountId} by admin: x`);
  });

  it('finds promo credit, and its giver', async () => {
    // contract 4.11:11
    const { accountId } = await app.createAccount();
    const { grant } = await grantPromoCredit(app.database, {
      accountId,
      amount: parseUsd(5),
      expiresAt: new Date(Date.now() + 86_400_000),
      reference: 'spring',
      author: 'admin',
      reason: 'a campaign',
    });
    const { verdict, events } = (await find(grant.id)).body.data;
    expect(verdict).to.equal(
      'Promo credit of $5.00 (spring): $5.00 available, $0.00 on hold, $0.00 spent, $0.00 expired.',
    );
    expect(events.map(({ text }) => text)).to.deep.equal(['$5.00 given by admin: a campaign', 'What is left expires']);
  });

  it('finds a batch of gift codes and each code by its id, with the redemption and without the code', async () => {
    // contract 4.11:11
    const { accountId } = await app.createAccount();
    const batch = await issueGiftBatch(
      { database: app.database, money: { secondApprovalAbove: null } },
      newGiftBatch({ amount: parseUsd(5), codes: 2 }),
    );
    const [typed = ''] = batch.giftCodes;
    const redeemer = { accountId, userId: null, email: null, ip: '192.0.2.1' };
    const { id: redeemed } = await redeemGiftCode(app.database, typed, redeemer);
    const [{ id: unused }] = await app.database('gift_codes').where({ batch_id: batch.id }).whereNot({ id: redeemed });
    const found = await Promise.all([batch.id, redeemed, unused].map((id) => find(id)));
    expect(found.map(({ body: { data } }) => data.account?.id ?? null)).to.deep.equal([null, accountId, null]);
    const story = `2 gift codes of $5.00 (${batch.label}): 1 redeemed, open.`;
    expect(found.map(({ body: { data } }) => data.verdict)).to.deep.equal([
      story,
      `Redeemed by ${accountId}, of ${batch.id}: ${story}`,
      `Not redeemed, of ${batch.id}: ${story}`,
    ]);
    expect(JSON.stringify(found)).not.to.include(typed);
  });

  it('an answer is plain text by Accept, with the account first', async () => {
    // contract 4.11:11
    const response = await fetch(`${app.baseUrl}/admin/v1/find/${caller.keyId}`, {
      headers: { authorization: `Bearer ${app.adminToken}`, accept: 'text/plain' },
    });
    expect(await response.text()).to.match(new RegExp(`^account: ${caller.accountId}, Test\n${caller.keyId}: sk-…`));
  });

  for (const kind of [
    'task',
    'textRequest',
    'request',
    'transfer',
    'event',
    'file',
    'operatorAction',
    'promoGrant',
    'giftBatch',
    'giftCode',
  ] as const) {
    it(`answers 404 for the id of a ${kind} that does not exist`, async () => {
      expect((await find(newId(kind))).status).to.equal(404);
    });
  }

  for (const id of ['chatcmpl-9Xv', 'nothing', '%00', 'key_', "key_' OR 1=1"]) {
    it(`answers 404 for ${id}, and names the ids that can be looked up`, async () => {
      const { status, body } = await find<ErrorBody>(id);
      expect([status, body.error.code]).to.deep.equal([404, 'not_found']);
      expect(body.error.message).to.match(/x-request-id|Ids begin with|Check that the id is complete/);
    });
  }
});
