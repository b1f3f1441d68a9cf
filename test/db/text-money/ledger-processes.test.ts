import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from 'chai';
import { releaseDeadAllowances } from '../../../db/text-money/dead-processes.ts';
import { listAccountBudgets, setAccountBudget } from '../../../db/queries/account-budgets.ts';
import { listEndUserBudgets, setEndUserBudget } from '../../../db/queries/end-user-budgets.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { createFundedKey, reloadAccount } from '../../support/factories.ts';
import { runsAll } from '../../support/properties.ts';
import { openTextLedger } from '../../support/text-money.ts';

const PROCESSES = runsAll ? 16 : 4;
/** The number of processes that are killed while they hold money. */
const KILLED = Math.floor(PROCESSES / 3);
const PICO_PER_USD = 10n ** 12n;
/** Enough for less than half of the requests of all processes. */
const BALANCE = 15_000n * BigInt(PROCESSES);
/** Enough for less than half of the requests of half of the processes. */
const BUDGET = 9_000n * BigInt(PROCESSES);

describe('many processes on one account', () => {
  let testDatabase: TestDatabase;

  before(async () => {
    testDatabase = await createTestDatabase();
  });

  after(() => testDatabase.drop());

  /** Releases the holds of processes that were silent for a while, as another process does. */
  async function releaseAll(): Promise<void> {
    const { url, database } = testDatabase;
    const ledger = openTextLedger(url);
    await ledger.send({});
    await database('processes')
      .whereNot({ id: ledger.processId })
      .update({ heartbeat_at: new Date(0) });
    await releaseDeadAllowances(database, ledger.processId, 0);
    await ledger.close();
  }

  it('never spend more than the budgets of an end user and of the account, and the holds of processes that die return', async () => {
    // contract 5:21 5:29
    const { url, database } = testDatabase;
    const { id: keyId, accountId } = await createFundedKey(database, 1);
    const wanted = { accountId, endUser: 'alice', usageLimit: BUDGET, limitPeriod: 'month' } as const;
    const budget = await setEndUserBudget(database, wanted);
    const { usageLimit, limitPeriod } = wanted;
    const whole = { accountId, models: null, isCeiling: false, usageLimit: 2n * usageLimit, limitPeriod };
    const ofAccount = await setAccountBudget(database, whole);
    const account = [url, accountId, keyId, ofAccount?.id ?? ''];
    const alice = [...account, budget?.id ?? ''];
    await Promise.all(
      Array.from({ length: PROCESSES }, (_, index) => runProcess(index % 2 === 0 ? alice : account, index < KILLED)),
    );
    await releaseAll();
    // Spends what those that died held.
    await runProcess(alice, false);
    await releaseAll();
    const requests = () => database('text_requests').where({ account_id: accountId });
    const [charged] = await requests().where({ end_user: 'alice' }).sum({ charge: 'charge', absorbed: 'absorbed' });
    const paid = BigInt(charged?.['charge'] ?? 0) - BigInt(charged?.['absorbed'] ?? 0);
    const [kept] = await listEndUserBudgets(database, { accountId, limit: 1 });
    expect(kept?.usedOfLimit).to.equal(paid);
    const [all] = await requests().sum({ charge: 'charge', absorbed: 'absorbed' });
    const [keptOfAccount] = await listAccountBudgets(database, { accountId, limit: 1 });
    expect(keptOfAccount?.usedOfLimit).to.equal(BigInt(all?.['charge']) - BigInt(all?.['absorbed']));
    expect((keptOfAccount?.usedOfLimit ?? 0n) <= 2n * BUDGET).to.equal(true);
    expect(paid <= BUDGET, `${paid} of ${BUDGET}`).to.equal(true);
    expect((keptOfAccount?.usedOfLimit ?? 0n) > BUDGET / 2n, `${keptOfAccount?.usedOfLimit} of both`).to.equal(true);
    expect(Number((await requests().whereNull('end_user').count())[0]?.['count'])).to.be.above(0);
  });

  it('never overdraw it, and the holds of processes that die return to it', async () => {
    const { url, database } = testDatabase;
    const key = await createFundedKey(database, Number(BALANCE) / Number(PICO_PER_USD));
    await Promise.all(
      Array.from({ length: PROCESSES }, (_, index) => runProcess([url, key.accountId, key.id], index < KILLED)),
    );

    await releaseAll();
    const account = await reloadAccount(database, { id: key.accountId });
    const [charged] = await database('text_requests')
      .where({ account_id: key.accountId })
      .sum({ charge: 'charge', absorbed: 'absorbed' })
      .count('*');
    expect(account.fundedReserved).to.equal(0n);
    expect(account.fundedAvailable + BigInt(charged?.['charge']) - BigInt(charged?.['absorbed'])).to.equal(BALANCE);
    expect(await database('text_allowances')).to.have.length(0);
  });
});

/** Resolves when the process has ended, on its own or because it was killed after its first hold. */
async function runProcess(args: readonly string[], isKilled: boolean): Promise<void> {
  const script = join(import.meta.dirname, 'ledger-process.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  child.stdout.once('data', () => {
    if (isKilled) child.kill('SIGKILL');
  });
  await ended;
}
