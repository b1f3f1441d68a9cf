/**
 * Chooses the requests that a process accepts when more arrive than it can answer.
 *
 * The method is DAGOR ("Overload Control for Scaling WeChat Microservices", Zhou and others, 2018): a process is
 * overloaded when requests wait too long before it starts with them. The limit then follows the number of requests that
 * the process managed, and the process accepts requests by importance up to the limit. Among requests of the same
 * importance, the first of each customer come before the second of any: the customer who sends most is refused first.
 */

/** In the order in which a process refuses them. */
export const IMPORTANCES = ['free list', 'list', 'free poll', 'poll', 'free work', 'work'] as const;

export type Importance = (typeof IMPORTANCES)[number];

/** The length of a window, in milliseconds. */
export const WINDOW_MS = 100;
/** An overload starts when requests wait longer than this before a process starts with them, on average. */
const MAX_WAIT_MS = 140;
/** During an overload, the limit falls while requests wait longer than this, so that waiting requests are answered. */
const TARGET_WAIT_MS = 60;
/**
 * So few requests in a window do not overload a process; if they wait, the machine has other work. After quiet windows,
 * a process accepts as many requests at once as in all remembered windows.
 */
const MIN_LIMIT = 30;
const REMEMBERED_WINDOWS = 10;
/** The share of the managed requests that a process accepts at first in an overload, to answer waiting requests. */
const FIRST_LEFT = 0.5;
/** The share of the limit that stays after a further overloaded window: smaller, the longer requests waited. */
const [MIN_LEFT, MAX_LEFT] = [0.9, 0.95];
/** After a window without overload, the limit grows by this share of the requests that arrived. */
const INCREASE = 0.02;
/** A window that brings more requests than the window before accepts at most this multiple of the limit. */
const BURST = 1.25;
/** After so many windows without a refusal, the limit is lifted. */
const CALM_WINDOWS = 20;
/** Counts so many customers in a window; each request of a further customer counts as a first one. */
const MAX_CUSTOMERS = 10_000;
/** The first requests of a customer in a window have a rank each, further ones share ranks: 16 for each doubling. */
const OWN_RANKS = 64;
const RANKS_A_DOUBLING = 16;
const RANKS = OWN_RANKS + 9 * RANKS_A_DOUBLING;

export class Admission {
  /** Requests in a window; infinite while the process is not overloaded. */
  #limit = Infinity;
  /** All requests below this level are accepted, and `#roomAtLast` of this level. Level 0 is the most important one. */
  #lastLevel = Infinity;
  #roomAtLast = 0;
  #calmWindows = 0;
  /** The mean waits of several windows, because garbage collection may have delayed a single window. */
  readonly #waitsMs = [0, 0, 0];
  #managedBefore = 0;
  #taken = 0;
  #refused = 0;
  /** The number of requests that arrived in each of the windows before this one, the oldest first. */
  readonly #arrivedBefore: number[] = Array.from({ length: REMEMBERED_WINDOWS - 1 }, () => 0);
  #sumBefore = 0;
  readonly #minLimit: number;
  readonly #arrivals = new Uint32Array(IMPORTANCES.length * RANKS);
  readonly #ofCustomer = new Map<string, number>();

  /** @param leastLimit the number of requests in a window that are always accepted */
  constructor(leastLimit = MIN_LIMIT) {
    this.#minLimit = leastLimit;
  }

  /** Whether requests have been refused in one of the last windows. */
  get isLimiting(): boolean {
    return this.#limit !== Infinity;
  }

  /**
   * Whether to accept a request.
   *
   * @param customer identifies the customer, such as by a credential
   */
  takes(importance: Importance, customer: string): boolean {
    const earlier = this.#ofCustomer.get(customer) ?? 0;
    if (earlier > 0 || this.#ofCustomer.size < MAX_CUSTOMERS) this.#ofCustomer.set(customer, earlier + 1);
    const level = (IMPORTANCES.length - 1 - IMPORTANCES.indexOf(importance)) * RANKS + rankOf(earlier);
    this.#arrivals[level] = (this.#arrivals[level] ?? 0) + 1;
    const isTaken = this.#areFew() || (this.#taken < this.#limit * BURST && this.#isWithin(level));
    if (isTaken) this.#taken += 1;
    else this.#refused += 1;
    return isTaken;
  }

  /**
   * Ends a window, and sets the limit of the next one.
   *
   * @param waitMs how long requests waited, on average, before the process started with them
   * @param lengthMs how long the window was: an overloaded process ends it late
   */
  endWindow(waitMs: number, lengthMs = WINDOW_MS): void {
    const managed = (this.#taken * WINDOW_MS) / Math.max(lengthMs, WINDOW_MS);
    const arrived = this.#taken + this.#refused;
    this.#waitsMs.push(waitMs);
    this.#waitsMs.shift();
    const minWaitMs = Math.min(...this.#waitsMs.slice(-2));
    const hasWaited = this.isLimiting ? minWaitMs > TARGET_WAIT_MS : mean(this.#waitsMs) > MAX_WAIT_MS;
    const left = this.isLimiting ? shareLeft(minWaitMs) : FIRST_LEFT;
    if (hasWaited) this.#lower(Math.max(managed, this.#managedBefore), left);
    else if (this.isLimiting) this.#limit += Math.max(1, arrived * INCREASE);
    this.#managedBefore = managed;
    this.#calmWindows = hasWaited || this.#refused > 0 ? 0 : this.#calmWindows + 1;
    if (this.#calmWindows >= CALM_WINDOWS) this.#limit = Infinity;
    this.#setLastLevel(this.#limit);
    this.#arrivals.fill(0);
    this.#ofCustomer.clear();
    this.#arrivedBefore.push(arrived);
    this.#sumBefore += arrived - (this.#arrivedBefore.shift() ?? 0);
    this.#taken = 0;
    this.#refused = 0;
  }

  #lower(managed: number, left: number): void {
    this.#limit = Math.max(this.#minLimit, Math.min(this.#limit, managed) * left);
  }

  #areFew(): boolean {
    return this.#sumBefore + this.#taken + this.#refused < this.#minLimit * REMEMBERED_WINDOWS;
  }

  #isWithin(level: number): boolean {
    return level < this.#lastLevel || (level === this.#lastLevel && this.#roomAtLast-- > 0);
  }

  /** Finds the level at which the requests of this window reached the limit, for the next window. */
  #setLastLevel(limit: number): void {
    let before = 0;
    this.#lastLevel = this.#arrivals.findIndex((count) => {
      before += count;
      return before > limit;
    });
    if (this.#lastLevel === -1) this.#lastLevel = Infinity;
    else this.#roomAtLast = limit - before + (this.#arrivals[this.#lastLevel] ?? 0);
  }
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

function shareLeft(waitMs: number): number {
  return Math.min(MAX_LEFT, Math.max(MIN_LEFT, TARGET_WAIT_MS / waitMs));
}

function rankOf(earlier: number): number {
  if (earlier < OWN_RANKS) return earlier;
  return Math.min(RANKS - 1, OWN_RANKS + Math.floor(Math.log2(earlier / OWN_RANKS) * RANKS_A_DOUBLING));
}
