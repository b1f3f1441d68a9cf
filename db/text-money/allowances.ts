/**
 * The allowances of this process: requests hold and settle in memory, and one statement after the other takes more
 * money, returns what is not needed, and writes completed requests.
 *
 * - A request that the allowance covers waits for nothing. Another waits for the next statement.
 * - Settlements are written within 20 ms. Every write, and a renewal each 250 ms, extends the lease of the process;
 *   without it, nothing is held in memory.
 * - A write whose answer is lost is repeated with its number until the database answers.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Allowance, amountOf, type Credit, NO_CREDIT } from '../../domain/allowance.ts';
import { ServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type { RefusedHold } from '../../domain/text-refusal.ts';
import { isConnectionLost, isUnavailable } from '../connections.ts';
import { isRefusal } from '../database.ts';
import { LEASE_SECONDS } from '../text-lease.ts';
import type { RequestWindow } from '../queries/request-windows.ts';
import type {
  AllowanceAsk,
  AskAnswer,
  KeptAllowance,
  NewTextHold,
  TextDecision,
  TextLedger,
  TextSettlement,
  TextWrite,
  WaitingHold,
  WrittenText,
} from './ledger.ts';

/** The money that a request holds. */
export interface HeldText {
  readonly refusal: null;
  readonly amount: PicoUsd;
  /** The place of the request among those of its key; null if it was counted before. */
  readonly window: RequestWindow | null;
  /** Ends the request. Resolves when that is written; never rejects. */
  settle(settlement: UnpaidSettlement): Promise<void>;
}

export type DecidedHold = HeldText | (RefusedHold & { readonly window: RequestWindow | null });

/** A settlement before the allowance pays for it. */
export type UnpaidSettlement = Omit<TextSettlement, 'allowanceId' | 'held' | 'paid'>;

export interface Allowances {
  /**
   * Decides at once if the allowance covers the request.
   *
   * @throws ServiceError `processing_unavailable` if the database does not answer in time
   */
  hold(hold: NewTextHold): DecidedHold | Promise<DecidedHold>;
  /** Whether so many settlements wait for the database that no new request should be accepted. */
  isFull(): boolean;
  /** Extends the lease soon, and registers the process. */
  renew(): void;
  /** Writes everything, and returns all allowances. @returns how many settlements were not written in time */
  close(timeoutMs: number): Promise<number>;
}

const RENEW_EVERY_MS = 250;
const LEASE_MS = LEASE_SECONDS * 1000;
const WRITE_WITHIN_MS = 20;
const MAX_SETTLEMENTS_AT_ONCE = 1_000;
const MAX_HOLDS_AT_ONCE = 500;
const MAX_WAITING_SETTLEMENTS = 20_000;
/** An allowance that nobody used for so long returns. */
const IDLE_MS = 1_000;
/** The time in which `extra` is spent. */
const PERIOD_MS = 1_000;
/** An answer takes at most so long; afterwards the client should come back later. */
const ASK_TIMEOUT_MS = 5_000;
const RETRY_AFTER_SECONDS = 2;
/** The other processes return money within their renewal, or their leases end. */
const RECALL_AGAIN_MS = 25;
const RECALL_TIMEOUT_MS = LEASE_MS + 500;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
const REFUSED_PAUSE_MS = 5_000;

/** A request that waits for the ledger. */
interface Waiting extends WaitingHold {
  readonly sinceMs: number;
  /** Its place in the minute, once it was counted. */
  readonly window: RequestWindow | null;
  readonly resolve: (decided: DecidedHold) => void;
  readonly reject: (error: unknown) => void;
  readonly isAbandoned: () => boolean;
}

/** The allowance of an account's key, and what decides how large it is. */
interface Entry {
  readonly name: string;
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly allowance: Allowance;
  waiting: Waiting[];
  hasPlenty: boolean;
  isRecalled: boolean;
  /** When its key expires, by `performance.now()`. */
  validUntilMs: number;
  /** Places in the minute that this process may give away. */
  places: { next: number; readonly last: number; readonly untilMs: number };
  usedAtMs: number;
  /** Holds of this period and the previous one. */
  period: { startedAtMs: number; holds: number; amount: PicoUsd; largest: PicoUsd };
  previous: { holds: number; amount: PicoUsd; largest: PicoUsd };
}

interface WaitingSettlement {
  readonly settlement: TextSettlement;
  readonly entry: Entry;
  readonly resolve: () => void;
}

const NO_PLACES = { next: 1, last: 0, untilMs: 0 };
const NO_HOLDS = { holds: 0, amount: 0n, largest: 0n };

export function createAllowances(ledger: Pick<TextLedger, 'write'>, log: Logger): Allowances {
  const entries = new Map<string, Entry>();
  const entriesById = new Map<string, Entry>();
  /** Entries with requests that wait, or money to return. */
  const asking = new Set<Entry>();
  let settlements: WaitingSettlement[] = [];
  /** Settlements that are not written, in whatever state. */
  let unwritten = 0;
  /** Allowances that the ledger has and nothing here knows. */
  let strays: readonly KeptAllowance[] = [];
  let lastNumber = 0;
  let leaseUntilMs = 0;
  let isRenewalDue = false;
  let wantsAll = false;
  let isClosed = false;
  let isReported = false;
  let writing: Promise<void> | null = null;
  let timer: NodeJS.Timeout | null = null;
  let isScheduled = false;
  let idleWaiters: (() => void)[] = [];
  const ticking = setInterval(tick, RENEW_EVERY_MS);
  ticking.unref();

  function entryOf({ accountId, apiKeyId }: NewTextHold): Entry {
    const name = `${accountId} ${apiKeyId}`;
    const known = entries.get(name);
    if (known) return known;
    const entry: Entry = {
      name,
      id: newId('allowance'),
      accountId,
      apiKeyId,
      allowance: new Allowance(),
      waiting: [],
      hasPlenty: false,
      isRecalled: false,
      validUntilMs: 0,
      places: NO_PLACES,
      usedAtMs: 0,
      period: { startedAtMs: 0, ...NO_HOLDS },
      previous: NO_HOLDS,
    };
    entries.set(name, entry);
    entriesById.set(entry.id, entry);
    return entry;
  }

  /** Holds in memory. @returns null if the ledger must decide */
  function holdAtOnce(entry: Entry, hold: NewTextHold, window: RequestWindow | null, nowMs: number): HeldText | null {
    const isUsable = entry.hasPlenty && !entry.isRecalled && nowMs < leaseUntilMs && nowMs < entry.validUntilMs;
    if (hold.free || hold.requestLimit !== null || !isUsable) return null;
    const held = entry.allowance.hold(hold.mostAmount, hold);
    return held && toHeld(entry, held, window, hold);
  }

  function toHeld(entry: Entry, held: Credit, window: RequestWindow | null, hold: NewTextHold): HeldText {
    return {
      refusal: null,
      amount: amountOf(held),
      window,
      settle: (unpaid) =>
        new Promise((resolve) => {
          const payment = entry.allowance.settle(held, unpaid.charge, hold);
          const allowanceId = amountOf(payment.paid) > 0n ? entry.id : null;
          settlements.push({ settlement: { ...unpaid, ...payment, allowanceId }, entry, resolve });
          unwritten += 1;
          if (!entry.hasPlenty && amountOf(entry.allowance.free) > 0n) asking.add(entry);
          scheduleSoon();
        }),
    };
  }

  function waitForLedger(
    entry: Entry,
    hold: NewTextHold,
    window: RequestWindow | null,
    nowMs: number,
  ): Promise<DecidedHold> {
    return new Promise((resolve, reject) => {
      let isAbandoned = false;
      const giveUp = setTimeout(() => {
        isAbandoned = true;
        entry.waiting = entry.waiting.filter((waiting) => !waiting.isAbandoned());
        reject(unavailable());
      }, ASK_TIMEOUT_MS);
      const first: Waiting = {
        hold,
        recalledSince: null,
        sinceMs: nowMs,
        window,
        resolve: (decided) => {
          clearTimeout(giveUp);
          resolve(decided);
        },
        reject: (error) => {
          clearTimeout(giveUp);
          reject(error);
        },
        isAbandoned: () => isAbandoned,
      };
      ask(entry, first);
    });
  }

  function ask(entry: Entry, waiting: Waiting): void {
    entry.waiting.push(waiting);
    asking.add(entry);
    scheduleNow();
  }

  /** Asks the ledger again a little later: other processes return money meanwhile. */
  function askAgain(waiting: Waiting): void {
    setTimeout(() => {
      // The entry may have been forgotten meanwhile.
      if (!waiting.isAbandoned()) ask(entryOf(waiting.hold), waiting);
    }, RECALL_AGAIN_MS);
  }

  function scheduleNow(): void {
    if (isScheduled || writing) return;
    isScheduled = true;
    // Everything that has already arrived becomes part of the write.
    setImmediate(() => {
      isScheduled = false;
      startWriting();
    });
  }

  function scheduleSoon(): void {
    if (timer || isScheduled) return;
    timer = setTimeout(() => {
      timer = null;
      startWriting();
    }, WRITE_WITHIN_MS);
  }

  function startWriting(): void {
    if (writing) return;
    if (timer) clearTimeout(timer);
    timer = null;
    writing = writeNext()
      .catch((error: unknown) => log.error({ err: error }, 'a write of allowances failed'))
      .finally(() => {
        writing = null;
        if (asking.size > 0 || isRenewalDue || wantsAll || strays.length > 0) scheduleNow();
        else if (settlements.length > 0) scheduleSoon();
        else resolveIdle();
      });
  }

  function resolveIdle(): void {
    for (const resolve of idleWaiters) resolve();
    idleWaiters = [];
  }

  async function writeNext(): Promise<void> {
    if (isRenewalDue) {
      isRenewalDue = false;
      await writeRenewal();
    }
    if (wantsAll) await reconcile();
    const batch = nextEntries();
    const ended = settlements.slice(0, MAX_SETTLEMENTS_AT_ONCE);
    settlements = settlements.slice(ended.length);
    if (batch.length + ended.length + strays.length > 0) await writeBatch(batch, ended);
  }

  /** Those that ask, up to a limit of requests; the rest stays for the next write. */
  function nextEntries(): Entry[] {
    const batch: Entry[] = [];
    let holds = 0;
    for (const entry of asking) {
      if (holds >= MAX_HOLDS_AT_ONCE) break;
      batch.push(entry);
      asking.delete(entry);
      holds += entry.waiting.length;
    }
    return batch;
  }

  async function writeRenewal(): Promise<void> {
    const written = await writeUntilAnswered({ asks: [], settlements: [] });
    recall(written.recalled);
    const sum = [...entries.values()].reduce((total, { allowance }) => total + amountOf(allowance.total), 0n);
    if (written.sum !== null && written.sum !== sum) wantsAll = true;
  }

  /** Takes over what the ledger has, after a write or the database's recent past was lost. */
  async function reconcile(): Promise<void> {
    wantsAll = false;
    const { allowances } = await writeUntilAnswered({ asks: [], settlements: [], wantsAll: true });
    const totals = new Map(allowances.map(({ id, total }) => [id, total]));
    for (const entry of entries.values()) entry.allowance.setTotal(totals.get(entry.id) ?? NO_CREDIT);
    strays = allowances.filter(({ id }) => !entriesById.has(id));
  }

  /** Writes a batch; if PostgreSQL refuses it, each part alone, so that a bad one fails only itself. */
  async function writeBatch(batch: readonly Entry[], ended: readonly WaitingSettlement[]): Promise<void> {
    const nowMs = performance.now();
    const taken = batch.map((entry) => ({ entry, waiting: takeWaiting(entry), isAnswered: entry.isRecalled }));
    const returned = strays.map(returnAll);
    strays = [];
    const asks = [...taken.map(({ entry, waiting }) => toAsk(entry, waiting, nowMs)), ...returned];
    let written: WrittenText;
    try {
      written = await writeUntilAnswered({ asks, settlements: ended.map(({ settlement }) => settlement) });
    } catch (error) {
      for (const { entry, waiting } of taken) {
        entry.allowance.cancelReturn();
        entry.waiting = [...waiting, ...entry.waiting];
      }
      await writeAlone(batch, ended, error);
      return;
    }
    for (const { settlement, entry, resolve } of ended) {
      entry.allowance.confirm(settlement.paid);
      unwritten -= 1;
      resolve();
    }
    const totals = new Map(written.allowances.map(({ id, total }) => [id, total]));
    const touched = ended.flatMap(({ settlement, entry }) => (settlement.allowanceId === null ? [] : [entry]));
    for (const entry of new Set([...batch, ...touched])) {
      entry.allowance.setTotal(totals.get(entry.id) ?? NO_CREDIT);
    }
    if (written.isRepeated) {
      for (const { entry, waiting } of taken)
        for (const one of waiting) ask(entry, { ...one, hold: uncounted(one.hold) });
    } else {
      applyAnswers(taken, written);
    }
    recall(written.recalled);
  }

  function takeWaiting(entry: Entry): readonly Waiting[] {
    const { waiting } = entry;
    entry.waiting = [];
    return waiting.filter((one) => !one.isAbandoned());
  }

  function toAsk(entry: Entry, waiting: readonly Waiting[], nowMs: number): AllowanceAsk {
    const { holds, amount, largest } = recentHolds(entry, nowMs);
    return {
      id: entry.id,
      accountId: entry.accountId,
      apiKeyId: entry.apiKeyId,
      returned: entry.allowance.startReturn(),
      extra: amount,
      largest,
      extraRequests: holds,
      isAnswered: entry.isRecalled,
      holds: waiting,
    };
  }

  async function writeAlone(
    batch: readonly Entry[],
    ended: readonly WaitingSettlement[],
    error: unknown,
  ): Promise<void> {
    if (batch.length + ended.length > 1) {
      for (const entry of batch) await writeBatch([entry], []);
      for (const settlement of ended) await writeBatch([], [settlement]);
      return;
    }
    for (const entry of batch) {
      for (const { reject } of takeWaiting(entry)) reject(error);
    }
    for (const waiting of ended) {
      const { id } = waiting.settlement.hold;
      log.error({ err: error, text_request_id: id }, 'a settlement could not be written yet');
      setTimeout(() => {
        settlements.push(waiting);
        scheduleSoon();
      }, REFUSED_PAUSE_MS).unref();
    }
  }

  function applyAnswers(
    taken: readonly { readonly entry: Entry; readonly waiting: readonly Waiting[]; readonly isAnswered: boolean }[],
    { decisions, answers, msLeft, at }: WrittenText,
  ): void {
    const nowMs = performance.now();
    const next = decisions.values();
    taken.forEach(({ entry, waiting, isAnswered }, index) => {
      const answer = answers[index];
      if (!answer) throw new Error('write_text answers every ask');
      applyAnswer(entry, answer, nowMs);
      if (isAnswered) entry.isRecalled = false;
      let lastPlace = 0;
      for (const one of waiting) {
        const decision = next.next().value;
        if (!decision) throw new Error('write_text decides on every request');
        lastPlace = Math.max(lastPlace, decision.position ?? 0);
        const window = decision.position === null ? one.window : windowAt(decision.position, msLeft);
        decide(entry, { ...one, window }, decision, at, nowMs);
      }
      const { countedTo } = answer;
      if (countedTo !== null && countedTo > lastPlace) {
        entry.places = { next: lastPlace + 1, last: countedTo, untilMs: nowMs + msLeft };
      }
      if (!entry.hasPlenty && amountOf(entry.allowance.free) > 0n) asking.add(entry);
    });
  }

  function applyAnswer(entry: Entry, { hasPlenty, hasToppedUp, validMs }: AskAnswer, nowMs: number): void {
    entry.hasPlenty = hasPlenty;
    entry.validUntilMs = validMs === null ? Infinity : nowMs + validMs;
    entry.allowance.setToppedUp(hasToppedUp);
  }

  function decide(entry: Entry, waiting: Waiting, decision: TextDecision, at: string, nowMs: number): void {
    const { hold, window } = waiting;
    // The money of a request that was given up stays free, and returns.
    if (waiting.isAbandoned()) return;
    if (decision.refusal === null) {
      entry.allowance.addHold(decision.held);
      return waiting.resolve(toHeld(entry, decision.held, window, hold));
    }
    if (decision.isRecalling && nowMs - waiting.sinceMs < RECALL_TIMEOUT_MS) {
      const recalledSince = waiting.recalledSince ?? at;
      return askAgain({ ...waiting, hold: uncounted(hold), recalledSince });
    }
    waiting.resolve({ ...decision, window });
  }

  function recall(ids: readonly string[]): void {
    for (const id of ids) {
      const entry = entriesById.get(id);
      if (entry) {
        entry.isRecalled = true;
        asking.add(entry);
      } else {
        wantsAll = true;
      }
    }
  }

  /** @throws DatabaseError if PostgreSQL refuses; retries everything else until the process closes */
  async function writeUntilAnswered(write: Omit<TextWrite, 'number'>): Promise<WrittenText> {
    lastNumber += 1;
    const numbered = { ...write, number: lastNumber };
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const sentAtMs = performance.now();
      try {
        const written = await ledger.write(numbered);
        // The database counts from later on.
        leaseUntilMs = sentAtMs + LEASE_MS;
        if (isReported) log.info('the database answers again');
        isReported = false;
        return written;
      } catch (error) {
        if (isRefusal(error) && !isConnectionLost(error) && !isUnavailable(error)) throw error;
        if (isClosed) throw error;
        if (!isReported) log.error({ err: error }, 'the database does not answer; text waits for it');
        isReported = true;
      }
      await sleep(pauseMs);
    }
  }

  /** Renews the lease, returns what nobody uses, and forgets what is empty. */
  function tick(): void {
    const nowMs = performance.now();
    for (const entry of entries.values()) {
      if (nowMs - entry.usedAtMs < IDLE_MS || entry.waiting.length > 0) continue;
      if (amountOf(entry.allowance.free) > 0n) asking.add(entry);
      else if (entry.allowance.isEmpty && !asking.has(entry)) {
        entries.delete(entry.name);
        entriesById.delete(entry.id);
      }
    }
    if (entries.size === 0) return;
    isRenewalDue = true;
    scheduleNow();
  }

  return {
    hold(hold) {
      const nowMs = performance.now();
      const entry = entryOf(hold);
      countHold(entry, hold.mostAmount, nowMs);
      const window = hold.requestLimit === null ? null : takePlace(entry, nowMs);
      const counted = window === null ? hold : uncounted(hold);
      return holdAtOnce(entry, counted, window, nowMs) ?? waitForLedger(entry, counted, window, nowMs);
    },

    isFull: () => unwritten >= MAX_WAITING_SETTLEMENTS,

    renew: () => {
      if (isClosed) return;
      isRenewalDue = true;
      scheduleNow();
    },

    async close(timeoutMs) {
      clearInterval(ticking);
      isRenewalDue = false;
      for (const entry of entries.values()) if (!entry.allowance.isEmpty) asking.add(entry);
      const done = new Promise<void>((resolve) => idleWaiters.push(resolve));
      if (!writing) startWriting();
      await Promise.race([done, sleep(timeoutMs, undefined, { ref: false })]);
      isClosed = true;
      return unwritten;
    },
  };
}

/** The request has been counted already. */
function uncounted(hold: NewTextHold): NewTextHold {
  return { ...hold, requestLimit: null };
}

function returnAll({ id, accountId, apiKeyId, total }: KeptAllowance): AllowanceAsk {
  return {
    id,
    accountId,
    apiKeyId,
    returned: total,
    extra: 0n,
    largest: 0n,
    extraRequests: 0,
    isAnswered: true,
    holds: [],
  };
}

function windowAt(position: number, msLeft: number): RequestWindow {
  return { position, secondsLeft: Math.max(1, Math.ceil(msLeft / 1000)) };
}

/** A place of the minute that this process may give away; null if it has none. */
function takePlace({ places }: Entry, nowMs: number): RequestWindow | null {
  if (places.next > places.last || nowMs >= places.untilMs) return null;
  return windowAt(places.next++, places.untilMs - nowMs);
}

function countHold(entry: Entry, amount: PicoUsd, nowMs: number): void {
  const { period } = entry;
  const ageMs = nowMs - period.startedAtMs;
  if (ageMs >= PERIOD_MS) {
    entry.previous = ageMs < 2 * PERIOD_MS ? period : NO_HOLDS;
    entry.period = { startedAtMs: nowMs, holds: 1, amount, largest: amount };
  } else {
    period.holds += 1;
    period.amount += amount;
    if (amount > period.largest) period.largest = amount;
  }
  entry.usedAtMs = nowMs;
}

/** What the next period may need, as the last ones did. */
function recentHolds({ period, previous }: Entry, nowMs: number): typeof NO_HOLDS {
  if (nowMs - period.startedAtMs >= 2 * PERIOD_MS) return NO_HOLDS;
  const largest = period.largest > previous.largest ? period.largest : previous.largest;
  const busier = period.holds > previous.holds ? period : previous;
  return { holds: busier.holds, amount: busier.amount, largest };
}

function unavailable(): ServiceError {
  return new ServiceError('processing_unavailable', 'The service is overloaded. Wait a little and try again.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
