/**
 * How long an open circuit keeps requests from an upstream before the next probe. A probe costs one request, so the
 * first openings are short: an upstream that recovers soon gets its traffic back soon.
 */

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
