/** The circuits of text upstreams in this process: one for each candidate. */
import {
  type CallOutcome,
  type Circuit,
  type CircuitState,
  circuitState,
  type CircuitStatus,
  closeCircuit,
  describeCircuit,
  FAULT_RULES,
  newCircuit,
  openLike,
  type Opening,
  recordCall,
  recordOutcome,
  type UpstreamFault,
} from '../../domain/circuit.ts';
import type { UpstreamFormatName } from '../../domain/wire-format-name.ts';
import { type Candidate, keyHint } from './candidates.ts';
import type { OutOfService } from '../../domain/upstream-override.ts';

const WINDOW_MS = 60_000;

/** The circuit of one candidate for a model, for operators. */
export interface TextCircuitState extends CircuitStatus {
  readonly name: string;
  readonly format: UpstreamFormatName;
  /** The upstream's name for the model. */
  readonly model: string;
  /** The last four characters of the key. */
  readonly key: string;
}

/** Whether two candidates share the part that a fault concerns. */
export function hasSharedFault(one: Candidate, other: Candidate, fault: UpstreamFault): boolean {
  const { part } = FAULT_RULES[fault];
  if (one.route.provider !== other.route.provider) return false;
  if (part === 'key') return one.key === other.key;
  if (one.route.format !== other.route.format) return false;
  if (part === 'address') return true;
  return one.route.model === other.route.model && (part === 'model' || one.key === other.key);
}

export class CircuitBoard {
  readonly random: () => number;
  /** Bounded by the catalogue's routes and the upstreams' keys. */
  readonly #circuits = new Map<string, CandidateCircuit>();

  /** @param random returns a number from 0 to 1 */
  constructor(random: () => number = Math.random) {
    this.random = random;
  }

  of(candidate: Candidate): CandidateCircuit {
    const { provider, format, model } = candidate.route;
    const name = `${provider}\n${format}\n${model}\n${candidate.key}`;
    const known = this.#circuits.get(name);
    if (known !== undefined) return known;
    const created = new CandidateCircuit(this, candidate);
    for (const other of this.#circuits.values()) created.openWith(other);
    this.#circuits.set(name, created);
    return created;
  }

  /** Closes an upstream's circuits and clears its record of failures, at an operator's request. */
  reset(provider: string, nowMs: number, model: string | null = null): void {
    for (const one of this.#circuits.values()) {
      const { route } = one.candidate;
      if (route.provider === provider && (model === null || route.model === model)) one.reset(nowMs);
    }
  }

  /** Opens and closes the circuits that share the part at fault with a circuit that opened or closed. */
  share(changed: CandidateCircuit, closed: Opening | null): void {
    for (const other of this.#circuits.values()) {
      if (changed.opening !== null) other.openWith(changed);
      else other.closeWith(closed);
    }
  }
}

/** The circuit of one candidate. */
export class CandidateCircuit {
  readonly candidate: Candidate;
  readonly #board: CircuitBoard;
  #circuit: Circuit = newCircuit(WINDOW_MS);

  constructor(board: CircuitBoard, candidate: Candidate) {
    this.#board = board;
    this.candidate = candidate;
  }

  /** The current opening, or the last one until a probe succeeds. */
  get opening(): Opening | null {
    return this.#circuit.opening;
  }

  state(nowMs: number): CircuitState {
    return circuitState(this.#circuit, nowMs);
  }

  /** The current opening; null if there is none. */
  openingAt(nowMs: number): Opening | null {
    return this.opening !== null && this.opening.untilMs > nowMs ? this.opening : null;
  }

  /** @param outOfService the operator's override that took the upstream out of service, if any */
  describe(outOfService: OutOfService | null, nowMs: number): TextCircuitState {
    const { route, key } = this.candidate;
    const { provider: name, format, model } = route;
    return { name, format, model, key: keyHint(key), ...describeCircuit(this, outOfService, nowMs) };
  }

  /** Starts a call for an account. */
  start(nowMs: number, account: string): CircuitCall {
    this.#circuit = recordCall(this.#circuit, nowMs);
    let hasStarted = false;
    let hasFailed = false;
    return {
      record: (outcome, atMs) => {
        hasStarted ||= outcome === 'started';
        this.#record(nowMs, outcome, atMs);
      },
      failed: (fault, atMs, requestedWaitMs) => {
        if (hasFailed) return;
        hasFailed = true;
        const failure = { fault, hadStarted: hasStarted, requestedWaitMs, account, random: this.#board.random() };
        this.#record(nowMs, failure, atMs);
      },
    };
  }

  reset(nowMs: number): void {
    this.#circuit = newCircuit(WINDOW_MS, nowMs);
  }

  /** Opens this circuit if it shares the part whose fault opened the other. */
  openWith(other: CandidateCircuit): void {
    const { opening, countsFromMs } = other.#circuit;
    if (opening === null || opening === this.opening) return;
    if (!hasSharedFault(this.candidate, other.candidate, opening.cause)) return;
    this.#circuit = openLike(this.#circuit, opening, countsFromMs);
  }

  /** Closes this circuit if it opened with the other. */
  closeWith(opening: Opening | null): void {
    if (this.opening === opening) this.#circuit = closeCircuit(this.#circuit);
  }

  #record(startedAtMs: number, outcome: CallOutcome, nowMs: number): void {
    const before = this.opening;
    this.#circuit = recordOutcome(this.#circuit, startedAtMs, outcome, nowMs);
    if (this.opening !== before) this.#board.share(this, before);
  }
}

/** A call whose outcomes are reported. */
export interface CircuitCall {
  record(outcome: Extract<CallOutcome, string>, nowMs: number): void;
  /**
   * The upstream failed; only the first failure counts.
   *
   * @param requestedWaitMs the wait that the upstream requested; null if it requested none
   */
  failed(fault: UpstreamFault, nowMs: number, requestedWaitMs: number | null): void;
}
