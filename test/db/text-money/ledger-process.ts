/**
 * A process of its own that holds and settles as fast as it can, until nothing fits any more. Run by ledger-processes.test.ts
 * with the database, the account and the key; says "held" once it holds something.
 */
import { argv, exit, stdout } from 'node:process';
import { newHold, openTextLedger, settlementOf } from '../../support/text-money.ts';

const [url = '', accountId = '', keyId = ''] = argv.slice(2);
const AT_ONCE = 4;
const REQUESTS = 60;

const ledger = openTextLedger(url, { poolSize: 1 });

for (let request = 0; request < REQUESTS; request += AT_ONCE) {
  const holds = Array.from({ length: AT_ONCE }, () => newHold({ id: keyId, accountId }));
  const decisions = await ledger.hold(holds);
  const held = holds.filter((_, index) => decisions[index]?.refusal === null);
  stdout.write('held\n');
  // Less than was held, as much, more, or nothing.
  const charges = [600n, 1_000n, 1_300n, 0n];
  await ledger.settle(
    held.map((hold, index) => {
      const charge = charges[index] ?? 0n;
      return settlementOf(hold, { charge });
    }),
  );
}
exit();
