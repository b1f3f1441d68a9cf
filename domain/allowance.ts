/**
 * An allowance: money that an account's key has handed to one text process. Requests hold and settle against it in
 * memory; `db/text-money/allowances.ts` takes it from the ledger and writes what was spent.
 *
 * Free money is the permission to serve: whoever deletes a key, suspends an account or lacks money elsewhere recalls the
 * free money, and the next request asks the ledger again.
 */
import { larger, type PicoUsd, smaller } from './money.ts';

/** Money by the credit that it is of, in pico-USD. */
export interface Credit {
  readonly signup: PicoUsd;
  readonly funded: PicoUsd;
}

export const NO_CREDIT: Credit = { signup: 0n, funded: 0n };

export function amountOf({ signup, funded }: Credit): PicoUsd {
  return signup + funded;
}

export function add(left: Credit, right: Credit): Credit {
  return { signup: left.signup + right.signup, funded: left.funded + right.funded };
}

export function subtract(left: Credit, right: Credit): Credit {
  return { signup: left.signup - right.signup, funded: left.funded - right.funded };
}

/** The facts about a request that decide which credit pays for it. */
export interface CreditTerms {
  /** Signup credit cannot pay for it. */
  readonly fundedOnly: boolean;
  /** Requires that the account has topped up. */
  readonly isTopUpRequired: boolean;
}

/** The part of `credit` that pays `amount`, signup credit first. */
export function take(credit: Credit, amount: PicoUsd, { fundedOnly }: Pick<CreditTerms, 'fundedOnly'>): Credit {
  const signup = fundedOnly ? 0n : smaller(credit.signup, amount);
  return { signup, funded: smaller(credit.funded, amount - signup) };
}

/** The amount that a completed request pays from the allowance. */
export interface Payment {
  /** The hold, which may have grown by free money up to the charge. */
  readonly held: PicoUsd;
  /** The part of the charge that the hold pays. */
  readonly paid: Credit;
}

export class Allowance {
  /** The money in the ledger that this process may spend, as the last answer reported. */
  #total = NO_CREDIT;
  /** Held for requests in progress. */
  #held = NO_CREDIT;
  /** Charges of completed requests that are not written yet. */
  #unwritten = NO_CREDIT;
  /** On its way back to the account. */
  #returning = NO_CREDIT;
  #hasToppedUp = false;

  /** The money that the next requests can hold. Never negative, even if the ledger has less than was expected. */
  get free(): Credit {
    const left = subtract(subtract(subtract(this.#total, this.#held), this.#unwritten), this.#returning);
    return { signup: larger(left.signup, 0n), funded: larger(left.funded, 0n) };
  }

  get total(): Credit {
    return this.#total;
  }

  /** Whether nothing refers to it: it has no money, and no request in progress. */
  get isEmpty(): boolean {
    return [this.#total, this.#held, this.#unwritten].every((credit) => amountOf(credit) === 0n);
  }

  /** Holds `amount` of the free money. @returns the hold; null if there is too little, or it may not pay */
  hold(amount: PicoUsd, terms: CreditTerms): Credit | null {
    if (amount <= 0n || (terms.isTopUpRequired && !this.#hasToppedUp)) return null;
    const taken = take(this.free, amount, terms);
    if (amountOf(taken) < amount) return null;
    this.#held = add(this.#held, taken);
    return taken;
  }

  /** Adds a hold that the ledger granted together with more money: call `setTotal` first. */
  addHold(hold: Credit): void {
    this.#held = add(this.#held, hold);
  }

  /** Releases the hold of a completed request, and keeps what it pays until {@link confirm}. */
  settle(hold: Credit, charge: PicoUsd, terms: Pick<CreditTerms, 'fundedOnly'>): Payment {
    const missing = charge - amountOf(hold);
    const grown = missing > 0n ? add(hold, take(this.free, missing, terms)) : hold;
    const paid = take(grown, smaller(charge, amountOf(grown)), { fundedOnly: false });
    this.#held = subtract(this.#held, hold);
    this.#unwritten = add(this.#unwritten, paid);
    return { held: amountOf(grown), paid };
  }

  /** Takes all free money out of use, to return it in the next write. @returns that money */
  startReturn(): Credit {
    const { free } = this;
    this.#returning = add(this.#returning, free);
    return free;
  }

  /** The write that was to return money did not happen. */
  cancelReturn(): void {
    this.#returning = NO_CREDIT;
  }

  /** The charges of completed requests are written. */
  confirm(paid: Credit): void {
    this.#unwritten = subtract(this.#unwritten, paid);
  }

  /** Takes over what the ledger reports after a write. */
  setTotal(total: Credit): void {
    this.#total = total;
    this.#returning = NO_CREDIT;
  }

  setToppedUp(hasToppedUp: boolean): void {
    this.#hasToppedUp = hasToppedUp;
  }
}
