/** The state of ways to models, for operators. */
import type { UpstreamFormatName } from '../../domain/wire-format-name.ts';
import { UPSTREAM_FAULTS } from '../../text/upstream-errors.ts';
import type { OutOfService } from './overrides.ts';
import type { WayReport } from './health-board.ts';
import type { Way } from './ways.ts';

/** Why a way is resting: its upstream's fault, or an operator's order. */
export const WAY_CAUSES = [...UPSTREAM_FAULTS, 'operator'] as const;

/** The state of one way to a model. */
export interface WayState extends Omit<WayReport, 'cause'> {
  readonly name: string;
  readonly format: UpstreamFormatName;
  /** The upstream's name for the model. */
  readonly model: string;
  /** The last four characters of the key. */
  readonly key: string;
  readonly cause: (typeof WAY_CAUSES)[number] | null;
}

const SHOWN_KEY_CHARACTERS = 4;

/** Enough of a key to distinguish it from others. */
export function shownKey(key: string): string {
  return key.slice(-SHOWN_KEY_CHARACTERS);
}

/** @param outOfService the operator's order that took the upstream out of service, if any */
export function stateOf(
  { route: { provider, format, model }, key }: Way,
  report: WayReport,
  outOfService: OutOfService | null,
): WayState {
  const rest =
    outOfService === null
      ? report
      : { ...report, ...outOfService, state: 'resting' as const, cause: 'operator' as const };
  return { name: provider, format, model, key: shownKey(key), ...rest };
}
