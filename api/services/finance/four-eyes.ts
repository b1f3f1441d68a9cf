/** Above an amount, money is moved by hand by two people: docs/decisions/2026-11-22-two-people-correct-large-amounts.md. */
import type { Database } from '../../../db/database.ts';
import { withPartitions } from '../../../db/partitions.ts';
import { lockAccount } from '../../../db/queries/accounts.ts';
import { insertMovedAlone, type MovedAlone, sumMovedAlone } from '../../../db/queries/moved-alone.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { formatUsd, type PicoUsd } from '../../../domain/money.ts';
import { CORRECTIONS } from '../../../domain/policy.ts';

export interface FourEyes {
  /** Above this amount a second person must approve; null if nobody ever has to. */
  readonly fourEyesAbove: PicoUsd | null;
  readonly publicUrl: string;
}

/** A manual adjustment by one person. */
export interface HandMove {
  readonly accountId: string;
  /** Given, or taken if it is negative. */
  readonly amount: PicoUsd;
  /** Who moves it. */
  readonly author: string;
}

/** An amount takes two people, by itself or with what was moved alone lately. The message says where they meet. */
export class TakesTwoError extends ServiceError {
  constructor(limit: PicoUsd, { publicUrl }: FourEyes) {
    super(
      'forbidden',
      `By hand, more than ${formatUsd(limit)} USD for one account within ${CORRECTIONS.addUpHours} hours takes two ` +
        `people: ask for it at ${publicUrl}/console/staff/corrections, where a second person approves it.`,
    );
  }
}

/**
 * Makes a manual adjustment, up to the amount that needs no second person. The adjustments of an account by one person alone
 * within a day add up. A concurrent adjustment waits, and is refused if the sum is too large by then.
 *
 * @param move writes the transfer in the transaction that it is given, or finds what was moved before
 * @throws TakesTwoError, after which nothing was moved
 */
export async function moveAlone<Moved extends { readonly id: string; readonly applied: boolean }>(
  { database, ...fourEyes }: FourEyes & { readonly database: Database },
  handMove: HandMove,
  move: (database: Database) => Promise<Moved>,
): Promise<Moved> {
  if (fourEyes.fourEyesAbove === null) return move(database);
  assertTakesOne(handMove.amount, fourEyes);
  return withPartitions(database, () =>
    database.transaction(async (transaction) => {
      await lockAccount(transaction, handMove.accountId);
      const moved = await move(transaction);
      if (moved.applied) await addUp(transaction, fourEyes, { ...handMove, id: moved.id });
      return moved;
    }),
  );
}

/**
 * Adds what was just moved alone to what was moved for the account lately. The account must be locked.
 *
 * @throws TakesTwoError when it is too much: the transaction has to be rolled back
 */
export async function addUp(
  transaction: Database,
  fourEyes: FourEyes,
  { accountId, amount, ...moved }: HandMove & Pick<MovedAlone, 'id'>,
): Promise<void> {
  if (fourEyes.fourEyesAbove === null) return;
  const lately = await sumMovedAlone(transaction, { accountId, hours: CORRECTIONS.addUpHours });
  assertTakesOne(lately + absolute(amount), fourEyes);
  await insertMovedAlone(transaction, { ...moved, accountId, amount: absolute(amount) });
}

/** @throws TakesTwoError */
function assertTakesOne(amount: PicoUsd, fourEyes: FourEyes): void {
  const { fourEyesAbove } = fourEyes;
  if (fourEyesAbove !== null && absolute(amount) > fourEyesAbove) throw new TakesTwoError(fourEyesAbove, fourEyes);
}

function absolute(amount: PicoUsd): PicoUsd {
  return amount < 0n ? -amount : amount;
}
