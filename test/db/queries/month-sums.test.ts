import { expect } from 'chai';
import { MONTH_LINE, type MonthLine, streamMonthLines } from '../../../services/money/month-rows.ts';
import { type Database, onlyRow } from '../../../db/database.ts';
import { type Earnings, type MonthSums, sumMonth } from '../../../db/queries/month-sums.ts';
import { settleSubmission } from '../../../db/queries/submissions.ts';
import { recordTextCosts } from '../../../db/queries/text-costs.ts';
import { formatUsd, parseUsd, type PicoUsd } from '../../../domain/money.ts';
import { parseMonth } from '../../../domain/month.ts';
import { createTestDatabase } from '../../support/database.ts';
import {
  createFundedKey,
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  openTaskSubmission,
  type TestKey,
} from '../../support/factories.ts';
import { thisMonth } from '../../support/months.ts';
import { newHold, openTextLedger, settlementOf, usedInVain } from '../../support/text-money.ts';
import { completeRates } from '../../../domain/pricing.ts';

function addUp(parts: readonly Earnings[], amountOf: (part: Earnings) => PicoUsd | null): string {
  return formatUsd(parts.reduce((total, part) => total + (amountOf(part) ?? 0n), 0n));
}

describe('the sums of a month', () => {
  let database: Database;
  let testDatabase: Awaited<ReturnType<typeof createTestDatabase>>;
  let keys: readonly TestKey[];
  let sums: MonthSums;

  before(async () => {
    testDatabase = await createTestDatabase();
    ({ database } = testDatabase);
    keys = [await createFundedKey(database), await createFundedKey(database), await createFundedKey(database)];
    const [one, two, three] = keys;
    if (!one || !two || !three) throw new Error('there are three keys');
    await render(one, { priceUsd: '1.000000000001', costUsd: '0.7' });
    await render(one, { priceUsd: '2', costUsd: null });
    await render(two, { priceUsd: '3.000000000003', costUsd: '0.000000000009' });
    await render(two, { priceUsd: '9', costUsd: '0.25', fails: true });
    const ledger = openTextLedger(testDatabase.url);
    const hold = newHold({ id: three.id, accountId: three.accountId });
    await ledger.hold([hold]);
    await ledger.settle([settlementOf(hold)]);
    // 10 tokens of input and 20 of output cost 120 pico-USD; the charge takes two transfers.
    const rates = completeRates({ input: 2n, cachedInput: 1n, cacheWrite: 3n, cacheWrite1h: 3n, output: 5n });
    const route = { model: 'textc-M3', upstream: 'simulator', upstreamModel: 'textc-M3' };
    await recordTextCosts(database, [{ ...route, version: 'costed', pricing: { rates, tiers: [], peaks: [] } }]);
    const costed = newHold({ id: three.id, accountId: three.accountId }, { catalogueVersion: 'costed' });
    await ledger.hold([costed]);
    // An attempt before it failed and cost 80 pico-USD.
    const failedAttempts = [usedInVain({ outputTokens: 12 })];
    await ledger.settle([settlementOf(costed, { charge: 1_500n, failedAttempts })]);
    await ledger.close();
    sums = await sumMonth(database, thisMonth(), 2);
  });
  after(() => testDatabase.drop());

  async function render(
    key: TestKey,
    { priceUsd, costUsd, fails = false }: { priceUsd: string; costUsd: string | null; fails?: boolean },
  ): Promise<void> {
    const task = await createTaskRow(database, key, { price: parseUsd(priceUsd) });
    const submission = await openTaskSubmission(database, task);
    await settleSubmission(database, submission, { outcome: 'accepted', evidence: 'the answer', jobId: task.id });
    if (costUsd !== null) {
      await database('submissions')
        .where({ task_id: task.id })
        .update({ cost: parseUsd(costUsd).toString() });
    }
    await (fails ? finishAsFailed(database, task) : finishAsSucceeded(database, task));
  }

  it('have the same total by model, vendor, customer and day, to the last digit', () => {
    const { total, models, vendors, customers, otherCustomers } = sums;
    const parts = [models, vendors, otherCustomers ? [...customers, otherCustomers] : customers];
    for (const amountOf of [
      ({ revenue }: Earnings) => revenue,
      ({ cost }: Earnings) => cost,
      ({ uncosted }: Earnings) => uncosted,
      ({ margin }: Earnings) => margin,
    ]) {
      expect(parts.map((part) => addUp(part, amountOf))).to.deep.equal(
        parts.map(() => formatUsd(amountOf(total) ?? 0n)),
      );
    }
    const days = [...sums.revenueByDay.values()].reduce((all, revenue) => all + revenue, 0n);
    expect(days).to.equal(total.revenue);
  });

  it('count as margin the revenue whose cost is known, less that cost and the cost of failed tasks and attempts', () => {
    const { revenue, cost, uncosted, margin, charges, refunds } = sums.total;
    expect([charges, refunds]).to.deep.equal([5, 1]);
    expect(formatUsd(cost ?? 0n)).to.equal('0.950000000209');
    expect(margin).to.equal(revenue - uncosted - (cost ?? 0n));
    expect(formatUsd(margin ?? 0n)).to.equal('3.050000001295');
  });

  it('are the charges of the ledger in the month', async () => {
    const [charged] = await database('transfers')
      .whereIn('kind', ['settlement', 'charge', 'excess'])
      .sum<{ sum: string }[]>('amount');
    expect(sums.total.revenue.toString()).to.equal(charged?.sum);
  });

  it('list a limited number of customers separately, and add up the others', () => {
    expect(sums.customers.map(({ accountId }) => accountId)).to.deep.equal([keys[1]?.accountId, keys[0]?.accountId]);
    expect(sums.otherCustomers?.charges).to.equal(2);
  });

  it('agree with the sums of their export', async () => {
    const rows: Readonly<Record<string, unknown>>[] = [];
    for await (const line of streamMonthLines(database, thisMonth())) rows.push(MONTH_LINE.present(line));
    const add = (name: string): PicoUsd =>
      rows.reduce<PicoUsd>((sum, { [name]: usd }) => sum + (typeof usd === 'string' ? parseUsd(usd) : 0n), 0n);
    expect(add('cost_usd')).to.equal(sums.total.cost);
    expect(add('margin_usd')).to.equal(sums.total.margin);
  });

  it('have failed attempts of text in lines of their own, without charges', async () => {
    const lines: MonthLine[] = [];
    for await (const line of streamMonthLines(database, thisMonth())) lines.push(line);
    const [attempt, ...others] = lines.map(MONTH_LINE.present).filter(({ kind }) => kind === 'failed_attempt');
    expect(others).to.deep.equal([]);
    expect(attempt).to.include({ cost_usd: '0.00000000008', margin_usd: '-0.00000000008', revenue_usd: null });
    expect(attempt).to.include({ amount_usd: null, upstream: 'simulator', input_tokens: '10', output_tokens: '12' });
    const [csv] = lines
      .slice(-1)
      .map((line) => Object.fromEntries(MONTH_LINE.columns.map(([name, value]) => [name, value(line)])));
    expect(csv).to.deep.include({ kind: 'failed_attempt', upstream_model: 'textc-M3' });
  });

  it('are zero without transfers', async () => {
    const empty = parseMonth('2020-01');
    const { total, models, otherCustomers } = await sumMonth(database, empty ?? thisMonth(), 2);
    const { revenue, cost, margin } = total;
    expect([revenue, cost, margin, models, otherCustomers]).to.deep.equal([0n, 0n, 0n, [], null]);
  });

  it('list customers with losses, however small their revenue, and show no unknown cost as zero', async () => {
    const key = await createFundedKey(database);
    await render(key, { priceUsd: '0.000000000002', costUsd: '0.5' });
    const unknown = await createFundedKey(database);
    await render(unknown, { priceUsd: '50', costUsd: null });
    const { customers, otherCustomers } = await sumMonth(database, thisMonth(), 1);
    expect(customers.map(({ accountId, cost }) => [accountId, cost])).to.deep.equal([
      [unknown.accountId, null],
      [key.accountId, parseUsd('0.5')],
    ]);
    expect(otherCustomers?.charges).to.equal(5);
    const empty = await sumMonth(database, { ...thisMonth(), from: new Date(0), to: new Date(1) }, 1);
    expect(empty.total).to.include({ revenue: 0n, cost: 0n, charges: 0 });
  });

  it('agree with the balances on what all customers paid, were charged and have', async () => {
    const { customersMoney, total } = await sumMonth(database, thisMonth(), 1);
    const { rows } = await database.raw<{ rows: { available: string; reserved: string }[] }>(
      `SELECT sum(funded_available + signup_available) AS available, sum(funded_reserved + signup_reserved) AS reserved
       FROM accounts`,
    );
    const { available, reserved } = onlyRow(rows);
    expect(customersMoney.closing).to.deep.equal({ available: BigInt(available), reserved: BigInt(reserved) });
    const changeOf = (...kinds: string[]): PicoUsd =>
      customersMoney.activity
        .filter(({ kind }) => kinds.includes(kind))
        .reduce((sum, change) => sum + change.available + change.reserved, 0n);
    expect(changeOf('settlement', 'charge', 'excess')).to.equal(-total.revenue);
    expect(changeOf('topup')).to.equal(parseUsd(500));
  });

  it('know the model and the cost of a request whose process was already in the next month by its clock', async () => {
    const before = await sumMonth(database, thisMonth(), 1);
    const key = await createFundedKey(database);
    const createdAt = new Date(thisMonth().to.getTime() + 10 * 60_000);
    const hold = newHold(key, { createdAt, catalogueVersion: 'costed' });
    const ledger = openTextLedger(testDatabase.url);
    await ledger.hold([hold]);
    await ledger.settle([settlementOf(hold)]);
    await ledger.close();
    const { total, models } = await sumMonth(database, thisMonth(), 1);
    expect(total.charges).to.equal(before.total.charges + 1);
    expect(total.uncosted).to.equal(before.total.uncosted);
    expect(models.map(({ model }) => model)).not.to.include('');
  });
});
