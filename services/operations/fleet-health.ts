/** The health of upstreams over all processes. */
import type { Database } from '../../db/database.ts';
import {
  type CallTarget,
  type LatestFailure,
  listCalls,
  listLatestFailures,
  listOpenCircuits,
  nameOfTarget,
  type OpenCircuit,
  type TargetCalls,
} from '../../db/queries/upstream-calls.ts';
import { NO_CALLS } from '../../domain/upstream-calls.ts';
import { UPSTREAM_FAULTS } from '../../domain/circuit.ts';
import type { TextCircuitState } from '../../providers/text/circuits.ts';
import type { MediaCircuitState } from './media-circuits.ts';

type CircuitState = TextCircuitState | MediaCircuitState;

/** A circuit with the calls of all processes. */
export type UpstreamHealth = CircuitState &
  Pick<TargetCalls, 'lastFiveMinutes' | 'lastHour' | 'lastDay'> & {
    /** Null if the upstream has never failed. */
    readonly lastFailure: Pick<LatestFailure, 'failedAt' | 'fault' | 'status' | 'message'> | null;
    /** The number of processes in which the circuit of a text upstream is open. */
    readonly openIn: number;
  };

/** Adds the calls of all processes to circuits. A circuit is open if it is open in any process. */
export async function mergeFleetHealth(
  database: Database,
  circuits: readonly CircuitState[],
  nowMs: number,
): Promise<readonly UpstreamHealth[]> {
  const [calls, failures, open] = await Promise.all([
    listCalls(database),
    listLatestFailures(database),
    listOpenCircuits(database),
  ]);
  return circuits.map((circuit) => {
    const name = nameOfTarget(targetOf(circuit));
    const { lastFiveMinutes = NO_CALLS, lastHour = NO_CALLS, lastDay = NO_CALLS } = calls.get(name) ?? {};
    const reported = open.filter((one) => nameOfTarget(one) === name && one.untilMs > nowMs);
    const [longest] = reported.toSorted((one, two) => two.untilMs - one.untilMs);
    return {
      ...circuit,
      ...(circuit.state === 'ok' && longest && openLike(longest)),
      lastFiveMinutes,
      lastHour,
      lastDay,
      lastFailure: failures.get(name) ?? null,
      openIn: reported.length,
    };
  });
}

function targetOf(circuit: CircuitState): CallTarget {
  const { name: upstream, model } = circuit;
  return 'format' in circuit
    ? { upstream, format: circuit.format, model, key: circuit.key }
    : { upstream, format: '', model, key: '' };
}

function openLike({ cause, sinceMs, untilMs }: OpenCircuit) {
  const known = UPSTREAM_FAULTS.find((fault) => fault === cause) ?? 'failed';
  return { state: 'resting', cause: known, sinceMs, untilMs } as const;
}
