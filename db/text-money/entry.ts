/**
 * The allowance in this process of an account's key, for the requests that count towards the same budgets, and the facts
 * that decide its size.
 */
import { Allowance, amountOf, type Credit, NO_CREDIT } from '../../domain/allowance.ts';
import { newId } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type { RequestWindow } from '../queries/request-windows.ts';
import type { AllowanceRequest, AllowanceAnswer, StoredAllowance, NewTextHold, WaitingHold } from './ledger.ts';

/** The time for which `extra` should last. */
const PERIOD_MS = 1_000;
/** An allowance returns its money after so long without a request. */
const IDLE_MS = 1_000;
/** A small allowance whose owner has come back within so long waits as long for the owner's next request. */
const RETURN_WITHIN_MS = 60_000;

const NO_HOLDS = { holds: 0, amount: 0n, largest: 0n };

/** The owner of an allowance. */
type Owner = Pick<NewTextHold, 'accountId' | 'apiKeyId' | 'budgets'>;

/** Positions in the minute that this process may assign to requests. */
interface Places {
  next: number;
  readonly last: number;
  /** When the minute ends, by `performance.now()`. */
  readonly untilMs: number;
}

export class Entry {
  readonly id = newId('allowance');
  readonly name: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly budgetIds: readonly string[];
  readonly #isOfEndUser: boolean;
  readonly allowance = new Allowance();
  /** Whether the ledger recalled the money. */
  isRecalled = false;
  /** Whether the account has so much money that the allowance keeps what requests do not use. */
  #hasPlenty = false;
  /** Whether the money is so small a part of what the account could spend that others hardly miss it. */
  #isSmall = false;
  /** Whether requests came again within a minute of the last pause. */
  #comesBack = false;
  /** When its key expires or a limit renews, by `performance.now()`. */
  #validUntilMs = 0;
  #places: Places[] = [];
  /** The positions and free money after the last answer. */
  #supply = { places: 0, free: 0n };
  /** The key's limit of requests per minute; null if requests are not counted. */
  #requestLimit: number | null = null;
  #usedAtMs = -Infinity;
  #period = { startedAtMs: 0, ...NO_HOLDS };
  #previous = NO_HOLDS;

  constructor(owner: Owner) {
    this.name = nameOf(owner);
    this.accountId = owner.accountId;
    this.apiKeyId = owner.apiKeyId;
    this.budgetIds = owner.budgets.map(({ id }) => id);
    this.#isOfEndUser = owner.budgets.some(({ endUser }) => endUser !== null);
  }

  /** Holds the largest amount of the request. @returns null if the ledger must decide */
  hold(hold: NewTextHold, nowMs: number): Credit | null {
    const isUsable = this.#hasPlenty && !this.isRecalled && nowMs < this.#validUntilMs;
    return isUsable && !hold.free && hold.requestLimit === null ? this.allowance.hold(hold.maxAmount, hold) : null;
  }

  /** Assigns a position in the minute to a request; null if this process has none left. */
  takePlace(requestLimit: number, nowMs: number): RequestWindow | null {
    this.#requestLimit = requestLimit;
    const places = this.#places.find(({ next, last, untilMs }) => next <= last && nowMs < untilMs);
    if (places === undefined) return null;
    places.next += 1;
    return windowAt(places.next - 1, places.untilMs - nowMs);
  }

  /** Counts a hold, to estimate the need of the next period. */
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
    if (this.#isIdle(nowMs)) this.#comesBack = this.mayComeBack(nowMs);
    this.#usedAtMs = nowMs;
  }

  #isIdle(nowMs: number): boolean {
    return nowMs - this.#usedAtMs >= IDLE_MS;
  }

  /** Whether the next request would show that requests come again after a pause. */
  mayComeBack(nowMs: number): boolean {
    return nowMs - this.#usedAtMs < RETURN_WITHIN_MS;
  }

  /** Whether to return the money, because no request is expected soon. */
  isUnneeded(nowMs: number): boolean {
    const isAwaited = this.#comesBack && this.#isSmall && this.mayComeBack(nowMs);
    return this.#isIdle(nowMs) && !isAwaited;
  }

  hasFree(): boolean {
    return amountOf(this.allowance.free) > 0n;
  }

  /** Whether the allowance has money that it may not keep. */
  hasSurplus(): boolean {
    return !this.#hasPlenty && this.hasFree();
  }

  /** Whether half of the supply is spent, so that the entry should request more before a request must wait. */
  isLow(nowMs: number): boolean {
    if (!this.#hasPlenty || this.isRecalled || this.#isIdle(nowMs)) return false;
    const { places, free } = this.#supply;
    return 2 * this.#placesLeft(nowMs) < places || 2n * amountOf(this.allowance.free) < free;
  }

  /**
   * Asks for the money that the requests need, and returns all free money, which the ledger may need for them. Without
   * requests, requests more money if little is left, and keeps the free money for use meanwhile.
   */
  toAllowanceRequest(holds: readonly WaitingHold[]): AllowanceRequest {
    const nowMs = performance.now();
    const isTopUp = holds.length === 0 && this.isLow(nowMs);
    const [busier, other] =
      this.#period.holds > this.#previous.holds ? [this.#period, this.#previous] : [this.#previous, this.#period];
    const next = isTopUp || holds.length > 0 ? busier : NO_HOLDS;
    // Many end users may share a key's limit: only an end user active for over a second gets positions in advance.
    const nextRequests = this.#isOfEndUser ? Math.min(next.holds, other.holds) : next.holds;
    return {
      id: this.id,
      accountId: this.accountId,
      apiKeyId: this.apiKeyId,
      budgetIds: this.budgetIds,
      kept: isTopUp ? amountOf(this.allowance.free) : 0n,
      returned: isTopUp ? NO_CREDIT : this.allowance.startReturn(),
      extra: next.amount,
      largest: busier.largest > other.largest ? busier.largest : other.largest,
      requestLimit: this.#requestLimit,
      extraRequests: Math.max(0, nextRequests - this.#placesLeft(nowMs)),
      isAnswered: this.isRecalled,
      holds,
    };
  }

  answer({ hasPlenty, isSmall, hasToppedUp, validMs, places }: AllowanceAnswer, msLeft: number): void {
    const nowMs = performance.now();
    this.#hasPlenty = hasPlenty;
    this.#isSmall = isSmall;
    this.#validUntilMs = validMs === null ? Infinity : nowMs + validMs;
    this.allowance.setToppedUp(hasToppedUp);
    this.#places = this.#places.filter(({ next, last, untilMs }) => next <= last && nowMs < untilMs);
    if (places !== null) this.#places.push({ next: places.first, last: places.last, untilMs: nowMs + msLeft });
    this.#supply = { places: this.#placesLeft(nowMs), free: amountOf(this.allowance.free) };
  }

  #placesLeft(nowMs: number): number {
    const valid = this.#places.filter(({ untilMs }) => nowMs < untilMs);
    return valid.reduce((sum, { next, last }) => sum + last - next + 1, 0);
  }
}

export function nameOf({ accountId, apiKeyId, budgets }: Owner): string {
  let name = `${accountId} ${apiKeyId}`;
  for (const { id } of budgets) name += ` ${id}`;
  return name;
}

/** Creates a request that returns an allowance that this process does not know. */
export function returnAllowance({ id, accountId, apiKeyId, total }: StoredAllowance): AllowanceRequest {
  const nothing = {
    budgetIds: [],
    kept: 0n,
    extra: 0n,
    largest: 0n,
    requestLimit: null,
    extraRequests: 0,
    holds: [],
  };
  return { id, accountId, apiKeyId, returned: total, isAnswered: true, ...nothing };
}

export function windowAt(position: number, msLeft: number): RequestWindow {
  return { position, secondsLeft: Math.max(1, Math.ceil(msLeft / 1000)) };
}
