/**
 * Orders the candidates for a model. Requests with the same affinity use the same candidate if possible, so that
 * upstreams' prompt caches stay warm; other requests spread out. The order depends on nothing but its arguments.
 */
import { createHash } from 'node:crypto';
import type { AnswerTimeouts } from '../../catalogue/answer-timeouts.ts';
import type { UpstreamFormatName } from '../../domain/wire-format-name.ts';

/** One route to a model. */
export interface UpstreamRoute extends AnswerTimeouts {
  readonly provider: string;
  readonly format: UpstreamFormatName;
  /** The model's name at the upstream. */
  readonly model: string;
  /** Routes with a lower order are tried first. */
  readonly order: number;
  /** The share of requests among routes of equal order. */
  readonly weight: number;
}

/** A candidate: a route with one of its upstream's keys. */
export interface Candidate<Route extends UpstreamRoute = UpstreamRoute> {
  readonly route: Route;
  readonly key: string;
}

const SHOWN_KEY_CHARACTERS = 4;

/** The end of a key, which is enough to distinguish it from others. */
export function keyHint(key: string): string {
  return key.slice(-SHOWN_KEY_CHARACTERS);
}

/** The keys of a route that are tried before other routes; further keys come last, since a request has few attempts. */
const KEYS_IN_A_ROW = 2;

/**
 * Returns the candidates of some routes, best first.
 *
 * @param keysOf the keys of a route's upstream; none if the upstream does not exist
 * @param affinity identifies requests that should use the same candidate
 */
export function orderCandidates<Route extends UpstreamRoute>(
  routes: readonly Route[],
  keysOf: (route: Route) => readonly string[],
  affinity: string,
): readonly Candidate<Route>[] {
  const first: Candidate<Route>[] = [];
  const last: Candidate<Route>[] = [];
  for (const route of orderRoutes(routes, affinity)) {
    const keys = spread(
      keysOf(route),
      affinity,
      (key) => [route.provider, key],
      () => 1,
    );
    for (const [index, key] of keys.entries()) (index < KEYS_IN_A_ROW ? first : last).push({ route, key });
  }
  return last.length === 0 ? first : [...first, ...last];
}

function orderRoutes<Route extends UpstreamRoute>(routes: readonly Route[], affinity: string): readonly Route[] {
  if (routes.length < 2) return routes;
  const namesOf = ({ provider, format, model }: Route): readonly string[] => [provider, format, model];
  const orders = [...new Set(routes.map(({ order }) => order))].sort((one, other) => one - other);
  return orders.flatMap((order) =>
    spread(
      routes.filter((route) => route.order === order),
      affinity,
      namesOf,
      ({ weight }) => weight,
    ),
  );
}

/**
 * Weighted rendezvous hashing (https://www.ietf.org/archive/id/draft-ietf-bess-weighted-hrw-02.html): each item is
 * first for its share of affinities, and adding or removing an item moves no others.
 */
function spread<Item>(
  items: readonly Item[],
  affinity: string,
  namesOf: (item: Item) => readonly string[],
  weightOf: (item: Item) => number,
): readonly Item[] {
  if (items.length < 2) return items;
  return items
    .map((item) => ({ item, score: -weightOf(item) / Math.log(chanceOf([affinity, ...namesOf(item)])) }))
    .sort((one, other) => other.score - one.score)
    .map(({ item }) => item);
}

const HASHED_BYTES = 6;

/** A number between 0 and 1, evenly distributed and reproducible. */
function chanceOf(names: readonly string[]): number {
  const hash = createHash('sha256').update(JSON.stringify(names)).digest();
  return (hash.readUIntBE(0, HASHED_BYTES) + 0.5) / 2 ** (8 * HASHED_BYTES);
}
