/** All text upstreams: which one gets a request, and which is next if one fails. */
import type { Dispatcher } from 'undici';
import type { AnswerTimeouts } from '../../catalogue/answer-timeouts.ts';
import { ServiceError } from '../../domain/errors.ts';
import { FORMATS } from '../../text/formats.ts';
import { attempt, type AnswerReader, type PreparedRequest } from './attempt.ts';
import { decisionOn, describeAttempt, errorForClient, type AttemptReport } from './attempt-report.ts';
import { Overrides, type UpstreamOverride } from './overrides.ts';
import { HealthBoard } from './health-board.ts';
import type { TextUpstreamSettings } from './settings.ts';
import { createUpstreamEndpoint } from './upstream-endpoint.ts';
import { type OpenEndpoint, UpstreamSet, type UpstreamsInUse } from './upstream-set.ts';
import { Walk } from './walk.ts';
import { stateOf, type WayState } from './way-state.ts';
import { orderWays, type UpstreamRoute, type Way } from './ways.ts';

/** A request to a model, and the reader of its answer. */
export interface TextCall<
  Route extends UpstreamRoute,
  Prepared extends PreparedRequest,
> extends AnswerReader<Prepared> {
  readonly requestId: string;
  /** The client's request, whose fields an error may name. */
  readonly body: unknown;
  readonly routes: readonly Route[];
  /** Requests with the same affinity go the same way if possible. */
  readonly affinity: string;
  /**
   * Prepares the request for a route.
   *
   * @throws ServiceError `bad_request` if the route cannot express the request, so that the next is tried; any other
   *   error ends the call
   */
  prepare(route: Route, apiKey: string): Prepared;
}

export interface TextUpstreams {
  /** Whether an upstream with this name speaks the format. */
  serves(route: Pick<UpstreamRoute, 'provider' | 'format'>): boolean;
  /**
   * Sends a request over one of the routes and has its answer read. If an upstream fails before its answer begins, the
   * next is tried: each way once, three attempts at most, within the time limit of one. Where no other way is available,
   * the one that failed for a moment is tried once more.
   *
   * @throws ServiceError the client's error for the failures; the errors of the call's functions; the reason of its
   *   signal
   */
  call<Route extends UpstreamRoute, Prepared extends PreparedRequest>(call: TextCall<Route, Prepared>): Promise<void>;
  /** The health of each way of some routes, except those without an upstream. */
  list(routes: readonly UpstreamRoute[]): readonly WayState[];
  /** Applies operators' overrides, each once. @param latest the latest for each upstream */
  obey(latest: readonly UpstreamOverride[]): void;
  /** Replaces the upstreams for requests that begin from now on; those under way keep theirs. */
  replace(settings: readonly TextUpstreamSettings[]): void;
  close(): Promise<void>;
}

/** Observes the calls of upstreams, by name. */
export interface TextUpstreamObserver {
  /** Adds the trace to requests. */
  readonly traced: (name: string, dispatcher: Dispatcher) => Dispatcher;
  /** Called when an answer begins or fails. @param outcome its status, `unreachable`, or `cancelled` by the caller */
  readonly answered: (name: string, outcome: string, seconds: number) => void;
  readonly attempted: (attempt: AttemptReport) => void;
}

/**
 * @param maxSilenceMs for an open connection; all attempts of a request share this for their first output
 */
export function createTextUpstreams(
  settings: readonly TextUpstreamSettings[],
  maxSilenceMs: number,
  observer: TextUpstreamObserver,
  nowMs: () => number = Date.now,
): TextUpstreams {
  const board = new HealthBoard();
  const overrides = new Overrides();
  const set = new UpstreamSet(settings, opener(maxSilenceMs, observer));

  async function serve<Route extends UpstreamRoute, Prepared extends PreparedRequest>(
    call: TextCall<Route, Prepared>,
    upstreams: UpstreamsInUse,
  ): Promise<void> {
    const startedAtMs = nowMs();
    const keysOf = (route: Route): readonly string[] => upstreams.keysOf(route);
    const ways = overrides.open(orderWays(call.routes, keysOf, call.affinity), startedAtMs);
    const walk = new Walk(ways, (way) => board.of(way), startedAtMs + maxSilenceMs);
    for (;;) {
      const step = nextStep(call, walk, nowMs);
      const endpoint = step && upstreams.endpointOf(step.way.route);
      if (!step || !endpoint) throw walk.refusal(nowMs());
      const { way, prepared } = step;
      const attemptedAtMs = nowMs();
      const limitMs = Math.min(
        timeoutOf(call.streamed, way.route, upstreams.settingsOf(way.route.provider)),
        walk.leftMs(attemptedAtMs),
      );
      const failure = await attempt(endpoint, board.of(way), prepared, call, limitMs, nowMs);
      const canGoOn = failure !== null && !call.signal.aborted && walk.failed(way, failure);
      const following = canGoOn ? walk.peek(nowMs()) : null;
      observer.attempted({
        requestId: call.requestId,
        ...describeAttempt(way, failure, keysOf(way.route)),
        unreadableEvents: prepared.unreadableEvents?.() ?? 0,
        decision: decisionOn(failure, following && (following === way ? 'retry' : 'next'), call),
        seconds: (nowMs() - attemptedAtMs) / 1000,
      });
      if (failure === null) return;
      if (!canGoOn) throw errorForClient(failure.error, call.body);
    }
  }

  return {
    serves: (route) => set.current.endpointOf(route) !== undefined,

    call: (call) => set.during((upstreams) => serve(call, upstreams)),

    list: (routes) =>
      waysOf(routes, set.current).map((way) =>
        stateOf(way, board.of(way).report(nowMs()), overrides.of(way.route.provider, nowMs())),
      ),

    obey: (latest) => {
      for (const upstream of overrides.obey(latest)) board.reset(upstream);
    },

    replace: (upstreams) => {
      // The new file may have mended the upstream.
      for (const name of set.replace(upstreams)) board.reset(name);
    },

    close: () => set.close(),
  };
}

/** Each way of the routes once. */
function waysOf(routes: readonly UpstreamRoute[], upstreams: UpstreamsInUse): readonly Way[] {
  const ways = routes.flatMap((route) => upstreams.keysOf(route).map((key) => ({ route, key })));
  return [
    ...new Map(
      ways.map((way) => [JSON.stringify([way.route.provider, way.route.format, way.route.model, way.key]), way]),
    ).values(),
  ];
}

function opener(maxSilenceMs: number, { traced, answered }: TextUpstreamObserver): OpenEndpoint {
  return ({ name, baseUrls, headers = {} }, format) =>
    createUpstreamEndpoint(FORMATS[format].upstream, {
      baseUrl: baseUrls[format] ?? '',
      headers,
      maxSilenceMs,
      traced: (dispatcher) => traced(name, dispatcher),
      answered: (outcome, seconds) => answered(name, outcome, seconds),
    });
}

/** Limits that neither a route nor its upstream sets. */
const DEFAULT_TIMEOUTS: Required<AnswerTimeouts> = { firstByteTimeoutMs: 30_000, silenceTimeoutMs: 120_000 };

/**
 * How long an answer may keep its request waiting, in milliseconds: a streamed one to begin, a whole one between bytes.
 *
 * @param upstream undefined if it has no limits of its own
 */
export function timeoutOf(streamed: boolean, route: AnswerTimeouts, upstream: AnswerTimeouts | undefined): number {
  const name = streamed ? 'firstByteTimeoutMs' : 'silenceTimeoutMs';
  return route[name] ?? upstream?.[name] ?? DEFAULT_TIMEOUTS[name];
}

/** The next way whose route can express the request, with the prepared request; null if none is left. */
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
      walk.cannotExpress(way, error);
    }
  }
  return null;
}
