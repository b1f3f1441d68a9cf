import { expect } from 'chai';
import { finishReconciliation, insertReconciliation } from '../../db/queries/reconciliations.ts';
import { ServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import { useTestConsole, useVisitor } from '../support/console.ts';

const RECONCILIATIONS = '/console/staff/reconciliations';

describe('reconciliations in the console of the staff', () => {
  const started: string[] = [];
  let isTemporalAway = false;
  const app = useTestConsole({
    startReconciliation: async (id) => {
      if (isTemporalAway) throw new ServiceError('processing_unavailable', 'Temporal does not answer. Try again.');
      started.push(id);
    },
  });
  const finance = useVisitor(app, () => ({ email: 'fin@example.com', staff_role: 'finance' }));

  const finish = async (id: string, findings: number, subject = 'x'): Promise<void> => {
    const found = { check: 'account_balances', subject, detail: '<b>is 1</b>', remedy: 'Set the balance to the sum.' };
    await finishReconciliation(app.database, id, {
      checks: [{ check: 'account_balances', question: 'Is every balance right?', findings, durationMs: 1_234 }],
      findings: findings === 0 ? [] : [found],
    });
  };

  it('show an empty list before the first one', async () => {
    expect((await finance.get(RECONCILIATIONS)).text).to.include('No reports yet');
  });

  it('start once however often the button is pressed while one runs, and record the author', async () => {
    const first = await finance.send(RECONCILIATIONS);
    const again = await finance.send(RECONCILIATIONS);
    expect(started).to.have.length(1);
    const path = `${RECONCILIATIONS}/${started[0]}`;
    expect([first, again].map(({ status, headers }) => [status, headers['location']])).to.deep.equal([
      [303, path],
      [303, path],
    ]);
    const noted = await app.database('admin_actions').where({ author: 'fin@example.com' }).pluck('action');
    expect(noted).to.include('console /staff/reconciliations');
    expect((await finance.get(path)).text)
      .to.include(`hx-get="${path}/report"`)
      .and.include('Running');
  });

  it('show the findings and their remedies when complete', async () => {
    const { accountId } = await app.createAccount();
    const [id = ''] = started;
    await finish(id, 1, accountId);
    const { text } = await finance.get(`${RECONCILIATIONS}/${id}/report`);
    expect(text).to.include('1 finding').and.include('Set the balance to the sum.').and.include('1,234 ms');
    expect(text)
      .to.include(`/console/staff/accounts/${accountId}`)
      .and.include('&lt;b&gt;is 1')
      .and.not.include('hx-get');
    const { text: csv } = await finance.get(`${RECONCILIATIONS}/${id}/export?format=csv`);
    expect(csv.split('\r\n')[1]).to.equal(
      `account_balances,${accountId},<b>is 1</b>,Set the balance to the sum.,,,,,,`,
    );
    expect((await finance.get(RECONCILIATIONS)).text)
      .to.include(id)
      .and.include('1 finding');
  });

  it('show questions, findings and remedies in the language of the reader', async () => {
    const id = newId('reconciliation');
    await insertReconciliation(app.database, { id, requestedBy: 'schedule' });
    const detail = 'funded_available is 1, its transfers add up to 2';
    await finishReconciliation(app.database, id, {
      checks: [{ check: 'account_balances', question: 'Is every balance right?', findings: 1, durationMs: 1 }],
      findings: [{ check: 'account_balances', subject: 'x', detail, remedy: 'Set the balance to the sum.' }],
    });
    await finance.setLanguage('zh');
    const { text } = await finance.get(`${RECONCILIATIONS}/${id}`);
    await finance.setLanguage('en');
    expect(text)
      .to.include('每个余额是否等于其转账之和')
      .and.include('funded_available 为 1，其转账合计 2')
      .and.include('转账是正确的')
      .and.not.include('Set the balance');
  });

  it('report that everything agrees when it does', async () => {
    const id = newId('reconciliation');
    await insertReconciliation(app.database, { id, requestedBy: 'schedule' });
    await finish(id, 0);
    const { text } = await finance.get(`${RECONCILIATIONS}/${id}`);
    expect(text).to.include('No findings').and.not.include('Remedies');
  });

  it('do not start while Temporal is unavailable, and leave no row', async () => {
    isTemporalAway = true;
    const before = await app.database('reconciliations').count();
    expect((await finance.send(RECONCILIATIONS)).status).to.equal(503);
    expect(await app.database('reconciliations').count()).to.deep.equal(before);
    isTemporalAway = false;
  });
});
