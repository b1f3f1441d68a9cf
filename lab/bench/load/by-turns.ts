import { percentile, rounded } from '../statistics.ts';

const CLIENTS = 4;

/** A request of each kind: with a dead upstream first in its routes, and with only the other one. */
export type AskEither = Readonly<Record<'alone' | 'withDead', () => Promise<void>>>;

/**
 * Sends requests of both kinds in turn: each client sends one of each, in alternating order.
 *
 * @param pairs the number of requests of each kind
 * @returns the time that the dead upstream adds to a request
 */
export async function measureByTurns(ask: AskEither, pairs: number) {
  const latencies = { alone: [] as number[], withDead: [] as number[] };
  const kinds = ['alone', 'withDead'] as const;
  const client = async (): Promise<void> => {
    for (let pair = 0; pair < pairs / CLIENTS; pair += 1) {
      for (const kind of pair % 2 === 0 ? kinds : kinds.toReversed()) {
        const startedAt = performance.now();
        await ask[kind]();
        latencies[kind].push(performance.now() - startedAt);
      }
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  const at = (share: number) => [percentile(latencies.alone, share), percentile(latencies.withDead, share)] as const;
  const [[aloneP50, deadP50], [aloneP95, deadP95]] = [at(0.5), at(0.95)];
  return {
    added_p50_ms: rounded(deadP50 - aloneP50, 2),
    added_p95_ms: rounded(deadP95 - aloneP95, 2),
    p95_ms: rounded(deadP95, 2),
    p95_alone_ms: rounded(aloneP95, 2),
    ratio_of_p95: rounded(deadP95 / aloneP95, 2),
    requests_each: pairs,
  };
}
