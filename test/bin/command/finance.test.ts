/** The commands of finance, run in this process against a real application. */
import { expect } from 'chai';
import { CATALOGUE } from '../../support/catalogue.ts';
import { recordRateCards } from '../../../db/queries/rate-cards.ts';
import { finishReconciliation, insertReconciliation } from '../../../db/queries/reconciliations.ts';
import { reconcile } from '../../../db/reconciliation/reconcile.ts';
import { useTestApp } from '../../support/app.ts';
import { createTaskRow, finishAsFailed, finishAsSucceeded, type TestCaller } from '../../support/factories.ts';
import { connectGenway, type Genway } from '../../support/genway.ts';
import { NOTHING_OUTSIDE } from '../../support/reconciliation.ts';
import { CATALOGUE_VERSION, newHold, openTextLedger, settlementOf } from '../../support/text-money.ts';

describe('the commands of finance', () => {
  let genway: Genway;
  let caller: TestCaller;
  let failedTask: string;
  const today = new Date().toISOString().slice(0, 10);

  const app = useTestApp({
    startReconciliation: async (id) => {
      await insertReconciliation(app.database, { id, requestedBy: 'operator' });
      await finishReconciliation(app.database, id, await reconcile(app.database, NOTHING_OUTSIDE));
    },
  });
  before(async () => {
    genway = await connectGenway(app);
    caller = await app.createAccount({ fundedUsd: 10, signupUsd: 5 });
    const key = { id: caller.keyId, accountId: caller.accountId };
    await finishAsSucceeded(app.database, await createTaskRow(app.database, key));
    failedTask = (await createTaskRow(app.database, key)).id;
    await finishAsFailed(app.database, { id: failedTask }, 'content_policy_violation');
  });

  it('show the balance of an account', async () => {
    const shown = await genway('accounts', 'show', caller.accountId);
    expect(shown)
      .to.match(/^balances\.available_usd +14$/m)
      .and.match(/^totals\.charged_usd +1$/m);
  });

  it('export a month as JSON lines, or as CSV with decimal points or commas', async () => {
    const month = today.slice(0, 7);
    const [line = ''] = (await genway('months', 'export', month)).split('\n');
    expect(JSON.parse(line)).to.include.keys('kind', 'amount_usd');
    expect(await genway('months', 'export', month, '--csv')).to.include(',settlement,');
    expect(await genway('months', 'export', month, '--csv-comma')).to.include(';settlement;');
  });

  it('adjust a balance by a transfer with a reason and an author', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 3 });
    await genway('accounts', 'adjust', accountId, '-0.000000001', '--reason', 'credited twice', '--author', 'Ada');
    const ledger = await genway('accounts', 'ledger', accountId, '--csv');
    expect(ledger).to.match(/,adjustment,available,adjustments,-0\.000000001,-0\.000000001,.*,Ada,credited twice\r\n/);
  });

  it('give promo credit once per reference, and show its use', async () => {
    // contract 4.11:14
    const { accountId } = await app.createAccount({ fundedUsd: 3 });
    const why = ['--reference', 'launch', '--reason', 'we launch'];
    const give = (usd: string, expires: string) =>
      genway('accounts', 'grant-promo', accountId, usd, '--expires-at', expires, ...why);
    const nextYear = new Date(Date.now() + 365 * 86_400_000).toISOString();
    expect(await give('2.5', nextYear)).to.match(/^available_usd +2\.5$/m);
    expect(await give('2.5', nextYear)).to.match(/^available_usd +2\.5$/m);
    expect(await give('3', nextYear)).to.include('This reference was granted before: 2.5 USD until');
    expect(await give('2.5', '2020-01-01T00:00:00Z')).to.include('expires_at must be later than now');
    expect(await genway('accounts', 'promo', accountId)).to.match(/^prm_\w+ +2\.5 +2\.5 +0 +0 +0 +\S+$/m);
    expect(await genway('accounts', 'show', accountId)).to.match(/^totals\.promo_granted_usd +2\.5$/m);
  });

  it('adjust nothing without a reason', async () => {
    expect(await genway('accounts', 'adjust', caller.accountId, '1', '--author', 'Ada')).to.match(
      /^CommanderError: error: required option '--reason </,
    );
  });

  it('print a page of the ledger as a table', async () => {
    const lines = (await genway('accounts', 'ledger', caller.accountId, '--limit', '2')).trimEnd().split('\n');
    expect(lines[0]).to.match(/^created_at +kind +amount_usd +task_id/);
    expect(lines[1]).to.include('refund').and.to.include(failedTask);
    expect(lines[3]).to.match(/^more: --cursor \S+$/);
  });

  it('print the whole ledger for a spreadsheet, and for a program', async () => {
    const csv = (await genway('accounts', 'ledger', caller.accountId, '--csv')).trimEnd().split('\r\n');
    expect(csv[0]).to.match(/^created_at,id,kind,/);
    const ndjson = (await genway('accounts', 'ledger', caller.accountId, '--ndjson')).trimEnd().split('\n');
    expect(ndjson).to.have.length(csv.length - 1);
    expect(JSON.parse(ndjson[0] ?? '')).to.have.property('object', 'transfer');
  });

  it('print the statement of today, or of a day, from opening to closing', async () => {
    const statement = await genway('accounts', 'statement', caller.accountId);
    expect(statement)
      .to.match(/^opening +- +0 +0 +0$/m)
      .and.match(/^closing +- +14 +0 +14$/m);
    expect(statement).to.match(/^settlement +1 +0 +-1 +-1$/m);
    const lines = (await genway('accounts', 'statement', caller.accountId, '--date', today, '--csv')).split('\r\n');
    expect(lines).to.include('settlement,1,0,-1,-1');
    expect(await genway('accounts', 'statement', caller.accountId, '--date', '2020-01-01')).to.match(
      /^closing +- +0 +0 +0$/m,
    );
  });

  it('print usage by day, and text requests one by one, with small amounts in full', async () => {
    const { accountId, keyId } = await app.createAccount({ fundedUsd: 1 });
    const hold = newHold({ id: keyId, accountId }, { amount: 10n ** 9n });
    const model = CATALOGUE.textModels.get(hold.model);
    if (!model) throw new Error(`there is no model ${hold.model}`);
    const { id, family, pricing } = model;
    await recordRateCards(app.database, [{ version: CATALOGUE_VERSION, model: id, kind: 'text', family, pricing }]);
    const ledger = openTextLedger(app.databaseUrl, { poolSize: 1 });
    await ledger.hold([hold]);
    // 10 tokens at 0.21 USD a million, and 20 at 0.84.
    await ledger.settle([settlementOf(hold, { charge: 18_900_000n })]);
    await ledger.close();
    expect(await genway('accounts', 'usage', accountId)).to.match(
      new RegExp(`^${today} +text +textc-M3 +${keyId} +1 +0 +10 +20 +0 +0\\.0000189$`, 'm'),
    );
    const requests = await genway('accounts', 'requests', accountId, '--model', 'textc-M3', '--api-key-id', keyId);
    expect(requests).to.match(new RegExp(`^${hold.id} +textc-M3 +chat-completions +simulator +succeeded`, 'm'));
    expect(await genway('accounts', 'requests', accountId, '--model', 'another', '--csv')).to.match(
      /^created_at.*\r\n$/,
    );
  });

  it('print refunds with their cause', async () => {
    const refunds = await genway('refunds', '--account-id', caller.accountId);
    expect(refunds).to.match(new RegExp(`1 +vidone-3.0 +content_policy_violation +${failedTask}`));
    expect(await genway('refunds', '--account-id', caller.accountId, '--csv')).to.include(`/workflows/${failedTask}`);
  });

  it('print answers unchanged with --json', async () => {
    for (const words of [
      ['accounts', 'statement', caller.accountId],
      ['accounts', 'usage', caller.accountId],
      ['refunds'],
      ['reconcile'],
    ]) {
      expect(JSON.parse(await genway('--json', ...words)), words.join(' ')).to.have.property('data');
    }
  });

  it('reconcile, and report that everything agrees', async () => {
    const report = await genway('reconcile');
    expect(report).to.match(/^account_balances +0 +\d+ {2}Does every balance equal the sum of its transfers/m);
    expect(report).to.match(/\nrec_\w+: clean\n$/);
  });

  it('reconcile, name each discrepancy with its remedy, and fail', async () => {
    const { keyId } = await app.createAccount();
    await app.database.transaction(async (damage) => {
      await damage.raw('SET LOCAL session_replication_role = replica');
      await damage('api_keys').where('id', keyId).update({ used: 5 });
    });
    const report = await genway('reconcile');
    expect(report).to.include(
      `\n1. key_usage: ${keyId}\n  used is 5, its transfers add up to 0\n  To do: The transfers are right.`,
    );
    expect(report).to.match(
      /CommandError: The ledger has 1 finding that is not acknowledged\. Remedy or acknowledge each finding\.$/,
    );
    const id = /^(rec_\w+): findings$/m.exec(report)?.[1] ?? '';
    expect(await genway('reconciliations')).to.match(new RegExp(`^${id} +findings +1 +operator`, 'm'));
    expect(await genway('reconciliations', 'show', id, '--csv')).to.include(`key_usage,${keyId},`);
    await app.database.transaction(async (repair) => {
      await repair.raw('SET LOCAL session_replication_role = replica');
      await repair('api_keys').where('id', keyId).update({ used: 0 });
    });
  });

  it('print a refusal in the words of the service', async () => {
    expect(await genway('accounts', 'ledger', 'acc_1', '--csv')).to.equal(
      'CommandError: There is no such account. Check the id. (not_found)',
    );
  });
});
