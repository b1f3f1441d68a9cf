import { array, assert, bigInt, boolean, constantFrom, oneof, property, record, shuffledSubarray } from 'fast-check';
import { expect } from 'chai';
import { amountDue, type PaymentReturn, type ReturnedPayment, applyReturn } from '../../domain/returned-payment.ts';

const NOTHING: ReturnedPayment = { refunded: 0n, disputes: new Map(), taken: 0n };
const AMOUNTS = { d1: 5n, d2: 7n } as const;

const events = oneof(
  record({ refunded: bigInt({ min: 0n, max: 20n }) }),
  record({ id: constantFrom('d1' as const, 'd2' as const), isWon: boolean() }).map(({ id, isWon }): PaymentReturn => ({
    dispute: { id, amount: AMOUNTS[id], isWon },
  })),
);

const dueAfter = (changes: readonly PaymentReturn[]): bigint => amountDue(changes.reduce(applyReturn, NOTHING), 15n);

describe('the amount of a returned payment that an account owes', () => {
  for (const [what, changes, due] of [
    ['is what was refunded', [{ refunded: 4n }], 4n],
    ['is the highest of all sums of refunds', [{ refunded: 9n }, { refunded: 4n }], 9n],
    ['is the amount of a dispute', [{ dispute: { id: 'd1', amount: 5n, isWon: false } }], 5n],
    ['is nothing for a dispute that was won', [{ dispute: { id: 'd1', amount: 5n, isWon: true } }], 0n],
    ['is no more than the payment', [{ refunded: 12n }, { dispute: { id: 'd1', amount: 5n, isWon: false } }], 15n],
  ] as const) {
    it(what, () => expect(dueAfter(changes)).to.equal(due));
  }

  it('is the same for any order and any repetition of the events', () => {
    assert(
      property(
        array(events, { maxLength: 8 }).chain((some) =>
          shuffledSubarray([...some, ...some], { minLength: 2 * some.length }).map((shuffled) => [some, shuffled]),
        ),
        ([some = [], shuffled = []]) => {
          expect(dueAfter(shuffled)).to.equal(dueAfter(some));
        },
      ),
    );
  });
});
