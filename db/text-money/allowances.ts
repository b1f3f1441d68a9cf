/**
 * The allowances of this process. Requests hold and settle in memory. Writes, one at a time, take more money, return
 * unused money, and record completed requests.
 *
 * - A request that the allowance covers does not wait. Another request waits for the next write.
 * - An allowance returns after a second without a request. If it is small, and requests came again within a minute of the
 *   last pause, the allowance waits up to a minute for the next ones. A recall returns it at any time.
 * - Once half of an allowance is spent, the next write requests more, while requests continue.
 * - Settlements are written within 20 ms if they are few, and within 100 ms under load: a write has a fixed cost. Every
 *   write, and a renewal every 250 ms, extends the lease of the process. Without a valid lease, no request holds in
 *   memory.
 * - A write with an unknown outcome is repeated with its number until the database answers.
 * - A settlement that PostgreSQL refuses is written alone from then on, so that the refusal delays no other.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { amountOf, type Credit, NO_CREDIT } from '../../domain/allowance.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type { RefusedHold } from '../../domain/text-refusal.ts';
import type { RequestWindow } from '../queries/request-windows.ts';
import { LEASE_SECONDS } from '../text-lease.ts';
import { Entry, nameOf, returnAllowance, windowAt } from './entry.ts';
import type { StoredAllowance, NewTextHold, TextDecision, TextLedger, WaitingHold, WrittenText } from './ledger.ts';
import { NumberedWrites } from './numbered-writes.ts';
import type { TextSettlement } from './settlement.ts';

/** The money that a request holds. */
export interface HeldText {
  readonly refusal: null;
  readonly amount: PicoUsd;
  /** The position among the requests of the key; null if the request was counted before. */
  readonly window: RequestWindow | null;
  /** Ends the request. Resolves when the settlement is written; never rejects. */
  settle(settlement: UnpaidSettlement): Promise<void>;
  /** Returns the money to the allowance, where {@link settle} of another hold of the request may use it at once. */
  release(): void;
}

export type DecidedHold = HeldText | (RefusedHold & { readonly window: RequestWindow | null });

/** A settlement before the allowance pays for it. */
export type UnpaidSettlement = Omit<TextSettlement, 'allowanceId' | 'held' | 'paid'>;

/** A request that waits for the ledger. */
interface Waiting extends WaitingHold {
  readonly sinceMs: number;
  /** The position in the minute; null until the request is counted. */
  readonly window: RequestWindow | null;
  readonly resolve: (decided: DecidedHold) => void;
  readonly reject: (error: unknown) => void;
  readonly isAbandoned: () => boolean;
}

interface WaitingSettlement {
  readonly settlement: TextSettlement;
  readonly entry: Entry;
  readonly resolve: () => void;
}

/** An entry in a write, with its waiting text requests. */
interface WaitingEntry {
  readonly entry: Entry;
  readonly waiting: readonly Waiting[];
  /** Whether this answers a recall. */
  readonly isAnswered: boolean;
}

const RENEW_EVERY_MS = 250;
/** How often a write of settlements is considered. */
const WRITE_DELAY_MS = 20;
/** So many settlements wait for more of them, and share their write. */
const MIN_SETTLEMENTS_UNDER_LOAD = 4;
/** How often settlements wait again: at most 100 ms pass from the first to its write. */
const MAX_POSTPONEMENTS = 4;
const MAX_SETTLEMENTS_AT_ONCE = 1_000;
const MAX_HOLDS_AT_ONCE = 500;
const MAX_WAITING_SETTLEMENTS = 20_000;
const ASK_TIMEOUT_MS = 5_000;
const RETRY_AFTER_SECONDS = 2;
/** How often a request is written again while other processes return money or their leases end. */
const RECALL_AGAIN_MS = 25;
const RECALL_TIMEOUT_MS = LEASE_SECONDS * 1000 + 500;
const RETRY_SETTLEMENT_MS = 5_000;

export interface AllowanceSettings {
  /** The longest wait of a request for the ledger. Then the request fails and can be retried. */
  readonly askTimeoutMs?: number;
  /** The wait before a settlement that PostgreSQL refused is written again. */
  readonly retrySettlementMs?: number;
}

export class Allowances {
  readonly #writes: NumberedWrites;
  readonly #log: Logger;
  readonly #askTimeoutMs: number;
  readonly #retrySettlementMs: number;
  readonly #entries = new Map<string, Entry>();
  readonly #entriesById = new Map<string, Entry>();
  /** Entries with waiting requests or with money to return, and these requests. */
  readonly #waitingByEntry = new Map<Entry, Waiting[]>();
  readonly #ticking: NodeJS.Timeout;
  #settlements: WaitingSettlement[] = [];
  /** Settlements that PostgreSQL refused before. */
  #refused: WaitingSettlement[] = [];
  /** The number of settlements that are not written yet, including those in a running write. */
  #unwritten = 0;
  /** Allowances of this process in the ledger that the process does not know. */
  #strays: readonly StoredAllowance[] = [];
  #isRenewalDue = false;
  /** Whether to compare all allowances with the ledger. */
  #wantsAll = false;
  #isWriting = false;
  #isScheduled = false;
  #timer: NodeJS.Timeout | null = null;
  #postponements = 0;
  #idleWaiters: (() => void)[] = [];

  constructor(
    ledger: Pick<TextLedger, 'write'>,
    log: Logger,
    { askTimeoutMs = ASK_TIMEOUT_MS, retrySettlementMs = RETRY_SETTLEMENT_MS }: AllowanceSettings = {},
  ) {
    this.#writes = new NumberedWrites(ledger, log);
    this.#log = log;
    this.#askTimeoutMs = askTimeoutMs;
    this.#retrySettlementMs = retrySettlementMs;
    this.#ticking = setInterval(() => this.#tick(), RENEW_EVERY_MS);
    this.#ticking.unref();
  }

  /**
   * Holds money for a request. Decides at once if the allowance covers the request.
   *
   * @throws ServiceError `processing_unavailable` if the database does not answer in time
   */
  hold(hold: NewTextHold): DecidedHold | Promise<DecidedHold> {
    const nowMs = performance.now();
    const entry = this.#entryOf(hold);
    entry.count(hold.maxAmount, nowMs);
    const window = hold.requestLimit === null ? null : entry.takePlace(hold.requestLimit, nowMs);
    const counted = window === null ? hold : uncounted(hold);
    const held = nowMs < this.#writes.leaseUntilMs ? entry.hold(counted, nowMs) : null;
    return held ? this.#toHeld(entry, held, window, counted) : this.#waitForLedger(entry, counted, window, nowMs);
  }

  /** Whether too many settlements wait for the database to accept a new request. */
  isFull(): boolean {
    return this.#unwritten >= MAX_WAITING_SETTLEMENTS;
  }

  /** Schedules a write that extends the lease and registers the process. */
  renew(): void {
    if (this.#writes.isClosed) return;
    this.#isRenewalDue = true;
    this.#scheduleNow();
  }

  /** Writes all settlements, and returns all allowances. @returns the number of settlements not written in time */
  async close(timeoutMs: number): Promise<number> {
    clearInterval(this.#ticking);
    this.#isRenewalDue = false;
    for (const entry of this.#entries.values()) {
      // A closed process requests no more money.
      entry.isRecalled = true;
      if (!entry.allowance.isEmpty) this.#waitingOf(entry);
    }
    const idle = new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
    this.#startWriting();
    await Promise.race([idle, sleep(timeoutMs, undefined, { ref: false })]);
    this.#writes.close();
    return this.#unwritten;
  }

  #entryOf(hold: NewTextHold): Entry {
    const known = this.#entries.get(nameOf(hold));
    if (known) return known;
    const entry = new Entry(hold);
    this.#entries.set(entry.name, entry);
    this.#entriesById.set(entry.id, entry);
    return entry;
  }

  /** Returns the waiting requests of an entry, and includes the entry in the next write. */
  #waitingOf(entry: Entry): Waiting[] {
    const known = this.#waitingByEntry.get(entry);
    if (known) return known;
    const waiting: Waiting[] = [];
    this.#waitingByEntry.set(entry, waiting);
    return waiting;
  }

  #toHeld(entry: Entry, held: Credit, window: RequestWindow | null, hold: NewTextHold): HeldText {
    return {
      refusal: null,
      amount: amountOf(held),
      window,
      settle: (unpaid) =>
        new Promise((resolve) => {
          const { held: grown, paid } = entry.allowance.settle(held, unpaid.price.charge, hold);
          const allowanceId = amountOf(paid) > 0n ? entry.id : null;
          this.#settlements.push({ settlement: { ...unpaid, held: grown, paid, allowanceId }, entry, resolve });
          this.#unwritten += 1;
          if (entry.hasSurplus()) this.#waitingOf(entry);
          this.#scheduleSoon();
        }),
      release: () => {
        entry.allowance.release(held);
        if (!entry.hasSurplus()) return;
        this.#waitingOf(entry);
        this.#scheduleSoon();
      },
    };
  }

  #waitForLedger(entry: Entry, hold: NewTextHold, window: RequestWindow | null, sinceMs: number): Promise<DecidedHold> {
    return new Promise((resolve, reject) => {
      let isAbandoned = false;
      const giveUp = setTimeout(() => {
        isAbandoned = true;
        reject(unavailable());
      }, this.#askTimeoutMs);
      const stop = <Outcome>(then: (outcome: Outcome) => void) => {
        return (outcome: Outcome): void => {
          clearTimeout(giveUp);
          then(outcome);
        };
      };
      this.#addWaiting(entry, {
        hold,
        recalledSince: null,
        sinceMs,
        window,
        resolve: stop(resolve),
        reject: stop(reject),
        isAbandoned: () => isAbandoned,
      });
    });
  }

  #addWaiting(entry: Entry, waiting: Waiting): void {
    this.#waitingOf(entry).push(waiting);
    this.#scheduleNow();
  }

  #scheduleNow(): void {
    if (this.#isScheduled || this.#isWriting) return;
    this.#isScheduled = true;
    // Requests that have already arrived become part of the write.
    setImmediate(() => {
      this.#isScheduled = false;
      this.#startWriting();
    });
  }

  #scheduleSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      if (this.#canPostpone()) {
        this.#postponements += 1;
        this.#scheduleSoon();
      } else {
        this.#startWriting();
      }
    }, WRITE_DELAY_MS);
  }

  /** Whether only settlements wait, more of them come soon, and no allowance of theirs is nearly spent. */
  #canPostpone(): boolean {
    const isUnderLoad = this.#settlements.length >= MIN_SETTLEMENTS_UNDER_LOAD;
    if (!isUnderLoad || this.#waitingByEntry.size > 0 || this.#postponements >= MAX_POSTPONEMENTS) return false;
    const nowMs = performance.now();
    return !this.#settlements.some(({ entry }) => entry.isLow(nowMs));
  }

  #startWriting(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#postponements = 0;
    if (this.#isWriting) return;
    this.#isWriting = true;
    void this.#writeNext()
      .catch((error: unknown) => this.#log.error({ err: error }, 'could not write allowances'))
      .finally(() => {
        this.#isWriting = false;
        this.#scheduleNext();
      });
  }

  #scheduleNext(): void {
    if (this.#waitingByEntry.size > 0 || this.#isRenewalDue || this.#wantsAll || this.#strays.length > 0) {
      if (!this.#writes.isClosed) this.#scheduleNow();
    } else if (this.#settlements.length + this.#refused.length > 0) {
      this.#scheduleSoon();
    } else {
      for (const resolve of this.#idleWaiters) resolve();
      this.#idleWaiters = [];
    }
  }

  async #writeNext(): Promise<void> {
    if (this.#isRenewalDue) await this.#writeRenewal();
    if (this.#wantsAll) await this.#compareAll();
    const ended = this.#settlements.slice(0, MAX_SETTLEMENTS_AT_ONCE);
    this.#settlements = this.#settlements.slice(ended.length);
    // Not earlier: an entry that is no longer low when the write begins would return its money.
    const nowMs = performance.now();
    for (const entry of new Set(ended.map((one) => one.entry))) if (entry.isLow(nowMs)) this.#waitingOf(entry);
    const waitingEntries = this.#nextEntries();
    if (waitingEntries.length + ended.length + this.#strays.length > 0) await this.#writeBatch(waitingEntries, ended);
    for (const one of this.#refused.splice(0)) await this.#writeBatch([], [one], { mayBeRecorded: true });
  }

  /** Takes the entries for the next write, up to a limit of requests. */
  #nextEntries(): WaitingEntry[] {
    const next: WaitingEntry[] = [];
    let holds = 0;
    for (const [entry, waiting] of this.#waitingByEntry) {
      if (holds >= MAX_HOLDS_AT_ONCE) break;
      this.#waitingByEntry.delete(entry);
      next.push({ entry, waiting: waiting.filter((one) => !one.isAbandoned()), isAnswered: entry.isRecalled });
      holds += waiting.length;
    }
    return next;
  }

  async #writeRenewal(): Promise<void> {
    this.#isRenewalDue = false;
    const written = await this.#writes.send({ allowanceRequests: [], settlements: [] });
    this.#recall(written.recalled);
    const sum = [...this.#entries.values()].reduce((total, { allowance }) => total + amountOf(allowance.total), 0n);
    if (written.sum !== sum) this.#wantsAll = true;
  }

  /** Sets all allowances to the ledger's totals, after a write or recent changes of the database were lost. */
  async #compareAll(): Promise<void> {
    this.#wantsAll = false;
    const { allowances } = await this.#writes.send({ allowanceRequests: [], settlements: [], wantsAll: true });
    const totals = new Map(allowances.map(({ id, total }) => [id, total]));
    for (const entry of this.#entries.values()) entry.allowance.setTotal(totals.get(entry.id) ?? NO_CREDIT);
    this.#strays = allowances.filter(({ id }) => !this.#entriesById.has(id));
  }

  /** Writes a batch. If PostgreSQL refuses it, writes each part alone, so that a bad part fails alone. */
  async #writeBatch(
    waitingEntries: readonly WaitingEntry[],
    ended: readonly WaitingSettlement[],
    { mayBeRecorded = false } = {},
  ): Promise<void> {
    const allowanceRequests = [
      ...waitingEntries.map(({ entry, waiting }) => entry.toAllowanceRequest(waiting)),
      ...this.#strays.map(returnAllowance),
    ];
    this.#strays = [];
    let written: WrittenText;
    try {
      const settlements = ended.map(({ settlement }) => settlement);
      written = await this.#writes.send({ allowanceRequests, settlements, mayBeRecorded });
    } catch (error) {
      for (const { entry } of waitingEntries) entry.allowance.cancelReturn();
      return this.#writeAlone(waitingEntries, ended, error);
    }
    for (const { settlement, entry, resolve } of ended) {
      entry.allowance.confirm(settlement.paid);
      this.#unwritten -= 1;
      resolve();
    }
    const totals = new Map(written.allowances.map(({ id, total }) => [id, total]));
    const charged = ended.flatMap(({ settlement, entry }) => (settlement.allowanceId === null ? [] : [entry]));
    for (const entry of new Set([...waitingEntries.map(({ entry }) => entry), ...charged])) {
      entry.allowance.setTotal(totals.get(entry.id) ?? NO_CREDIT);
    }
    if (written.isRepeated) this.#requeue(waitingEntries);
    else this.#applyAnswers(waitingEntries, written);
    this.#recall(written.recalled);
  }

  async #writeAlone(
    waitingEntries: readonly WaitingEntry[],
    ended: readonly WaitingSettlement[],
    error: unknown,
  ): Promise<void> {
    if (waitingEntries.length + ended.length > 1) {
      for (const one of waitingEntries) await this.#writeBatch([one], []);
      // An earlier attempt may have had an unknown outcome.
      for (const one of ended) await this.#writeBatch([], [one], { mayBeRecorded: true });
      return;
    }
    for (const { waiting } of waitingEntries) for (const { reject } of waiting) reject(error);
    for (const one of ended) {
      const { id } = one.settlement.hold;
      this.#log.error({ err: error, text_request_id: id }, 'could not write a settlement yet');
      setTimeout(() => {
        this.#refused.push(one);
        this.#scheduleSoon();
      }, this.#retrySettlementMs).unref();
    }
  }

  /** Asks again after a repeated write, whose decisions are unknown. The granted money is free now. */
  #requeue(waitingEntries: readonly WaitingEntry[]): void {
    for (const { entry, waiting } of waitingEntries) {
      for (const one of waiting) this.#addWaiting(entry, { ...one, hold: uncounted(one.hold) });
    }
  }

  #applyAnswers(waitingEntries: readonly WaitingEntry[], { decisions, answers, msLeft, at }: WrittenText): void {
    const next = decisions.values();
    waitingEntries.forEach(({ entry, waiting, isAnswered }, index) => {
      for (const one of waiting) {
        const decision = next.next().value;
        if (!decision) throw new Error('write_text decides on every request');
        const window = decision.position === null ? one.window : windowAt(decision.position, msLeft);
        this.#decide(entry, { ...one, window }, decision, at);
      }
      const answer = answers[index];
      if (!answer) throw new Error('write_text must answer every allowance request');
      entry.answer(answer, msLeft);
      if (isAnswered) entry.isRecalled = false;
      if (entry.hasSurplus()) this.#waitingOf(entry);
    });
  }

  #decide(entry: Entry, waiting: Waiting, decision: TextDecision, at: string): void {
    const { hold, window, recalledSince } = waiting;
    // The money of an abandoned request stays free, and returns.
    if (waiting.isAbandoned()) return;
    if (decision.refusal === null) {
      entry.allowance.addHold(decision.held);
      return waiting.resolve(this.#toHeld(entry, decision.held, window, hold));
    }
    if (!decision.isRecalling || performance.now() - waiting.sinceMs >= RECALL_TIMEOUT_MS) {
      return waiting.resolve({ ...decision, window });
    }
    // Asks again once other processes had time to return money. The entry may be forgotten by then.
    const again = { ...waiting, hold: uncounted(hold), recalledSince: recalledSince ?? at };
    setTimeout(() => {
      if (!again.isAbandoned()) this.#addWaiting(this.#entryOf(hold), again);
    }, RECALL_AGAIN_MS);
  }

  #recall(ids: readonly string[]): void {
    for (const id of ids) {
      const entry = this.#entriesById.get(id);
      if (!entry) {
        this.#wantsAll = true;
        continue;
      }
      entry.isRecalled = true;
      this.#waitingOf(entry);
    }
  }

  /** Renews the lease while there is money, returns unneeded allowances, and forgets empty ones after a while. */
  #tick(): void {
    const nowMs = performance.now();
    let hasMoney = false;
    for (const entry of this.#entries.values()) {
      const { isEmpty } = entry.allowance;
      hasMoney ||= !isEmpty;
      if (this.#waitingByEntry.has(entry)) continue;
      if (isEmpty && !entry.mayComeBack(nowMs)) this.#forget(entry);
      else if (entry.isUnneeded(nowMs) && entry.hasFree()) this.#waitingOf(entry);
    }
    if (hasMoney || this.#waitingByEntry.size > 0) this.renew();
  }

  #forget(entry: Entry): void {
    this.#entries.delete(entry.name);
    this.#entriesById.delete(entry.id);
  }
}

/** Returns the hold as of a request that was counted before. */
function uncounted(hold: NewTextHold): NewTextHold {
  return { ...hold, requestLimit: null };
}

function unavailable(): ServiceError {
  return new ServiceError('processing_unavailable', 'The service is overloaded. Wait a little and try again.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
