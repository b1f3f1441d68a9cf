/** How ways to models stand, for operators to see. */
import type { WireFormatName } from '../../domain/wire-format-name.ts';
import { UPSTREAM_FAULTS } from '../../text/upstream-errors.ts';
import type { Closure } from './closures.ts';
import type { WayReport } from './health-board.ts';
import type { Way } from './ways.ts';

/** Why a way rests: what is wrong with its upstream, or because an operator ordered it. */
export const WAY_CAUSES = [...UPSTREAM_FAULTS, 'operator'] as const;

/** How one way to a model stands. */
export interface WayState {
  readonly name: string;
  readonly format: WireFormatName;
  /** The upstream's name for it. */
  readonly model: string;
  /** The last four characters of the key. */
  readonly key: string;
  /** `probing`: its rest is over, and one request finds out. */
  readonly state: 'ok' | 'resting' | 'probing';
  readonly cause: (typeof WAY_CAUSES)[number] | null;
  readonly sinceMs: number | null;
  readonly untilMs: number | null;
  /** Since the process started. */
  readonly requests: number;
  readonly failures: number;
}

const SHOWN_KEY_CHARACTERS = 4;

/** Enough of a key to tell it from the others. */
export function shownKey(key: string): string {
  return key.slice(-SHOWN_KEY_CHARACTERS);
}

/** @param closure by which an operator has taken the upstream out of service, if one has */
export function stateOf(
  { route: { provider, format, model }, key }: Way,
  report: WayReport,
  closure: Closure | null,
): WayState {
  const rest =
    closure === null ? report : { ...report, ...closure, state: 'resting' as const, cause: 'operator' as const };
  return { name: provider, format, model, key: shownKey(key), ...rest };
}
