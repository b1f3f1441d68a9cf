import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from 'chai';
import { releaseDeadAllowances } from '../../../db/text-money/dead-processes.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { createFundedKey, reloadAccount } from '../../support/factories.ts';
import { openTextLedger } from '../../support/text-money.ts';

const PROCESSES = 16;
/** So many are killed while they hold money. */
const KILLED = 5;
const PICO_PER_USD = 10n ** 12n;
/** Enough for less than half of what all of them ask for. */
const BALANCE = 250_000n;

describe('many processes on one account', () => {
  let testDatabase: TestDatabase;

  before(async () => {
    testDatabase = await createTestDatabase();
  });

  after(() => testDatabase.drop());

  it('never overdraw it, and what those that die held comes back', async () => {
    const { url, database } = testDatabase;
    const key = await createFundedKey(database, Number(BALANCE) / Number(PICO_PER_USD));
    await Promise.all(
      Array.from({ length: PROCESSES }, (_, index) => runProcess([url, key.accountId, key.id], index < KILLED)),
    );

    const ledger = openTextLedger(url);
    await ledger.send({});
    await database('processes')
      .whereNot({ id: ledger.processId })
      .update({ heartbeat_at: new Date(0) });
    await releaseDeadAllowances(database, ledger.processId, 0);
    await ledger.close();
    const account = await reloadAccount(database, { id: key.accountId });
    const [charged] = await database('text_requests').sum({ charge: 'charge', absorbed: 'absorbed' }).count('*');
    expect(account.fundedReserved).to.equal(0n);
    expect(account.fundedAvailable + BigInt(charged?.['charge']) - BigInt(charged?.['absorbed'])).to.equal(BALANCE);
    expect(await database('text_allowances')).to.have.length(0);
  }).timeout(180_000);
});

/** Resolves when it has ended, on its own or because it was killed once it held something. */
async function runProcess(args: readonly string[], isKilled: boolean): Promise<void> {
  const script = join(import.meta.dirname, 'ledger-process.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  child.stdout.once('data', () => {
    if (isKilled) child.kill('SIGKILL');
  });
  await ended;
}
