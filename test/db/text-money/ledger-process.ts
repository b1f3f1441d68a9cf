/**
 * Holds and settles as fast as it can, until no hold is granted. ledger-processes.test.ts passes the database, the
 * account, the key, and optionally the budgets of the account and of an end user. Prints "held" after its first hold.
 */
import { argv, exit, stdout } from 'node:process';
import type { AccountBudget } from '../../../domain/budget.ts';
import { type HoldSettings, newHold, openTextLedger, settlementOf } from '../../support/text-money.ts';

const [url = '', accountId = '', keyId = '', accountBudgetId, endUserBudgetId] = argv.slice(2);
const AT_ONCE = 4;
const REQUESTS = 60;
const END_USER = 'alice';

const ledger = openTextLedger(url, { poolSize: 1 });
const budgetOf = (id: string | undefined, endUser: string | null): readonly AccountBudget[] =>
  id === undefined ? [] : [{ id, endUser, models: null, usageLimit: 0n, limitPeriod: 'day' }];
const named: HoldSettings = {
  endUser: endUserBudgetId === undefined ? null : END_USER,
  budgets: [...budgetOf(accountBudgetId, null), ...budgetOf(endUserBudgetId, END_USER)],
};

for (let request = 0; request < REQUESTS; request += AT_ONCE) {
  const holds = Array.from({ length: AT_ONCE }, () => newHold({ id: keyId, accountId }, named));
  const decisions = await ledger.hold(holds);
  const held = holds.filter((_, index) => decisions[index]?.refusal === null);
  stdout.write('held\n');
  // Less than the hold, as much, more, or nothing.
  const charges = [600n, 1_000n, 1_300n, 0n];
  await ledger.settle(
    held.map((hold, index) => {
      const charge = charges[index] ?? 0n;
      return settlementOf(hold, { charge });
    }),
  );
}
exit();
