import { expect } from 'chai';
import { ensurePartitions } from '../../../../db/partitions.ts';
import { insertTransfer } from '../../../../db/queries/transfers.ts';
import { CHECKS } from '../../../../db/reconciliation/reconcile.ts';
import { newId } from '../../../../domain/ids.ts';
import { parseUsd } from '../../../../domain/money.ts';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import { createTaskRow, finishAsFailed, finishAsSucceeded } from '../../../support/factories.ts';
import { connectGenway, field, type Genway } from '../../../support/genway.ts';
import { monthBefore } from '../../../support/months.ts';
import { checkBooks, writeReport } from '../../../support/reconciliation.ts';
import { call } from '../../../support/stack.ts';
import { newHold, openTextLedger, settlementOf } from '../../../support/text-money.ts';

type Row = Readonly<Record<string, string | number | null>>;

describe('api/routes/admin/months', () => {
  // A month can be closed a day after it ended: on the first day of a month, the month before it cannot.
  const [thisMonth, next, past] = [monthBefore(0), monthBefore(2), monthBefore(3)];
  const app = useTestApp();
  let genway: Genway;

  before(async () => {
    genway = await connectGenway(app);
    await ensurePartitions(app.database, past.moment);
  });

  function adjustmentIn(accountId: string, createdAt: Date, usd = 3): Promise<void> {
    return insertTransfer(app.database, {
      id: newId('transfer', createdAt.getTime()),
      kind: 'adjustment',
      accountId,
      amount: parseUsd(usd),
      author: 'ada',
      reason: '=HYPERLINK("http://evil.test")',
      createdAt,
    });
  }

  async function rowsOf(month: string): Promise<readonly Row[]> {
    const response = await fetch(`${app.baseUrl}/admin/v1/months/${month}/export`, {
      headers: { authorization: `Bearer ${app.adminToken}` },
    });
    expect(response.status).to.equal(200);
    const lines = (await response.text()).split('\n').filter((line) => line !== '');
    return lines.map((line): Row => JSON.parse(line));
  }

  it('exports every transfer of every account with usage, revenue, and the reason of each refund', async () => {
    // contract 4.11:24
    const one = await app.createAccount({ fundedUsd: 10 });
    const other = await app.createAccount({ fundedUsd: 10 });
    const sold = await createTaskRow(app.database, { id: one.keyId, accountId: one.accountId });
    await finishAsSucceeded(app.database, sold);
    const failed = await createTaskRow(app.database, { id: other.keyId, accountId: other.accountId });
    await finishAsFailed(app.database, failed, 'content_policy_violation');
    const hold = newHold({ id: one.keyId, accountId: one.accountId });
    const ledger = openTextLedger(app.databaseUrl);
    await ledger.hold([hold]);
    await ledger.settle([settlementOf(hold)]);
    await ledger.close();
    const rows = await rowsOf(thisMonth.name);
    const of = (field: string, id: string) => rows.filter((row) => row[field] === id);
    expect(of('task_id', sold.id).map(({ kind, revenue_usd, model }) => [kind, revenue_usd, model])).to.deep.equal([
      ['reservation', null, 'vidone-3.0'],
      ['settlement', '1', 'vidone-3.0'],
    ]);
    expect(of('task_id', failed.id).map(({ kind, cause }) => [kind, cause])).to.deep.equal([
      ['reservation', null],
      ['refund', 'content_policy_violation'],
    ]);
    const [settled] = of('text_request_id', hold.id);
    expect(settled).to.include({ kind: 'charge', request_kind: 'text', account_id: one.accountId });
    expect(settled?.['input_tokens']).to.be.a('string');
    const [counted] = await app.database('transfers').count<{ count: string }[]>();
    expect(rows).to.have.length(Number(counted?.count));
    expect(new Set(rows.map(({ id }) => id)).size, 'each once').to.equal(rows.length);
  });

  it('exports the same as CSV, in which no cell is a formula', async () => {
    // contract 4.11:24
    const { accountId } = await app.createAccount();
    await adjustmentIn(accountId, next.moment);
    const csv = await genway('months', 'export', next.name, '--csv');
    const [header, line] = csv.trim().split('\r\n');
    expect(header).to.match(/^created_at,id,kind,debit,credit,account_id,account_name,/);
    expect(line).to.include(accountId).and.include(`"'=HYPERLINK(""http://evil.test"")"`);
  });

  it('closes a month once, after a reconciliation of all of it, and records the operator and the balances; corrections are booked in the open month', async () => {
    // contract 4.11:25
    const { accountId } = await app.createAccount();
    await adjustmentIn(accountId, past.moment);
    const lastHour = new Date(next.moment.getTime() - 14 * 86_400_000 + 23 * 3_600_000);
    const report = { created_at: lastHour, finished_at: lastHour, checks: '[]', findings: '[]' };
    await app.database('reconciliations').insert({ id: newId('reconciliation'), requested_by: 'schedule', ...report });
    expect(await genway('months', 'close', past.name)).to.include('No reconciliation has run since');
    await writeReport(app.database);
    const closed = await genway('months', 'close', past.name, '--author', 'ada');
    expect([
      field(closed, 'author'),
      field(closed, 'transfers'),
      field(closed, 'amounts_usd.adjustment'),
    ]).to.deep.equal(['ada', '1', '3']);
    const again = await genway('months', 'close', past.name, '--author', 'bob');
    expect(field(again, 'author')).to.equal('ada');
    const before = await rowsOf(past.name);
    const refused = await adjustmentIn(accountId, past.moment).catch((error: Error) => error.message);
    expect(refused).to.include('a transfer is dated in a month that is closed');
    await genway('accounts', 'adjust', accountId, '-1', '--reason', 'a correction', '--author', 'ada');
    expect(await rowsOf(past.name)).to.deep.equal(before);
    expect((await rowsOf(thisMonth.name)).some(({ reason }) => reason === 'a correction')).to.equal(true);
    expect(await genway('months', 'list')).to.include(past.name);
  });

  it('a row of a closed month that was changed past the rules is reported by reconciliation', async () => {
    const copy = await app.database.transaction();
    try {
      await copy.raw('SET LOCAL session_replication_role = replica');
      await copy('transfers')
        .where('created_at', '<', next.moment)
        .where('kind', 'adjustment')
        .update({ reference: 'x' });
      const check = CHECKS.filter(({ name }) => name === 'closed_months');
      const { findings } = await checkBooks(copy, check);
      expect(findings.map(({ subject }) => subject)).to.deep.equal([past.name]);
    } finally {
      await copy.rollback();
    }
  });

  it('refuses to close a month while the latest reconciliation has findings, and names it', async () => {
    const close = () =>
      call<ErrorBody>(`${app.baseUrl}/admin/v1/months/${next.name}/close`, {
        key: app.adminToken,
        method: 'POST',
      });
    const id = await writeReport(app.database, 2);
    const { status, body } = await close();
    expect([status, body.error.message]).to.deep.equal([
      400,
      `The ledgers do not agree: ${id} has 2 findings that nobody has acknowledged. Do what the report says and run a reconciliation, or acknowledge what cannot be remedied; close the month then.`,
    ]);
    const listed = await genway('months', 'list');
    expect(listed).to.include(past.name).and.not.include(next.name);
    await writeReport(app.database);
  });

  it('refuses to close a month that is not over, a month out of order, and an invalid month', async () => {
    // contract 4.11:25
    const close = (month: string) =>
      call<ErrorBody>(`${app.baseUrl}/admin/v1/months/${month}/close`, { key: app.adminToken, method: 'POST' });
    const running = await close(monthBefore(-1).name);
    expect([running.status, running.body.error.message]).to.deep.equal([
      400,
      `Months are closed in order. Close ${next.name} next.`,
    ]);
    for (const month of ['2026-13', '26-1', 'x']) expect((await close(month)).status, month).to.equal(400);
  });

  it('gives an account the statement of a month, whose lines add up', async () => {
    // contract 4.11:23
    const { accountId } = await app.createAccount();
    await adjustmentIn(accountId, next.moment, 5);
    const statement = await genway('accounts', 'statement', accountId, '--month', next.name);
    expect(statement)
      .to.match(/adjustment +1 +5 +0 +5/)
      .and.match(/closing +- +5 +0 +5/);
    const both = await call<ErrorBody>(`${app.baseUrl}/admin/v1/accounts/${accountId}/statements`, {
      key: app.adminToken,
    });
    expect(both.body.error.message).to.equal('Give either "date" or "month"');
  });
});
