/**
 * The circuit breaker of upstreams. An open circuit keeps requests from a failing upstream; when the opening has
 * passed, the circuit is half-open, and a single request probes the upstream. A probe costs one request, so the first
 * openings are short: an upstream that recovers soon gets its traffic back soon.
 */

/** `half-open`: the next request is the probe. While a probe is in progress, the circuit is `open` to all others. */
export type CircuitState = 'closed' | 'half-open' | 'open';

export interface Opening<Cause> {
  readonly cause: Cause;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** @param isProbed whether a probe is in progress after an opening */
export function circuitState<Cause>(
  opening: Opening<Cause> | null,
  nowMs: number,
  isProbed: (opening: Opening<Cause>) => boolean,
): CircuitState {
  if (opening === null) return 'closed';
  return nowMs < opening.untilMs || isProbed(opening) ? 'open' : 'half-open';
}

/** A circuit as operators see it: `resting` is open, and `probing` is half-open or probed. */
export interface CircuitStatus<Cause> {
  readonly state: 'ok' | 'resting' | 'probing';
  readonly cause: Cause | null;
  readonly sinceMs: number | null;
  readonly untilMs: number | null;
}

export function describeCircuit<Cause>(opening: Opening<Cause> | null, nowMs: number): CircuitStatus<Cause> {
  if (opening === null) return { state: 'ok', cause: null, sinceMs: null, untilMs: null };
  return { state: nowMs < opening.untilMs ? 'resting' : 'probing', ...opening };
}

export const MAX_OPEN_MS = 60_000;
/** Openings in a row that last as long as the first. */
const EQUAL_OPENINGS = 6;

/**
 * The duration of an opening, in milliseconds: the first six in a row last `firstMs`, the next ones twice as long each,
 * at most {@link MAX_OPEN_MS}.
 *
 * @param openingsBefore openings since the upstream last worked
 */
export function openDurationMs(firstMs: number, openingsBefore: number): number {
  return Math.min(firstMs * 2 ** Math.max(openingsBefore - EQUAL_OPENINGS + 1, 0), MAX_OPEN_MS);
}
