/**
 * Which requests a process takes when more arrive than it can answer.
 *
 * The method is DAGOR ("Overload Control for Scaling WeChat Microservices", Zhou and others, 2018): a process is overloaded when
 * requests wait too long before it begins with them. The limit then follows what it managed, and requests are taken by priority up
 * to that limit. Among requests of the same importance, the first of each customer come before the second of any: whoever sends
 * most is refused first.
 */

/** From the first to be refused to the last. */
export const IMPORTANCES = ['free list', 'list', 'free poll', 'poll', 'free work', 'work'] as const;

export type Importance = (typeof IMPORTANCES)[number];

/** The length of a window, in milliseconds. */
export const WINDOW_MS = 100;
/** An overload begins when requests wait longer before a process begins with them, on average. */
const LONGEST_WAIT_MS = 140;
/** Until the overload has ended, they should not wait longer than this, so that those that wait already are answered. */
const TARGET_WAIT_MS = 60;
/**
 * So few requests in a window do not overload a process; if they wait, the machine has other work. As many as in all remembered
 * windows may come at once after quiet ones.
 */
const LEAST_LIMIT = 30;
const REMEMBERED_WINDOWS = 10;
/** The share of what it managed that an overloaded process takes at first, so that it has time for those that wait. */
const FIRST_LEFT = 0.5;
/** The share of the limit that stays after a further overloaded window: the less, the longer requests waited. */
const [LEAST_LEFT, MOST_LEFT] = [0.9, 0.95];
/** By this share of what arrives, the limit grows after a window without overload. */
const INCREASE = 0.02;
/** A window that brings more than the one before takes up to this multiple of the limit, whatever the importance. */
const BURST = 1.25;
/** After so many windows in which nothing was refused, nothing is limited. */
const CALM_WINDOWS = 20;
/** More customers than this in a window share what is left. */
const MOST_CUSTOMERS = 10_000;
/** The first requests of a customer in a window have a rank each, further ones share ranks: 16 for each doubling. */
const OWN_RANKS = 64;
const RANKS_A_DOUBLING = 16;
const RANKS = OWN_RANKS + 9 * RANKS_A_DOUBLING;

export class Admission {
  /** Requests in a window; infinite while the process is not overloaded. */
  #limit = Infinity;
  /** Requests below this level are taken, and so many of this level. Level 0 is the most important one. */
  #lastLevel = Infinity;
  #roomAtLast = 0;
  #calmWindows = 0;
  /** The mean waits of several windows, because one alone may have waited for the collection of garbage. */
  readonly #waitsMs = [0, 0, 0];
  #managedBefore = 0;
  #taken = 0;
  #refused = 0;
  /** How many arrived in each of the windows before this one, the oldest first. */
  readonly #arrivedBefore: number[] = Array.from({ length: REMEMBERED_WINDOWS - 1 }, () => 0);
  #sumBefore = 0;
  readonly #leastLimit: number;
  readonly #arrivals = new Uint32Array(IMPORTANCES.length * RANKS);
  readonly #ofCustomer = new Map<string, number>();

  /** @param leastLimit the number of requests in a window that are always taken */
  constructor(leastLimit = LEAST_LIMIT) {
    this.#leastLimit = leastLimit;
  }

  /** Whether requests have been refused in one of the last windows. */
  get isLimiting(): boolean {
    return this.#limit !== Infinity;
  }

  /**
   * Whether to take a request.
   *
   * @param customer tells customers apart, such as by their credential
   */
  takes(importance: Importance, customer: string): boolean {
    const earlier = this.#ofCustomer.get(customer) ?? 0;
    if (earlier > 0 || this.#ofCustomer.size < MOST_CUSTOMERS) this.#ofCustomer.set(customer, earlier + 1);
    const level = (IMPORTANCES.length - 1 - IMPORTANCES.indexOf(importance)) * RANKS + rankOf(earlier);
    this.#arrivals[level] = (this.#arrivals[level] ?? 0) + 1;
    const isTaken = this.#areFew() || (this.#taken < this.#limit * BURST && this.#isWithin(level));
    if (isTaken) this.#taken += 1;
    else this.#refused += 1;
    return isTaken;
  }

  /**
   * Ends a window, and decides about the next one.
   *
   * @param waitMs how long requests waited, on average, before the process began with them
   * @param lengthMs how long the window was: an overloaded process ends it late
   */
  endWindow(waitMs: number, lengthMs = WINDOW_MS): void {
    const managed = (this.#taken * WINDOW_MS) / Math.max(lengthMs, WINDOW_MS);
    const arrived = this.#taken + this.#refused;
    this.#waitsMs.push(waitMs);
    this.#waitsMs.shift();
    const leastMs = Math.min(...this.#waitsMs.slice(-2));
    const hasWaited = this.isLimiting ? leastMs > TARGET_WAIT_MS : mean(this.#waitsMs) > LONGEST_WAIT_MS;
    const left = this.isLimiting ? shareLeft(leastMs) : FIRST_LEFT;
    if (hasWaited) this.#lower(Math.max(managed, this.#managedBefore), left);
    else if (this.isLimiting) this.#limit += Math.max(1, arrived * INCREASE);
    this.#managedBefore = managed;
    this.#calmWindows = hasWaited || this.#refused > 0 ? 0 : this.#calmWindows + 1;
    if (this.#calmWindows >= CALM_WINDOWS) this.#limit = Infinity;
    this.#divide(this.#limit);
    this.#arrivals.fill(0);
    this.#ofCustomer.clear();
    this.#arrivedBefore.push(arrived);
    this.#sumBefore += arrived - (this.#arrivedBefore.shift() ?? 0);
    this.#taken = 0;
    this.#refused = 0;
  }

  #lower(managed: number, left: number): void {
    this.#limit = Math.max(this.#leastLimit, Math.min(this.#limit, managed) * left);
  }

  #areFew(): boolean {
    return this.#sumBefore + this.#taken + this.#refused < this.#leastLimit * REMEMBERED_WINDOWS;
  }

  #isWithin(level: number): boolean {
    return level < this.#lastLevel || (level === this.#lastLevel && this.#roomAtLast-- > 0);
  }

  /** Finds the level at which the requests of this window reached the limit, for the next window. */
  #divide(limit: number): void {
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
  return Math.min(MOST_LEFT, Math.max(LEAST_LEFT, TARGET_WAIT_MS / waitMs));
}

function rankOf(earlier: number): number {
  if (earlier < OWN_RANKS) return earlier;
  return Math.min(RANKS - 1, OWN_RANKS + Math.floor(Math.log2(earlier / OWN_RANKS) * RANKS_A_DOUBLING));
}
