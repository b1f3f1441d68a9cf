/**
 * The circuit of a part of an upstream: opens when the part keeps failing. Callers pass the time, so the state depends
 * only on the calls.
 *
 * After an opening, the circuit is half-open: a single request probes the part, and others take another route if they
 * can. {@link openDurationMs} computes the duration of an opening. Requests from before an opening do not end it.
 */
import { type CircuitState, circuitState, openDurationMs, type Opening } from '../../domain/circuit.ts';
import type { UpstreamFault } from '../../text/upstream-errors.ts';

/** A request whose outcome will be reported. */
export interface Call {
  /** The number of openings before it started. */
  readonly openingsBefore: number;
  /** Whether its answer started. */
  hasStarted: boolean;
}

/** Limits the waits that upstreams ask for, since some use units other than seconds. */
export const MAX_REQUESTED_WAIT_MS = 60 * 60_000;
export const FAILURES_IN_A_ROW = 5;
/** Clients that left before the silence of their upstream was a fault: so many in a row count as the failures above. */
export const CLIENTS_IN_A_ROW = 8;
/** How long a probe without an outcome blocks other requests. */
export const PROBE_PATIENCE_MS = 30_000;

interface Rule {
  /** Whether a single failure opens the circuit; otherwise failures are counted. */
  readonly atOnce: boolean;
  readonly firstOpenMs: number;
}

const COUNTED: Rule = { atOnce: false, firstOpenMs: 10_000 };
const AT_ONCE: Rule = { atOnce: true, firstOpenMs: 10_000 };

const RULES: Readonly<Record<UpstreamFault, Rule>> = {
  unreachable: COUNTED,
  key_refused: AT_ONCE,
  access_refused: AT_ONCE,
  model_unknown: AT_ONCE,
  rate_limited: { atOnce: true, firstOpenMs: 5_000 },
  failed: COUNTED,
  silent: COUNTED,
};

export class Health {
  /** From 0 to 1: shortens openings by up to a fifth, so that processes probe at different times. */
  readonly #random: () => number;
  #opening: Opening<UpstreamFault> | null = null;
  #openingCount = 0;
  /** Openings since the last complete answer. */
  #openingsInRow = 0;
  /** Failed attempts since an answer last started, and shares of an attempt for each client that left. */
  #failuresInRow = 0;
  /** Broken answers since the last complete answer. */
  #breaksInRow = 0;
  #probe: { readonly call: Call; readonly sinceMs: number } | null = null;
  #recent = new RecentOutcomes();

  constructor(random: () => number) {
    this.#random = random;
  }

  /** The current opening, or the last one until a probe succeeds. */
  get opening(): Opening<UpstreamFault> | null {
    return this.#opening;
  }

  state(nowMs: number): CircuitState {
    const probe = this.#probe;
    return circuitState(this.#opening, nowMs, () => probe !== null && nowMs - probe.sinceMs < PROBE_PATIENCE_MS);
  }

  /** Starts a request; it is the probe if the circuit is half-open. */
  start(nowMs: number): Call {
    const call: Call = { openingsBefore: this.#openingCount, hasStarted: false };
    if (this.state(nowMs) === 'half-open') this.#probe = { call, sinceMs: nowMs };
    return call;
  }

  /** Reports that the answer has started, or that this part works although another failed. */
  recordStart(call: Call): void {
    call.hasStarted = true;
    if (this.#isOld(call)) return;
    this.#failuresInRow = 0;
    this.#close();
  }

  /** Reports that the answer was complete. */
  ended(call: Call, nowMs: number): void {
    this.#recent.note('good', nowMs);
    if (this.#isOld(call)) return;
    this.#failuresInRow = 0;
    this.#breaksInRow = 0;
    this.#openingsInRow = 0;
    this.#close();
  }

  /** @param requestedWaitMs the wait that the upstream requested; null if it requested none */
  failed(call: Call, fault: UpstreamFault, nowMs: number, requestedWaitMs: number | null): void {
    const wasProbe = this.#probe?.call === call;
    this.released(call);
    if (requestedWaitMs !== null) return this.#openFor(fault, nowMs, Math.min(requestedWaitMs, MAX_REQUESTED_WAIT_MS));
    if (this.#isOld(call)) return;
    if (this.#opening !== null) {
      // Any other request was sent while the circuit was open, for lack of an alternative, and proves nothing new.
      if (wasProbe) this.#openForLonger(fault, nowMs);
      return;
    }
    this.#recent.note('bad', nowMs);
    const inRow = call.hasStarted ? (this.#breaksInRow += 1) : (this.#failuresInRow += 1);
    const isTooMuch = RULES[fault].atOnce || inRow >= FAILURES_IN_A_ROW || this.#recent.areBad(nowMs);
    if (isTooMuch) this.#openForLonger(fault, nowMs);
  }

  /** Reports that a client left although its answer had not started: weak evidence, which an answer refutes. */
  abandoned(call: Call, nowMs: number): void {
    if (this.#isOld(call) || this.#opening !== null) return;
    this.#failuresInRow += FAILURES_IN_A_ROW / CLIENTS_IN_A_ROW;
    if (this.#failuresInRow >= FAILURES_IN_A_ROW) this.#openForLonger('silent', nowMs);
  }

  /** Ends a request that revealed nothing about the part. */
  released(call: Call): void {
    if (this.#probe?.call === call) this.#probe = null;
  }

  /** Closes the circuit and clears the record of failures, at an operator's request. */
  reset(): void {
    this.#close();
    this.#openingCount += 1;
    this.#openingsInRow = 0;
    this.#failuresInRow = 0;
    this.#breaksInRow = 0;
    this.#recent = new RecentOutcomes();
  }

  #isOld({ openingsBefore }: Call): boolean {
    return openingsBefore < this.#openingCount;
  }

  #close(): void {
    this.#opening = null;
    this.#probe = null;
  }

  #openForLonger(fault: UpstreamFault, nowMs: number): void {
    const openMs = openDurationMs(RULES[fault].firstOpenMs, this.#openingsInRow);
    this.#openingsInRow += 1;
    this.#openFor(fault, nowMs, openMs * (1 - this.#random() / 5));
  }

  /** Opens the circuit, or extends an opening; never shortens one. */
  #openFor(cause: UpstreamFault, nowMs: number, openMs: number): void {
    const isNew = this.#opening === null || this.#opening.untilMs <= nowMs;
    const untilMs = nowMs + openMs;
    if (!isNew && this.#opening !== null && this.#opening.untilMs >= untilMs) return;
    this.#opening = { cause, sinceMs: this.#opening?.sinceMs ?? nowMs, untilMs };
    if (!isNew) return;
    this.#openingCount += 1;
    this.#probe = null;
    this.#failuresInRow = 0;
    this.#recent = new RecentOutcomes();
  }
}

const SLOT_MS = 10_000;
const SLOTS = 6;
const MIN_OUTCOMES = 10;

/** The outcomes of the last minute, in steps of ten seconds. */
class RecentOutcomes {
  readonly #slots = Array.from({ length: SLOTS }, () => ({ number: -1, good: 0, bad: 0 }));

  note(outcome: 'good' | 'bad', nowMs: number): void {
    const number = Math.floor(nowMs / SLOT_MS);
    const slot = this.#slots[number % SLOTS];
    if (slot === undefined) return;
    if (slot.number !== number) Object.assign(slot, { number, good: 0, bad: 0 });
    slot[outcome] += 1;
  }

  /** Whether more than half of at least {@link MIN_OUTCOMES} outcomes are bad. */
  areBad(nowMs: number): boolean {
    const oldest = Math.floor(nowMs / SLOT_MS) - SLOTS;
    let [good, bad] = [0, 0];
    for (const slot of this.#slots) {
      if (slot.number <= oldest) continue;
      good += slot.good;
      bad += slot.bad;
    }
    return good + bad >= MIN_OUTCOMES && bad > good;
  }
}
