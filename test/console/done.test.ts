import { expect } from 'chai';
import { finishTask } from '../../db/queries/finish-task.ts';
import { storeLateResult } from '../../db/queries/late-results.ts';
import { derivedId, newId } from '../../domain/ids.ts';
import { parseUsd } from '../../domain/money.ts';
import { useAccount, useTestConsole, useVisitor, Visitor } from '../support/console.ts';
import { createEndpoint, createTaskRow, keyOf, VIDEO } from '../support/factories.ts';

const CORRECTIONS = '/console/staff/corrections';

describe('the page after a form', () => {
  const app = useTestConsole({ settings: { secondApprovalAbove: parseUsd(100) } });
  const customer = useAccount(app, { fundedUsd: 10 });
  const operatorOf = (email: string) => () =>
    ({ email, account_id: customer.accountId, staff_role: 'operator' }) as const;
  const ada = useVisitor(app, operatorOf('ada@example.com'));
  const bob = useVisitor(app, operatorOf('bob@example.com'));

  /** Sends a form. @returns what the next page says, and what the page says when it is loaded again */
  async function noteAfter(by: Visitor, path: string, fields: Record<string, string> = {}) {
    const { status, headers, text } = await by.send(path, fields);
    expect(status, text).to.equal(303);
    const next = String(headers['location']);
    const [first, again] = [await by.get(next), await by.get(next)];
    expect(again.text).not.to.include('role="status"');
    return /role="status">([^<]*)</.exec(first.text)?.[1];
  }

  async function requestCorrection(): Promise<string> {
    const form_id = newId('form');
    const asked = { form_id, account_id: customer.accountId, amount_usd: '250', reason: 'a test' };
    expect(await noteAfter(ada, CORRECTIONS, asked)).to.equal('Submitted. A second person must approve.');
    return derivedId('correction', form_id);
  }

  it('the page says that a key was disabled, enabled, or deleted', async () => {
    const key = `/console/accounts/${customer.accountId}/keys/${customer.keyId}`;
    expect(await noteAfter(ada, `${key}/disable`)).to.equal('Disabled.');
    expect(await noteAfter(ada, `${key}/enable`)).to.equal('Enabled.');
    expect(await noteAfter(ada, `${key}/delete`)).to.equal('Deleted.');
  });

  it('the page says that a test event was sent, in the language of the reader', async () => {
    const { id } = await createEndpoint(app.database, { id: customer.accountId });
    const endpoint = `/console/accounts/${customer.accountId}/webhooks/${id}`;
    expect(await noteAfter(bob, `${endpoint}/test`)).to.equal('Test event sent.');
    await bob.setLanguage('zh');
    expect(await noteAfter(bob, `${endpoint}/test`)).to.equal('测试事件已发送。');
    expect(await noteAfter(bob, `${endpoint}/delete`)).to.equal('已删除。');
    await bob.setLanguage('en');
  });

  it('the page says that a correction waits for a second person, was approved, rejected or withdrawn, or is booked', async () => {
    for (const [by, decision, note] of [
      [bob, 'approve', 'Correction approved and booked.'],
      [bob, 'reject', 'Rejected. Nothing has changed.'],
      [ada, 'withdraw', 'Withdrawn. Nothing has changed.'],
    ] as const) {
      expect(await noteAfter(by, `${CORRECTIONS}/${await requestCorrection()}/${decision}`)).to.equal(note);
    }
    const account = await app.createAccount({ fundedUsd: 10 });
    const asked = { account_id: account.accountId, amount_usd: '1', reason: 'a test' };
    expect(await noteAfter(ada, CORRECTIONS, asked)).to.equal('$1.00 booked.');
  });

  it('the page says how much a claimed late result cost', async () => {
    const account = await app.createAccount({ fundedUsd: 10 });
    const task = await createTaskRow(app.database, keyOf(account), { price: parseUsd(0.6) });
    const failure = { code: 'processing_timeout', message: 'It took too long.' } as const;
    await finishTask(app.database, task.id, { status: 'failed', failure }, null);
    await storeLateResult(app.database, { taskId: task.id, accountId: account.accountId, output: [VIDEO] });
    const person = { email: 'claims@example.com', account_id: account.accountId, member_role: 'developer' } as const;
    const claims = await Visitor.invited(app, person);
    const path = `/console/accounts/${account.accountId}/tasks/${task.id}/claim`;
    expect(await noteAfter(claims, path)).to.equal('Claimed. $0.60 charged.');
  });

  it('the page says that a reconciliation started', async () => {
    expect(await noteAfter(ada, '/console/staff/reconciliations')).to.equal('Reconciliation started.');
  });

  it('the page says the same when the form arrives a second time', async () => {
    const { id } = await createEndpoint(app.database, { id: customer.accountId });
    const path = `/console/accounts/${customer.accountId}/webhooks/${id}/delete`;
    const form_id = newId('form');
    expect(await noteAfter(ada, path, { form_id })).to.equal('Deleted.');
    expect(await noteAfter(ada, path, { form_id })).to.equal('Deleted.');
  });
});
