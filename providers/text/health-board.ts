/** This process's knowledge of the health of text upstreams: which are resting, why and until when. */
import type { UpstreamFault } from '../../text/upstream-errors.ts';
import { Health, type Rest, type Standing, type Trial } from './health.ts';
import type { Way } from './ways.ts';

/** The parts of an upstream that fail and rest separately; `access` is that of a key to a model. */
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

/** The parts of a way, by the names under which ways share them. */
function partsOf({ route: { provider, format, model }, key }: Way): Readonly<Record<Part, string>> {
  return {
    address: JSON.stringify([provider, format]),
    key: JSON.stringify([provider, 'key', key]),
    model: JSON.stringify([provider, format, model]),
    access: JSON.stringify([provider, format, model, key]),
  };
}

/** Whether two ways share the part that a fault concerns. */
export function shareFault(one: Way, other: Way, fault: UpstreamFault): boolean {
  const part = PART_OF_FAULT[fault];
  return partsOf(one)[part] === partsOf(other)[part];
}

/** The health of a way, for operators. */
export interface WayReport {
  /** `probing`: its rest is over, and one request tests whether it works again. */
  readonly state: 'ok' | 'resting' | 'probing';
  readonly cause: UpstreamFault | null;
  readonly sinceMs: number | null;
  readonly untilMs: number | null;
  /** Since the process started. */
  readonly requests: number;
  readonly failures: number;
}

export class HealthBoard {
  readonly #random: () => number;
  /** At most as many as the catalogue's routes and the upstreams' keys produce. */
  readonly #parts = new Map<string, Health>();
  readonly #ways = new Map<string, { readonly provider: string; readonly health: WayHealth }>();

  /** @param random from 0 to 1 */
  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  of(way: Way): WayHealth {
    const { provider, format, model } = way.route;
    const name = `${provider}\n${format}\n${model}\n${way.key}`;
    const known = this.#ways.get(name);
    if (known !== undefined) return known.health;
    const parts = partsOf(way);
    const health = new WayHealth(PARTS.map((part) => [part, this.#part(parts[part])]));
    this.#ways.set(name, { provider, health });
    return health;
  }

  /** Clears an upstream's record of failures, on an operator's order. */
  reset(provider: string): void {
    for (const way of this.#ways.values()) if (way.provider === provider) way.health.reset();
  }

  #part(name: string): Health {
    let health = this.#parts.get(name);
    if (health === undefined) this.#parts.set(name, (health = new Health(this.#random)));
    return health;
  }
}

/**
 * Faults that one account may provoke by what it sends, such as a missing file. They count once another account has met
 * the same, with no answer in between.
 */
const PROVOCABLE: ReadonlySet<UpstreamFault> = new Set(['access_refused', 'model_unknown']);

/** The health of one way, which rests while any part of it does. */
export class WayHealth {
  readonly #parts: readonly (readonly [Part, Health])[];
  #requests = 0;
  #failures = 0;
  /** The account that was refused last since an answer began; null if none was. */
  #refusedAccount: string | null = null;

  constructor(parts: readonly (readonly [Part, Health])[]) {
    this.#parts = parts;
  }

  standing(nowMs: number): Standing {
    let worst: Standing = 'ready';
    for (const [, health] of this.#parts) {
      const standing = health.standing(nowMs);
      if (standing === 'resting') return 'resting';
      if (standing === 'due') worst = 'due';
    }
    return worst;
  }

  /** The current rest that ends last; null if there is none. */
  restAt(nowMs: number): Rest | null {
    const rest = this.#longestRest();
    return rest !== null && rest.untilMs > nowMs ? rest : null;
  }

  /** Begins a request. */
  start(nowMs: number, account: string): WayTrial {
    this.#requests += 1;
    const trials = this.#parts.map(([part, health]) => ({ part, health, trial: health.start(nowMs) }));
    return new WayTrial(trials, {
      begun: () => (this.#refusedAccount = null),
      failed: (fault) => {
        this.#failures += 1;
        if (!PROVOCABLE.has(fault)) return true;
        const isConfirmed = this.#refusedAccount !== null && this.#refusedAccount !== account;
        this.#refusedAccount = account;
        return isConfirmed;
      },
    });
  }

  /** Clears the record of failures. */
  reset(): void {
    this.#refusedAccount = null;
    for (const [, health] of this.#parts) health.reset();
  }

  report(nowMs: number): WayReport {
    const rest = this.#longestRest();
    return {
      state: rest === null ? 'ok' : nowMs < rest.untilMs ? 'resting' : 'probing',
      cause: rest?.cause ?? null,
      sinceMs: rest?.sinceMs ?? null,
      untilMs: rest?.untilMs ?? null,
      requests: this.#requests,
      failures: this.#failures,
    };
  }

  #longestRest(): Rest | null {
    let longest: Rest | null = null;
    for (const [, { rest }] of this.#parts) {
      if (rest !== null && (longest === null || rest.untilMs > longest.untilMs)) longest = rest;
    }
    return longest;
  }
}

/** The outcome of a request, as its way records it. */
interface TrialObserver {
  readonly begun: () => void;
  /** @returns whether the fault is the upstream's for certain */
  readonly failed: (fault: UpstreamFault) => boolean;
}

/** A request over one way whose outcome will be reported. */
export class WayTrial {
  readonly #trials: readonly { readonly part: Part; readonly health: Health; readonly trial: Trial }[];
  readonly #observer: TrialObserver;
  #hasFailed = false;

  constructor(
    trials: readonly { readonly part: Part; readonly health: Health; readonly trial: Trial }[],
    observer: TrialObserver,
  ) {
    this.#trials = trials;
    this.#observer = observer;
  }

  /** The answer has begun. */
  begun(): void {
    this.#observer.begun();
    for (const { health, trial } of this.#trials) health.begun(trial);
  }

  /** The answer was complete. */
  ended(nowMs: number): void {
    for (const { health, trial } of this.#trials) health.ended(trial, nowMs);
  }

  /**
   * The upstream failed; only the first failure counts.
   *
   * @param askedRestMs how long it asked to be left alone; null if it did not
   */
  failed(fault: UpstreamFault, nowMs: number, askedRestMs: number | null): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const isCertain = this.#observer.failed(fault);
    for (const { part, health, trial } of this.#trials) {
      if (isCertain && part === PART_OF_FAULT[fault]) health.failed(trial, fault, nowMs, askedRestMs);
      else if (part === 'address') health.begun(trial);
      else health.released(trial);
    }
  }

  /** It ended without saying anything about the upstream. */
  released(): void {
    for (const { health, trial } of this.#trials) health.released(trial);
  }
}
