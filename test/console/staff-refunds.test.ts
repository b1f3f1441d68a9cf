import { expect } from 'chai';
import { parseUsd } from '../../domain/money.ts';
import { useAccount, useTestConsole, useVisitor } from '../support/console.ts';
import { createTaskRow, finishAsFailed, keyOf, type TestCaller } from '../support/factories.ts';

const REFUNDS = '/console/staff/refunds';

describe('refunds in the console of the staff', () => {
  const app = useTestConsole();
  const one = useAccount(app, { fundedUsd: 50 });
  const other = useAccount(app, { fundedUsd: 50 });
  const reader = useVisitor(app, () => ({ email: 'read@example.com', staff_role: 'readonly' }));
  let violation: string;

  before(async () => {
    violation = await refund(one, 'content_policy_violation', '1.000000000001');
    await refund(one, 'processing_failed', '2');
    await refund(other, 'processing_failed', '3.25');
  });

  async function refund(caller: TestCaller, code: Parameters<typeof finishAsFailed>[2], usd: string): Promise<string> {
    const task = await createTaskRow(app.database, keyOf(caller), { price: parseUsd(usd) });
    await finishAsFailed(app.database, task, code);
    return task.id;
  }

  const show = async (query: string) => (await reader.get(`${REFUNDS}?${query}`)).text;

  it('are listed with their reasons, and each leads to its task', async () => {
    const text = await show('');
    expect(text).to.include(`/console/staff/tasks/${violation}`).and.include('Content policy');
    expect(text).to.include(`/console/staff/accounts/${other.accountId}`).and.include('It failed. Try again.');
  });

  it('are added up by reason, to the last digit', async () => {
    const text = await show('');
    expect(text).to.include('$6.250000000001').and.include('$5.25').and.include('$1.000000000001');
  });

  it('are filtered by reason, account and days', async () => {
    expect(await show('cause=content_policy_violation'))
      .to.include(violation)
      .and.not.include(other.accountId);
    const ofOther = await show(`account=${other.accountId}`);
    expect(ofOther).to.include('$3.25').and.not.include(violation);
    await app.database('accounts').where({ id: other.accountId }).update({ name: 'Lantern kites' });
    expect(await show('account=ern+KIT'))
      .to.include('$3.25')
      .and.not.include(violation);
    expect(await show('account=nobody')).to.include('No refunds match');
    expect(await show('from=2020-01-01&to=2020-01-31')).to.include('No refunds match');
    const today = new Date().toISOString().slice(0, 10);
    expect(await show(`from=${today}&to=${today}`)).to.include(violation);
  });

  it('are exported by the same filters', async () => {
    const { text, headers } = await reader.get(`${REFUNDS}/export?format=csv&cause=processing_failed`);
    expect(headers['content-disposition']).to.include('refunds.csv');
    expect(text.trim().split('\r\n')).to.have.length(3);
    const lines = await reader.get(`${REFUNDS}/export?format=jsonl&account=${one.accountId}`);
    expect(lines.text.trim().split('\n')).to.have.length(2);
  });
});
