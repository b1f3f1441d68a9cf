import {
  array,
  assert,
  bigInt,
  boolean,
  constantFrom,
  nat,
  oneof,
  property,
  record,
  shuffledSubarray,
} from 'fast-check';
import { expect } from 'chai';
import { amountDue, type PaymentReturn, type ReturnedPayment, applyReturn } from '../../domain/returned-payment.ts';

const NOTHING: ReturnedPayment = {
  refunded: 0n,
  refundedAt: 0,
  failedRefunds: new Map(),
  disputes: new Map(),
  taken: 0n,
};
const AMOUNTS = { d1: 5n, d2: 7n, r1: 3n, r2: 8n } as const;
const PAID = 15n;

const seconds = nat({ max: 3 });
const events = oneof(
  record({ refunded: bigInt({ min: 0n, max: 20n }), refundedAt: seconds }),
  record({ id: constantFrom('d1' as const, 'd2' as const), isWon: boolean() }).map(({ id, isWon }): PaymentReturn => ({
    dispute: { id, amount: AMOUNTS[id], isWon, isPrevented: false },
  })),

  record({ id: constantFrom('r1' as const, 'r2' as const), failedAt: seconds }).map(
    ({ id, failedAt }): PaymentReturn => ({ failedRefund: { id, amount: AMOUNTS[id], failedAt } }),
  ),
);

const dueAfter = (changes: readonly PaymentReturn[]): bigint => amountDue(changes.reduce(applyReturn, NOTHING), PAID);
const total = (refunded: bigint, refundedAt: number): PaymentReturn => ({ refunded, refundedAt });
const failure = (id: string, amount: bigint, failedAt: number): PaymentReturn => ({
  failedRefund: { id, amount, failedAt },
});

/** All events in any order, each perhaps twice. */
const shuffledTwice = (some: readonly PaymentReturn[]) =>
  shuffledSubarray([...some, ...some], { minLength: some.length }).map((shuffled) => [...shuffled, ...some]);

/**
 * The events of refunds at the payment provider, one a second.
 *
 * @param steps null for a refund of all that is left, otherwise the index of the refund that fails
 */
function historyOf(steps: readonly (number | null)[]): { readonly events: PaymentReturn[]; readonly refunded: bigint } {
  const active = new Map<string, bigint>();
  const history: PaymentReturn[] = [];
  const sum = () => [...active.values()].reduce((rest, amount) => rest + amount, 0n);
  for (const [second, step] of steps.entries()) {
    if (step === null) {
      active.set(`re_${second}`, (PAID - sum()) / 2n);
      history.push(total(sum(), second));
    } else {
      const [id, amount] = [...active][step % Math.max(active.size, 1)] ?? [];
      if (id === undefined || amount === undefined) continue;
      active.delete(id);
      history.push(failure(id, amount, second));
    }
  }
  return { events: history, refunded: sum() };
}

describe('the amount of a returned payment that an account owes', () => {
  for (const [what, changes, due] of [
    ['is what was refunded', [total(4n, 1)], 4n],
    ['is the highest of the sums of refunds in one second', [total(9n, 1), total(4n, 1)], 9n],
    ['is the latest of all sums of refunds', [total(4n, 2), total(9n, 1)], 4n],
    ['is nothing for a refund that failed', [total(4n, 1), failure('r1', 4n, 2)], 0n],
    ['is nothing for a refund that failed in its second', [failure('r1', 4n, 1), total(4n, 1)], 0n],
    ['is the rest when one of two refunds failed', [total(4n, 1), total(9n, 2), failure('r1', 4n, 3)], 5n],
    ['is the refund that was repeated after a failure', [total(4n, 1), failure('r1', 4n, 2), total(4n, 3)], 4n],
    ['is nothing for a failure of a refund that was never announced', [failure('r1', 4n, 2)], 0n],
    ['is the amount of a dispute', [{ dispute: { id: 'd1', amount: 5n, isWon: false, isPrevented: false } }], 5n],
    [
      'is nothing for a dispute that was won',
      [{ dispute: { id: 'd1', amount: 5n, isWon: true, isPrevented: false } }],
      0n,
    ],
    [
      'is no more than the payment',
      [total(12n, 1), { dispute: { id: 'd1', amount: 5n, isWon: false, isPrevented: false } }],
      PAID,
    ],
  ] as const satisfies readonly (readonly [string, readonly PaymentReturn[], bigint])[]) {
    it(what, () => expect(dueAfter(changes)).to.equal(due));
  }

  it('is the same for any order and any repetition of the events', () => {
    assert(
      property(
        array(events, { maxLength: 8 }).chain((some) => shuffledTwice(some).map((shuffled) => [some, shuffled])),
        ([some = [], shuffled = []]) => {
          expect(dueAfter(shuffled.toReversed())).to.equal(dueAfter(some));
        },
      ),
    );
  });

  it('is what the payer has got, whichever refunds failed and were repeated, in any order of the events', () => {
    const steps = array(oneof(constantFrom(null), nat({ max: 5 })), { maxLength: 8 });
    assert(
      property(
        steps
          .map(historyOf)
          .chain(({ events: some, refunded }) => shuffledTwice(some).map((shuffled) => ({ shuffled, refunded }))),
        ({ shuffled, refunded }) => {
          expect(dueAfter(shuffled)).to.equal(refunded);
        },
      ),
    );
  });
});
