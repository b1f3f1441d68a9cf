/** The allowance of an account's key in this process, and the facts that decide how large it is. */
import { Allowance, amountOf, type Credit } from '../../domain/allowance.ts';
import { newId } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type { RequestWindow } from '../queries/request-windows.ts';
import type { AllowanceAsk, AskAnswer, KeptAllowance, NewTextHold, WaitingHold } from './ledger.ts';

/** The time in which `extra` is spent. */
const PERIOD_MS = 1_000;
/** An allowance that nobody used for so long returns. */
const IDLE_MS = 1_000;

const NO_HOLDS = { holds: 0, amount: 0n, largest: 0n };

export class Entry {
  readonly id = newId('allowance');
  readonly name: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly allowance = new Allowance();
  /** Whether the ledger asked for the money back. */
  isRecalled = false;
  /** Whether the account has so much that the allowance keeps what a request does not use. */
  #hasPlenty = false;
  /** When its key expires, by `performance.now()`. */
  #validUntilMs = 0;
  /** Places in the minute that this process may give away. */
  #places = { next: 1, last: 0, untilMs: 0 };
  #usedAtMs = 0;
  #period = { startedAtMs: 0, ...NO_HOLDS };
  #previous = NO_HOLDS;

  constructor({ accountId, apiKeyId }: Pick<NewTextHold, 'accountId' | 'apiKeyId'>) {
    this.name = nameOf({ accountId, apiKeyId });
    this.accountId = accountId;
    this.apiKeyId = apiKeyId;
  }

  /** Holds the most that the request may take. @returns null if the ledger must decide */
  hold(hold: NewTextHold, nowMs: number): Credit | null {
    const isUsable = this.#hasPlenty && !this.isRecalled && nowMs < this.#validUntilMs;
    return isUsable && !hold.free && hold.requestLimit === null ? this.allowance.hold(hold.mostAmount, hold) : null;
  }

  /** A place of the minute that this process may give away; null if it has none. */
  takePlace(nowMs: number): RequestWindow | null {
    const { next, last, untilMs } = this.#places;
    if (next > last || nowMs >= untilMs) return null;
    this.#places.next += 1;
    return windowAt(next, untilMs - nowMs);
  }

  /** Counts a hold towards what the next period may need. */
  count(amount: PicoUsd, nowMs: number): void {
    const ageMs = nowMs - this.#period.startedAtMs;
    if (ageMs >= PERIOD_MS) {
      this.#previous = ageMs < 2 * PERIOD_MS ? this.#period : NO_HOLDS;
      this.#period = { startedAtMs: nowMs, ...NO_HOLDS };
    }
    const period = this.#period;
    period.holds += 1;
    period.amount += amount;
    if (amount > period.largest) period.largest = amount;
    this.#usedAtMs = nowMs;
  }

  isIdle(nowMs: number): boolean {
    return nowMs - this.#usedAtMs >= IDLE_MS;
  }

  hasFree(): boolean {
    return amountOf(this.allowance.free) > 0n;
  }

  /** Whether it has money that it may not keep. */
  hasSurplus(): boolean {
    return !this.#hasPlenty && this.hasFree();
  }

  /** Returns all free money, and asks for what the requests need. */
  toAsk(holds: readonly WaitingHold[]): AllowanceAsk {
    const [busier, other] =
      this.#period.holds > this.#previous.holds ? [this.#period, this.#previous] : [this.#previous, this.#period];
    return {
      id: this.id,
      accountId: this.accountId,
      apiKeyId: this.apiKeyId,
      returned: this.allowance.startReturn(),
      extra: busier.amount,
      largest: busier.largest > other.largest ? busier.largest : other.largest,
      extraRequests: busier.holds,
      isAnswered: this.isRecalled,
      holds,
    };
  }

  /** @param lastPlace the highest place of the requests that were decided */
  answer({ hasPlenty, hasToppedUp, validMs, countedTo }: AskAnswer, lastPlace: number, msLeft: number): void {
    const nowMs = performance.now();
    this.#hasPlenty = hasPlenty;
    this.#validUntilMs = validMs === null ? Infinity : nowMs + validMs;
    this.allowance.setToppedUp(hasToppedUp);
    if (countedTo === null || countedTo <= lastPlace) return;
    this.#places = { next: lastPlace + 1, last: countedTo, untilMs: nowMs + msLeft };
  }
}

export function nameOf({ accountId, apiKeyId }: Pick<NewTextHold, 'accountId' | 'apiKeyId'>): string {
  return `${accountId} ${apiKeyId}`;
}

/** Returns an allowance that this process does not know. */
export function returnAll({ id, accountId, apiKeyId, total }: KeptAllowance): AllowanceAsk {
  const nothing = { extra: 0n, largest: 0n, extraRequests: 0, holds: [] };
  return { id, accountId, apiKeyId, returned: total, isAnswered: true, ...nothing };
}

export function windowAt(position: number, msLeft: number): RequestWindow {
  return { position, secondsLeft: Math.max(1, Math.ceil(msLeft / 1000)) };
}
