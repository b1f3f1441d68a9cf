/** All upstreams of text models: which of them takes a request, and who is asked when one fails. */
import type { Dispatcher } from 'undici';
import { ServiceError } from '../../domain/errors.ts';
import { FORMATS } from '../../text/formats.ts';
import { UPSTREAM_FAULTS, UpstreamError, type UpstreamFault } from '../../text/upstream-errors.ts';
import type { WireFormatName } from '../../domain/wire-format-name.ts';
import { codeOf } from './answer.ts';
import { attempt, type AnswerReader, type FailedAttempt, type PreparedRequest } from './attempt.ts';
import { Closures, type Closure, type UpstreamOrder } from './closures.ts';
import { HealthBoard, type WayReport } from './health-board.ts';
import type { TextUpstreamSettings } from './settings.ts';
import { createUpstreamEndpoint, type UpstreamEndpoint } from './upstream-endpoint.ts';
import { lineForOperators, wordsForClient } from './vendor-words.ts';
import { Walk } from './walk.ts';
import { orderWays, type UpstreamRoute, type Way } from './ways.ts';

/** A request to a model, and how its answer is read. */
export interface TextCall<
  Route extends UpstreamRoute,
  Prepared extends PreparedRequest,
> extends AnswerReader<Prepared> {
  readonly requestId: string;
  readonly routes: readonly Route[];
  /** Requests in which it is the same go the same way while they can. */
  readonly affinity: string;
  /**
   * Makes what is sent over a route.
   *
   * @throws ServiceError `bad_request` when the route cannot say what the request asks, so that the next is tried; what
   *   else it throws ends the call
   */
  prepare(route: Route, apiKey: string): Prepared;
}

export interface TextUpstreams {
  /** Whether there is an upstream of that name that speaks the format. */
  serves(route: Pick<UpstreamRoute, 'provider' | 'format'>): boolean;
  /**
   * Sends a request over one of the routes and has its answer read. When an upstream fails before its answer has begun, the
   * next is asked: each way once, three at the most, and all in the time that one has.
   *
   * @throws ServiceError what a client may read of the failures; what the functions of the call throw; the reason of its signal
   */
  call<Route extends UpstreamRoute, Prepared extends PreparedRequest>(call: TextCall<Route, Prepared>): Promise<void>;
  /** How each way of some routes stands, without those that nobody serves. */
  list(routes: readonly UpstreamRoute[]): readonly WayState[];
  /** Does what operators ordered, each order once. @param orders the newest of each upstream */
  obey(orders: readonly UpstreamOrder[]): void;
  close(): Promise<void>;
}

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

/** One attempt to have a request answered, when it has ended. */
export interface AttemptReport {
  readonly requestId: string;
  readonly upstream: string;
  readonly format: WireFormatName;
  readonly model: string;
  /** The last four characters of the key. */
  readonly key: string;
  /** The HTTP status of a refusal; null where there was none. */
  readonly status: number | null;
  /** What is wrong with the upstream; null where nothing is known to be. */
  readonly fault: UpstreamFault | null;
  /** The upstream's own words, on one line and without secrets; empty where it said none. */
  readonly told: string;
  /** What undici or the system calls the failure; empty where neither has a name for it. */
  readonly reason: string;
  readonly decision: Decision;
  readonly seconds: number;
}

/**
 * `answered`; `next`: another upstream is asked; `refused`: the client is told, for want of another or because its request is
 * at fault; `broken`: the client has had a part of the answer; `cancelled` by the caller.
 */
export type Decision = 'answered' | 'next' | 'refused' | 'broken' | 'cancelled';

const SHOWN_KEY_CHARACTERS = 4;

/** Who watches the calls of upstreams, by their names. */
export interface TextUpstreamObserver {
  /** Sends the trace along with the requests. */
  readonly traced: (name: string, dispatcher: Dispatcher) => Dispatcher;
  /** Told when an answer begins, or does not. @param outcome its status, `unreachable`, or `cancelled` by the caller */
  readonly answered: (name: string, outcome: string, seconds: number) => void;
  readonly attempted: (attempt: AttemptReport) => void;
}

/**
 * @param silenceTimeoutMs models may think for minutes before they say a word, and between two. All attempts of a request
 *   together have as long for their first
 */
export function createTextUpstreams(
  settings: readonly TextUpstreamSettings[],
  silenceTimeoutMs: number,
  observer: TextUpstreamObserver,
  nowMs: () => number = Date.now,
): TextUpstreams {
  const board = new HealthBoard();
  const closures = new Closures();
  const upstreams = new Map(settings.map((upstream) => [upstream.name, upstream]));
  const endpoints = openEndpoints(settings, silenceTimeoutMs, observer);

  const endpointOf = (route: Pick<UpstreamRoute, 'provider' | 'format'>): UpstreamEndpoint | undefined =>
    endpoints.get(endpointName(route.provider, route.format));
  const keysOf = (route: UpstreamRoute): readonly string[] =>
    endpointOf(route) === undefined ? [] : (upstreams.get(route.provider)?.apiKeys ?? []);

  /** How long a streamed answer may take until it says something, if there is a limit to it. */
  const limitOf = ({ route }: Way): number | undefined =>
    route.firstByteTimeoutMs ?? upstreams.get(route.provider)?.firstByteTimeoutMs;

  return {
    serves: (route) => endpointOf(route) !== undefined,

    call: async (call) => {
      const startedAtMs = nowMs();
      const ways = closures.open(orderWays(call.routes, keysOf, call.affinity), startedAtMs);
      const walk = new Walk(ways, (way) => board.of(way), startedAtMs + silenceTimeoutMs);
      for (;;) {
        const step = nextStep(call, walk, nowMs);
        const endpoint = step && endpointOf(step.way.route);
        if (!step || !endpoint) throw walk.refusal(nowMs());
        const { way, prepared } = step;
        const attemptedAtMs = nowMs();
        const leftMs = walk.leftMs(attemptedAtMs);
        // A whole answer says nothing until it is there, and has all the time that the first has.
        const limitMs = call.streamed ? Math.min(limitOf(way) ?? leftMs, leftMs) : walk.isFirst ? null : leftMs;
        const failure = await attempt(endpoint, board.of(way), prepared, call, limitMs, nowMs);
        const goesOn = failure !== null && !call.signal.aborted && walk.failed(way, failure);
        observer.attempted({
          ...describe(call.requestId, way, failure, keysOf(way.route)),
          decision: decisionOn(failure, goesOn && walk.hasNext(nowMs()), call),
          seconds: (nowMs() - attemptedAtMs) / 1000,
        });
        if (failure === null) return;
        if (!goesOn) throw tellable(failure.error, way, keysOf(way.route));
      }
    },

    list: (routes) => {
      const ways = new Map(
        routes.flatMap((route) =>
          keysOf(route).map((key) => [
            JSON.stringify([route.provider, route.format, route.model, key]),
            { route, key },
          ]),
        ),
      );
      return [...ways.values()].map((way) =>
        stateOf(way, board.of(way).report(nowMs()), closures.of(way.route.provider, nowMs())),
      );
    },

    obey: (orders) => {
      for (const upstream of closures.obey(orders)) board.reset(upstream);
    },

    close: async () => {
      await Promise.all([...endpoints.values()].map((endpoint) => endpoint.close()));
    },
  };
}

function endpointName(name: string, format: WireFormatName): string {
  return `${format} ${name}`;
}

function openEndpoints(
  settings: readonly TextUpstreamSettings[],
  silenceTimeoutMs: number,
  { traced, answered }: TextUpstreamObserver,
): ReadonlyMap<string, UpstreamEndpoint> {
  const endpoints = new Map<string, UpstreamEndpoint>();
  for (const { name, baseUrls, headers = {} } of settings) {
    for (const { name: format, upstream } of Object.values(FORMATS)) {
      const baseUrl = baseUrls[format];
      if (baseUrl === undefined) continue;
      const endpoint = createUpstreamEndpoint(upstream, {
        baseUrl,
        headers,
        silenceTimeoutMs,
        traced: (dispatcher) => traced(name, dispatcher),
        answered: (outcome, seconds) => answered(name, outcome, seconds),
      });
      endpoints.set(endpointName(name, format), endpoint);
    }
  }
  return endpoints;
}

/** The next way whose route can say what the request asks, and what goes over it; null when none is left. */
function nextStep<Route extends UpstreamRoute, Prepared extends PreparedRequest>(
  call: TextCall<Route, Prepared>,
  walk: Walk<Route>,
  nowMs: () => number,
): { readonly way: Way<Route>; readonly prepared: Prepared } | null {
  for (let way = walk.next(nowMs()); way !== null; way = walk.next(nowMs())) {
    try {
      return { way, prepared: call.prepare(way.route, way.key) };
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'bad_request') throw error;
      walk.unsayable(way, error);
    }
  }
  return null;
}

function stateOf(
  { route: { provider, format, model }, key }: Way,
  report: WayReport,
  closure: Closure | null,
): WayState {
  const rest =
    closure === null ? report : { ...report, ...closure, state: 'resting' as const, cause: 'operator' as const };
  return { name: provider, format, model, key: shownKey(key), ...rest };
}

/** Enough of a key to tell it from the others. */
function shownKey(key: string): string {
  return key.slice(-SHOWN_KEY_CHARACTERS);
}

function decisionOn(
  failure: FailedAttempt | null,
  hasNext: boolean,
  { signal, left }: { readonly signal: AbortSignal; readonly left: AbortSignal },
): Decision {
  if (failure === null) return 'answered';
  if (signal.aborted) return 'cancelled';
  if (failure.hadBegun) return 'broken';
  if (!hasNext) return 'refused';
  return left.aborted ? 'cancelled' : 'next';
}

function describe(
  requestId: string,
  { route: { provider, format, model }, key }: Way,
  failure: FailedAttempt | null,
  secrets: readonly string[],
): Omit<AttemptReport, 'decision' | 'seconds'> {
  const error = failure?.error;
  const answer = error instanceof UpstreamError ? error : null;
  return {
    requestId,
    upstream: provider,
    format,
    model,
    key: shownKey(key),
    status: answer?.upstreamStatus ?? null,
    fault: failure?.fault ?? null,
    told: lineForOperators(answer?.told ?? '', secrets),
    reason: error instanceof Error ? codeOf(error.cause) : '',
  };
}

/** An error as the client may read it: with what the upstream said of a request that it refused. */
function tellable(error: unknown, { route }: Way, secrets: readonly string[]): unknown {
  if (!(error instanceof UpstreamError) || error.code !== 'bad_request') return error;
  const words = wordsForClient(error.told, route.model, secrets);
  if (words === '') return error;
  return new ServiceError('bad_request', `${error.message} It said: ${words}`, { cause: error });
}
