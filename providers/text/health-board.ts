/** The circuits of text upstreams in this process: which are open, why and until when. */
import { type CircuitState, type Opening, describeCircuit, type CircuitStatus } from '../../domain/circuit.ts';
import type { UpstreamFault } from '../../text/upstream-errors.ts';
import { type Call, Health } from './health.ts';
import type { Candidate } from './candidates.ts';

/** The parts of an upstream that fail separately, each with its own circuit; `access` is a key's access to a model. */
const PARTS = ['address', 'key', 'model', 'access'] as const;
type Part = (typeof PARTS)[number];

const PART_OF_FAULT: Readonly<Record<UpstreamFault, Part>> = {
  unreachable: 'address',
  key_refused: 'key',
  access_refused: 'access',
  model_unknown: 'model',
  rate_limited: 'access',
  failed: 'model',
  silent: 'model',
};

/** The names of a candidate's parts. Candidates with the same name share the part. */
function partsOf({ route: { provider, format, model }, key }: Candidate): Readonly<Record<Part, string>> {
  return {
    address: JSON.stringify([provider, format]),
    key: JSON.stringify([provider, 'key', key]),
    model: JSON.stringify([provider, format, model]),
    access: JSON.stringify([provider, format, model, key]),
  };
}

/** Whether two candidates share the part that a fault concerns. */
export function hasSharedFault(one: Candidate, other: Candidate, fault: UpstreamFault): boolean {
  const part = PART_OF_FAULT[fault];
  return partsOf(one)[part] === partsOf(other)[part];
}

export class HealthBoard {
  readonly #random: () => number;
  /** Bounded by the catalogue's routes and the upstreams' keys. */
  readonly #parts = new Map<string, Health>();
  readonly #candidates = new Map<string, { readonly provider: string; readonly health: CandidateHealth }>();

  /** @param random returns a number from 0 to 1 */
  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  of(candidate: Candidate): CandidateHealth {
    const { provider, format, model } = candidate.route;
    const name = `${provider}\n${format}\n${model}\n${candidate.key}`;
    const known = this.#candidates.get(name);
    if (known !== undefined) return known.health;
    const parts = partsOf(candidate);
    const health = new CandidateHealth(PARTS.map((part) => [part, this.#part(parts[part])]));
    this.#candidates.set(name, { provider, health });
    return health;
  }

  /** Clears an upstream's record of failures, at an operator's request. */
  reset(provider: string): void {
    for (const candidate of this.#candidates.values()) if (candidate.provider === provider) candidate.health.reset();
  }

  #part(name: string): Health {
    let health = this.#parts.get(name);
    if (health === undefined) this.#parts.set(name, (health = new Health(this.#random)));
    return health;
  }
}

/**
 * Faults that a single account can provoke by its requests, such as one with a missing file. Such a fault counts once a
 * second account has met it, with no answer in between.
 */
const PROVOCABLE: ReadonlySet<UpstreamFault> = new Set(['access_refused', 'model_unknown']);

/** The health of one candidate. Its circuit is open while the circuit of any part is. */
export class CandidateHealth {
  readonly #parts: readonly (readonly [Part, Health])[];
  /** The account that last met a provocable fault since an answer started; null if none did. */
  #refusedAccount: string | null = null;

  constructor(parts: readonly (readonly [Part, Health])[]) {
    this.#parts = parts;
  }

  state(nowMs: number): CircuitState {
    const states = this.#parts.map(([, health]) => health.state(nowMs));
    return (['open', 'half-open'] as const).find((state) => states.includes(state)) ?? 'closed';
  }

  /** The current opening that ends last; null if there is none. */
  openingAt(nowMs: number): Opening<UpstreamFault> | null {
    const opening = this.#latestOpening();
    return opening !== null && opening.untilMs > nowMs ? opening : null;
  }

  /** Starts a request. */
  start(nowMs: number, account: string): CandidateCall {
    const calls = this.#parts.map(([part, health]) => ({ part, health, call: health.start(nowMs) }));
    return new CandidateCall(this, calls, account);
  }

  /** An answer has started. */
  answered(): void {
    this.#refusedAccount = null;
  }

  /** Records a fault that an account met. @returns whether the upstream is certainly at fault */
  met(fault: UpstreamFault, account: string): boolean {
    if (!PROVOCABLE.has(fault)) return true;
    const isConfirmed = this.#refusedAccount !== null && this.#refusedAccount !== account;
    this.#refusedAccount = account;
    return isConfirmed;
  }

  /** Clears the record of failures. */
  reset(): void {
    this.#refusedAccount = null;
    for (const [, health] of this.#parts) health.reset();
  }

  circuit(nowMs: number): CircuitStatus<UpstreamFault> {
    return describeCircuit(this.#latestOpening(), nowMs);
  }

  #latestOpening(): Opening<UpstreamFault> | null {
    let latest: Opening<UpstreamFault> | null = null;
    for (const [, { opening }] of this.#parts) {
      if (opening !== null && (latest === null || opening.untilMs > latest.untilMs)) latest = opening;
    }
    return latest;
  }
}

/** A request as counted by one part of its candidate. */
interface PartCall {
  readonly part: Part;
  readonly health: Health;
  readonly call: Call;
}

/** A request over one candidate whose outcome will be reported. */
export class CandidateCall {
  readonly #candidate: CandidateHealth;
  readonly #calls: readonly PartCall[];
  readonly #account: string;
  #hasFailed = false;

  constructor(candidate: CandidateHealth, calls: readonly PartCall[], account: string) {
    this.#candidate = candidate;
    this.#calls = calls;
    this.#account = account;
  }

  /** The answer has started. */
  recordStart(): void {
    this.#candidate.answered();
    for (const { health, call } of this.#calls) health.recordStart(call);
  }

  /** The answer was complete. */
  ended(nowMs: number): void {
    for (const { health, call } of this.#calls) health.ended(call, nowMs);
  }

  /**
   * The upstream failed; only the first failure counts.
   *
   * @param requestedWaitMs the wait that the upstream requested; null if it requested none
   */
  failed(fault: UpstreamFault, nowMs: number, requestedWaitMs: number | null): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const isCertain = this.#candidate.met(fault, this.#account);
    for (const { part, health, call } of this.#calls) {
      if (isCertain && part === PART_OF_FAULT[fault]) health.failed(call, fault, nowMs, requestedWaitMs);
      else if (part === 'address') health.recordStart(call);
      else health.released(call);
    }
  }

  /** The client left although the answer had not started. The request may still be answered. */
  abandoned(nowMs: number): void {
    for (const { part, health, call } of this.#calls) {
      if (part === PART_OF_FAULT.silent) health.abandoned(call, nowMs);
    }
  }

  /** The request ended without showing anything about the upstream. */
  released(): void {
    for (const { health, call } of this.#calls) health.released(call);
  }
}
