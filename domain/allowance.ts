/**
 * An allowance: money that an account's key has handed to one text process. Requests hold and settle against it in
 * memory; `db/text-money/allowances.ts` takes the money from the ledger and records the charges.
 *
 * Free money is the permission to serve: deleting a key, suspending an account, or lacking money elsewhere recalls the
 * free money, and the next request asks the ledger again.
 */
import { larger, type PicoUsd, smaller } from './money.ts';

/** Amounts in pico-USD, by the kind of credit. */
export interface Credit {
  readonly signup: PicoUsd;
  readonly funded: PicoUsd;
}

export const NO_CREDIT: Credit = { signup: 0n, funded: 0n };

export function amountOf({ signup, funded }: Credit): PicoUsd {
  return signup + funded;
}

function add(left: Credit, right: Credit): Credit {
  return { signup: left.signup + right.signup, funded: left.funded + right.funded };
}

export function subtract(left: Credit, right: Credit): Credit {
  return { signup: left.signup - right.signup, funded: left.funded - right.funded };
}

/** The facts about a request that decide which credit pays for it. */
export interface CreditTerms {
  /** Signup credit cannot pay for the request. */
  readonly fundedOnly: boolean;
  /** The account must have topped up. */
  readonly isTopUpRequired: boolean;
}

/** Returns the part of `credit` that pays `amount`, signup credit first. */
export function allocateCredit(
  credit: Credit,
  amount: PicoUsd,
  { fundedOnly }: Pick<CreditTerms, 'fundedOnly'>,
): Credit {
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
  /** The money in the ledger that this process may spend, as the ledger last reported. */
  #total = NO_CREDIT;
  /** Held for requests in progress. */
  #held = NO_CREDIT;
  /** Charges of completed requests that are not written yet. */
  #unwritten = NO_CREDIT;
  /** Money that the next write returns to the account. */
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

  /** Whether the allowance has no money and no request in progress. */
  get isEmpty(): boolean {
    return [this.#total, this.#held, this.#unwritten].every((credit) => amountOf(credit) === 0n);
  }

  /** Holds `amount` of the free money. @returns the hold; null if there is too little, or a top-up is missing */
  hold(amount: PicoUsd, terms: CreditTerms): Credit | null {
    if (amount <= 0n || (terms.isTopUpRequired && !this.#hasToppedUp)) return null;
    const taken = allocateCredit(this.free, amount, terms);
    if (amountOf(taken) < amount) return null;
    this.#held = add(this.#held, taken);
    return taken;
  }

  /** Adds a hold that the ledger granted together with more money: call `setTotal` first. */
  addHold(hold: Credit): void {
    this.#held = add(this.#held, hold);
  }

  /** Releases the hold of a completed request, and keeps its charge as unwritten until {@link confirm}. */
  settle(hold: Credit, charge: PicoUsd, terms: Pick<CreditTerms, 'fundedOnly'>): Payment {
    const missing = charge - amountOf(hold);
    const grown = missing > 0n ? add(hold, allocateCredit(this.free, missing, terms)) : hold;
    const paid = allocateCredit(grown, smaller(charge, amountOf(grown)), { fundedOnly: false });
    this.#held = subtract(this.#held, hold);
    this.#unwritten = add(this.#unwritten, paid);
    return { held: amountOf(grown), paid };
  }

  /** Releases a hold that pays for nothing. */
  release(hold: Credit): void {
    this.#held = subtract(this.#held, hold);
  }

  /** Takes all free money out of use, for the next write to return. @returns the free money */
  startReturn(): Credit {
    const { free } = this;
    this.#returning = add(this.#returning, free);
    return free;
  }

  /** Puts money back into use after the write that should have returned it did not happen. */
  cancelReturn(): void {
    this.#returning = NO_CREDIT;
  }

  /** Removes charges that are now written. */
  confirm(paid: Credit): void {
    this.#unwritten = subtract(this.#unwritten, paid);
  }

  /** Sets the total that the ledger reports after a write. */
  setTotal(total: Credit): void {
    this.#total = total;
    this.#returning = NO_CREDIT;
  }

  setToppedUp(hasToppedUp: boolean): void {
    this.#hasToppedUp = hasToppedUp;
  }
}
