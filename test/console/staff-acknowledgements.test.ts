import { expect } from 'chai';
import { readLedgerHealth } from '../../db/queries/ledger-health.ts';
import { finishReconciliation, insertReconciliation } from '../../db/queries/reconciliations.ts';
import { newId } from '../../domain/ids.ts';
import { parseUsd } from '../../domain/money.ts';
import { ensurePartitions } from '../../db/partitions.ts';
import { type ErrorBody } from '../support/app.ts';
import { useTestConsole, useVisitor, type Visitor } from '../support/console.ts';
import { connectGenway, type Genway } from '../support/genway.ts';
import { call } from '../support/stack.ts';

const REPORTS = '/console/staff/reconciliations';
const MONEY = { check: 'top_ups', subject: 'acc_x', detail: '<i>twice</i>', remedy: 'Set it right.' };
const OPERATION = { check: 'results', subject: 'task_x', detail: 'the file is gone', remedy: 'Tell the customer.' };

function monthsAgo(months: number): Date {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 15));
}

describe('findings without a remedy', () => {
  let genway: Genway;

  const app = useTestConsole({ settings: { secondApprovalAbove: parseUsd(100) } });
  const ada = useVisitor(app, () => ({ email: 'ada@example.com', staff_role: 'finance' }));
  const bob = useVisitor(app, () => ({ email: 'bob@example.com', staff_role: 'operator' }));
  const reader = useVisitor(app, () => ({ email: 'read@example.com', staff_role: 'readonly' }));
  before(async () => {
    genway = await connectGenway(app);
    for (const months of [3, 2]) await ensurePartitions(app.database, monthsAgo(months));
  });

  type Found = typeof MONEY;
  async function report(...findings: readonly Found[]): Promise<string> {
    const id = newId('reconciliation');
    await insertReconciliation(app.database, { id, requestedBy: 'schedule' });
    const checks = findings.map(({ check }) => ({ check, question: 'Is it so?', findings: 1, durationMs: 1 }));
    await finishReconciliation(app.database, id, { checks, findings });
    return id;
  }

  /** Another finding of the same check, which no earlier acknowledgement covers. */
  const another = (finding: Found): Found => ({ ...finding, subject: newId('account') });

  async function acknowledge(visitor: Visitor, id: string, fields: Record<string, string> = {}) {
    return visitor.send(`${REPORTS}/${id}/acknowledge`, { finding: '1', reason: 'before our time', ...fields });
  }

  async function decide(visitor: Visitor, id: string, decision: string) {
    const [waiting] = await app.database('acknowledgements').where({ reconciliation_id: id });
    return visitor.send(`${REPORTS}/${id}/${decision}`, { acknowledgement_id: String(waiting?.id) });
  }

  const closing = async (month: Date): Promise<string> =>
    (await ada.get(`/console/staff/months/${month.toISOString().slice(0, 7)}/close`)).text;

  it('keep a month open until they are acknowledged, by two people if they are about money; the month and its export show it', async () => {
    // contract 4.11:54
    const [money, operation] = [another(MONEY), another(OPERATION)];
    const id = await report(money, operation);
    const past = monthsAgo(3);
    const month = past.toISOString().slice(0, 7);
    expect(await closing(past)).to.include('has 2 unacknowledged findings');
    expect((await acknowledge(ada, id, { finding: '2', reason: 'the disk is lost' })).status).to.equal(303);
    expect((await acknowledge(ada, id)).status).to.equal(303);
    expect(await closing(past)).to.include('has 1 unacknowledged finding');
    const waiting = (await bob.get(`${REPORTS}/${id}`)).text;
    expect(waiting).to.include('Waiting for approval').and.include(`${id}/confirm`).and.include('before our time');
    const [ack] = await app.database('acknowledgements').where({ subject: money.subject });
    const confirmed = await bob.send(`${REPORTS}/${id}/confirm`, { acknowledgement_id: String(ack?.id) });
    expect(confirmed.status).to.equal(303);
    await report(money, operation);
    const page = await closing(past);
    expect(page).to.include('Acknowledged findings').and.include('confirmed by bob@example.com');
    expect((await ada.send(`/console/staff/months/${month}/close`)).status).to.equal(303);
    const closed = (await reader.get(`/console/staff/months/${month}`)).text;
    expect(closed).to.include('before our time').and.include('the disk is lost').and.include(money.subject);
    expect(closed).not.to.include('<i>twice');
    const csv = (await reader.get(`/console/staff/months/${month}/export?format=csv`)).text;
    expect(csv).to.match(/acknowledged_finding.*"ada@example.com, confirmed by bob@example.com",before our time/);
    const exported = await genway('months', 'export', month);
    expect(exported.split('\n').filter((line) => line.includes('acknowledged_finding'))).to.have.length(2);
    const again = await genway('months', 'close', month);
    expect(again).to.include('the disk is lost');
    const noted = await app.database('admin_actions').where({ author: 'bob@example.com' }).pluck('path');
    expect(noted).to.include(`${REPORTS}/${id}/confirm`);
  });

  it('no longer count in the list of reconciliations once they are acknowledged', async () => {
    const id = await report(another(OPERATION), another(OPERATION));
    const listed = async () => {
      const { text } = await reader.get(REPORTS);
      const [row = ''] = text.split('<tr>').filter((one) => one.includes(id));
      return Array.from(row.matchAll(/badge-(\w+)">([^<]+)/g), ([, tone, label]) => `${tone}: ${label}`);
    };
    expect(await listed()).to.deep.equal(['bad: 2 findings']);
    await acknowledge(ada, id);
    expect(await listed()).to.deep.equal(['bad: 1 finding']);
    await acknowledge(ada, id, { finding: '2' });
    expect(await listed()).to.deep.equal(['good: Acknowledged']);
  });

  it('are confirmed by a second person, withdrawn only by their author, and decided once', async () => {
    const id = await report(another(MONEY));
    await acknowledge(ada, id);
    expect((await ada.get(`${REPORTS}/${id}`)).text)
      .to.include(`${id}/withdraw`)
      .and.not.include(`${id}/confirm`);
    expect((await decide(ada, id, 'confirm')).status).to.equal(403);
    expect((await decide(ada, id, 'reject')).status).to.equal(403);
    expect((await decide(bob, id, 'withdraw')).status).to.equal(403);
    const [waiting] = await app.database('acknowledgements').where({ reconciliation_id: id });
    const fields = { acknowledgement_id: String(waiting?.id) };
    const both = await Promise.all([
      bob.send(`${REPORTS}/${id}/confirm`, fields),
      bob.send(`${REPORTS}/${id}/reject`, fields),
      bob.send(`${REPORTS}/${id}/confirm`, fields),
    ]);
    expect(both.filter(({ status }) => status === 409).length).to.be.within(1, 2);
    expect((await decide(ada, id, 'withdraw')).status).to.equal(409);
  });

  it('stay open after they are rejected, and can be acknowledged again', async () => {
    const id = await report(another(MONEY));
    await acknowledge(ada, id);
    await decide(bob, id, 'reject');
    expect(await closing(monthsAgo(2))).to.include('has 1 unacknowledged finding');
    expect((await acknowledge(ada, id)).status).to.equal(303);
    expect(await app.database('acknowledgements').where({ reconciliation_id: id })).to.have.length(2);
  });

  it('turn Current problems red until they are confirmed, and show the second person what waits', async () => {
    const id = await report(another(MONEY), another(OPERATION));
    const home = async (): Promise<string> => (await bob.get('/console/staff/live/state')).text;
    expect(await home()).to.match(/Findings of the last reconciliation<[^]*?>2</);
    await acknowledge(ada, id, { finding: '', all: 'on' });
    const waiting = await home();
    expect(waiting).to.match(/Findings of the last reconciliation<[^]*?>1</);
    expect(waiting).to.match(new RegExp(`waiting for a second person<[^]*?href="${REPORTS}/${id}">1<`));
    await decide(bob, id, 'confirm');
    expect(await home()).to.not.match(/Findings of the last reconciliation|waiting for a second person/);
    expect((await readLedgerHealth(app.database)).findings).to.equal(0);
  });

  it('about a bill keep open its month and later months, and not the months before', async () => {
    const [past, later] = [monthsAgo(2), monthsAgo(1)].map((at) => at.toISOString().slice(0, 7));
    const bill = (month = '') => ({ ...MONEY, check: 'vendor_bills', subject: `kling ${month} ${newId('account')}` });
    await report(bill(later));
    expect(await closing(monthsAgo(2))).to.not.include('unacknowledged');
    await report(bill(past));
    expect(await closing(monthsAgo(2))).to.include('has 1 unacknowledged finding');
  });

  it('are acknowledged once however often the form is sent, and again when the finding changes', async () => {
    const finding = another(OPERATION);
    const id = await report(finding);
    await Promise.all([acknowledge(ada, id), acknowledge(bob, id), acknowledge(ada, id)]);
    expect(await app.database('acknowledgements').where({ reconciliation_id: id })).to.have.length(1);
    await report({ ...finding, detail: 'the file is another' });
    expect(await closing(monthsAgo(2))).to.include('has 1 unacknowledged finding');
  });

  it('an acknowledgement without a listed finding or a reason of at most 1,000 characters gets 400', async () => {
    const id = await report(another(OPERATION));
    for (const wrong of [
      { finding: '' },
      { finding: '2' },
      { finding: '0' },
      { finding: '-1' },
      { finding: '1.5' },
      { finding: 'x' },
      { finding: '9'.repeat(400) },
      { reason: '' },
      { reason: 'x'.repeat(1001) },
    ]) {
      expect((await acknowledge(ada, id, wrong)).status, JSON.stringify(wrong)).to.equal(400);
    }
    for (const unknown of ['', 'x', newId('acknowledgement')]) {
      expect((await ada.send(`${REPORTS}/${id}/confirm`, { acknowledgement_id: unknown })).status).to.equal(404);
    }
  });

  it('keep the downloads of their report on the page of a refused form', async () => {
    const id = await report(another(OPERATION));
    const { text } = await acknowledge(ada, id, { reason: '' });
    expect(text).to.include(`href="${REPORTS}/${id}/export?format=csv"`).and.not.include('acknowledge/export');
  });

  it('are acknowledged by the command, but those about money only in the console', async () => {
    // contract 4.11:54
    const id = await report(another(OPERATION), another(MONEY));
    const made = await genway(
      'reconciliations',
      'acknowledge',
      id,
      '1',
      '--reason',
      'the disk is lost',
      '--author',
      'cy',
    );
    expect(made).to.include('Acknowledged by cy: the disk is lost').and.include('2. top_ups');
    const refused = await call<ErrorBody>(`${app.baseUrl}/admin/v1/reconciliations/${id}/acknowledgements`, {
      key: app.adminToken,
      method: 'POST',
      body: { findings: [2], reason: 'x' },
    });
    expect(refused.status).to.equal(403);
    expect(refused.body.error.message).to.include(`${REPORTS}/${id}, where a second person confirms it`);
    expect(await genway('reconciliations', 'show', id)).to.include(
      'The ledger has 1 finding that is not acknowledged.',
    );
  });
});
