/** The circuits of text upstreams, for operators. */
import type { CircuitStatus } from '../../domain/circuit.ts';
import type { UpstreamFormatName } from '../../domain/wire-format-name.ts';
import { UPSTREAM_FAULTS, type UpstreamFault } from '../../text/upstream-errors.ts';
import type { OutOfService } from './overrides.ts';
import type { Candidate } from './candidates.ts';

/** Why a circuit is open: the upstream's fault, or an operator's override. */
export const CIRCUIT_CAUSES = [...UPSTREAM_FAULTS, 'operator'] as const;

/** The circuit of one candidate for a model. */
export interface TextCircuitState extends CircuitStatus<(typeof CIRCUIT_CAUSES)[number]> {
  readonly name: string;
  readonly format: UpstreamFormatName;
  /** The upstream's name for the model. */
  readonly model: string;
  /** The last four characters of the key. */
  readonly key: string;
}

const SHOWN_KEY_CHARACTERS = 4;

/** The end of a key, which is enough to distinguish it from others. */
export function keyHint(key: string): string {
  return key.slice(-SHOWN_KEY_CHARACTERS);
}

/** @param outOfService the operator's override that took the upstream out of service, if any */
export function stateOf(
  { route: { provider, format, model }, key }: Candidate,
  circuit: CircuitStatus<UpstreamFault>,
  outOfService: OutOfService | null,
): TextCircuitState {
  const shown =
    outOfService === null ? circuit : { ...outOfService, state: 'resting' as const, cause: 'operator' as const };
  return { name: provider, format, model, key: keyHint(key), ...shown };
}
