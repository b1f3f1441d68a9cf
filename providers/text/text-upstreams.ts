/** All text upstreams: chooses an upstream for each request, and the next one if it fails. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { AnswerTimeouts } from '../../catalogue/answer-timeouts.ts';
import { ServiceError } from '../../domain/errors.ts';
import { FORMATS } from '../../text/formats.ts';
import { platformOf } from '../../text/platforms/index.ts';
import type { Credentials } from '../credentials/credentials.ts';
import { openCredentials } from '../credentials/open.ts';
import { attempt, type AnswerReader, isStreamed, type PreparedRequest } from './attempt.ts';
import { classifyAttempt, describeAttempt, errorForClient, type AttemptReport } from './attempt-report.ts';
import type { UpstreamOverride } from '../../domain/upstream-override.ts';
import { Overrides } from './overrides.ts';
import { type CountCall, InputCounter } from './input-counter.ts';
import { CircuitBoard, type TextCircuitState } from './circuits.ts';
import { type BatchAddress, type BatchClient, chooseKey, createBatchClient, digestOf } from './batches/client.ts';
import { type CallAddress, type CallOffer, hangUp, openCall, type UpstreamCall } from './realtime-call.ts';
import type { TextUpstreamSettings } from './settings.ts';
import { openSocket, type SocketCall, type SocketParts, type UpstreamSocket } from './socket.ts';
import { createUpstreamEndpoint } from './upstream-endpoint.ts';
import { type OpenEndpoint, UpstreamSet, type UpstreamSnapshot } from './upstream-set.ts';
import { Failover } from './failover.ts';
import { orderCandidates, type UpstreamRoute, type Candidate } from './candidates.ts';

/** A request to a model, and the reader of its answer. */
export interface TextCall<
  Route extends UpstreamRoute,
  Prepared extends PreparedRequest,
> extends AnswerReader<Prepared> {
  readonly requestId: string;
  /** The client's request. An error for the client may name its fields. */
  readonly body: unknown;
  readonly routes: readonly Route[];
  /** Requests with the same affinity use the same candidate if possible. */
  readonly affinity: string;
  /** Whether the upstream of this affinity probably has the prompt in its cache. */
  readonly isCached: boolean;
  /** The most tokens of the answer, reasoning included; null if the client sets no bound. */
  readonly maxAnswerTokens: number | null;
  /**
   * Prepares the request for a route.
   *
   * @throws ServiceError `bad_request` if the route cannot express the request, after which the next route follows; any
   *   other error ends the call
   */
  prepare(route: Route, apiKey: string): Prepared;
}

export interface TextUpstreams {
  /** Whether an upstream with this name speaks the format. */
  serves(route: Pick<UpstreamRoute, 'provider' | 'format'>): boolean;
  /**
   * Sends a request over one of the routes and lets the call read its answer. If an upstream fails before its answer
   * starts, the next candidate follows: each candidate once, at most three attempts, all within the time limit of one.
   * If no other candidate is available after a momentary failure, or the candidate with the cached prompt asks for a
   * pause of at most a second, the same candidate is tried once more.
   *
   * @throws ServiceError the client's error for the failures; the errors of the call's functions; the reason of its
   *   signal
   */
  call<Route extends UpstreamRoute, Prepared extends PreparedRequest>(call: TextCall<Route, Prepared>): Promise<void>;
  /**
   * Lets the vendor of the best candidate in service count the input tokens of a request.
   *
   * @returns null if the vendor cannot count tokens, or anything goes wrong
   */
  countInput<Route extends UpstreamRoute>(call: CountCall<Route>): Promise<number | null>;
  /**
   * Opens a WebSocket at one of the routes, with failover as in {@link TextUpstreams.call}.
   *
   * @throws ServiceError the client's error if no upstream opens it
   */
  openSocket<Route extends UpstreamRoute>(call: SocketCall<Route>): Promise<UpstreamSocket<Route>>;
  /**
   * Opens a call over WebRTC at one of the routes, with failover as in {@link TextUpstreams.call}.
   *
   * @throws ServiceError the client's error if no upstream opens it
   */
  openCall<Route extends UpstreamRoute>(call: CallOffer<Route>): Promise<UpstreamCall<Route>>;
  /** Ends a call; also succeeds if the call has ended. @throws ServiceError if the upstream does not end it */
  hangUp(call: CallAddress): Promise<void>;
  /**
   * Uses the batch API of an upstream.
   *
   * @param use gets a client, and the digest of the key, by which later uses of the same job get the same key
   * @returns null if there is no such upstream
   * @throws ServiceError 503 `processing_unavailable` if the upstream is out of service for a new job; the error of `use`
   */
  useBatches<Result>(
    address: BatchAddress,
    use: (client: BatchClient, keyDigest: string) => Promise<Result>,
  ): Promise<Result | null>;
  /** The circuit of each candidate of some routes. Routes without an upstream have no candidates. */
  list(routes: readonly UpstreamRoute[]): readonly TextCircuitState[];
  /** Applies operators' overrides, each once. @param latest the latest override of each upstream and model */
  applyOverrides(latest: readonly UpstreamOverride[]): void;
  /** Replaces the upstreams for requests that start from now on; requests in progress keep theirs. */
  replace(settings: readonly TextUpstreamSettings[]): void;
  close(): Promise<void>;
}

/** Observes the calls of upstreams, by name. */
export interface TextUpstreamObserver {
  /** Adds the trace to requests. */
  readonly traced: (name: string, dispatcher: Dispatcher) => Dispatcher;
  /** Called when an answer starts or fails. @param outcome its status, `unreachable`, or `cancelled` by the caller */
  readonly answered: (name: string, outcome: string, seconds: number) => void;
  readonly attempted: (attempt: AttemptReport) => void;
}

/**
 * @param maxSilenceMs limits the silence of an open connection, and the time of all attempts of a request until output
 */
export function createTextUpstreams(
  settings: readonly TextUpstreamSettings[],
  maxSilenceMs: number,
  observer: TextUpstreamObserver,
  nowMs: () => number = Date.now,
): TextUpstreams {
  const board = new CircuitBoard();
  const overrides = new Overrides();
  const set = new UpstreamSet(settings, opener(maxSilenceMs, observer));
  const counter = new InputCounter(board, overrides, nowMs);
  const parts = { board, overrides, observer, nowMs };

  async function serve<Route extends UpstreamRoute, Prepared extends PreparedRequest>(
    call: TextCall<Route, Prepared>,
    upstreams: UpstreamSnapshot,
  ): Promise<void> {
    const startedAtMs = nowMs();
    const keysOf = (route: Route): readonly string[] => upstreams.keysOf(route);
    const candidates = overrides.open(orderCandidates(call.routes, keysOf, call.affinity), startedAtMs);
    const deadlineMs = startedAtMs + maxSilenceMs;
    const failover = new Failover(candidates, (candidate) => board.of(candidate), deadlineMs, call.isCached);
    for (let number = 1; ; number += 1) {
      const step = await nextStep(call, failover, nowMs);
      const endpoint = step && upstreams.endpointOf(step.candidate.route);
      if (!step || !endpoint) throw failover.refusal(nowMs());
      const { candidate, prepared } = step;
      const attemptedAtMs = nowMs();
      const timeoutMs = timeoutOf(call, prepared, candidate.route, upstreams.settingsOf(candidate.route.provider));
      const limitMs = Math.min(timeoutMs, failover.leftMs(attemptedAtMs));
      const failure = await attempt(endpoint, board.of(candidate), prepared, call, limitMs, nowMs);
      const canGoOn = failure !== null && !call.signal.isCancelled && failover.failed(candidate, failure);
      const following = canGoOn ? failover.peek(nowMs()) : null;
      const facts = {
        account: call.account,
        requestId: call.requestId,
        number,
        unreadableEvents: prepared.meter.unreadableEvents,
        decision: classifyAttempt(failure, following && (following === candidate ? 'retry' : 'next'), call),
        seconds: (nowMs() - attemptedAtMs) / 1000,
      };
      observer.attempted(describeAttempt(candidate, failure, secretsOf(candidate.route, upstreams), facts));
      if (failure === null) return;
      if (!canGoOn) throw errorForClient(failure.error, call.body);
    }
  }

  return {
    serves: (route) => set.current.endpointOf(route) !== undefined,

    call: (call) => set.during((upstreams) => serve(call, upstreams)),

    ...longCallsOf(set, parts),

    countInput: (call) => set.during((upstreams) => counter.count(call, upstreams)),

    list: (routes) =>
      candidatesOf(routes, set.current).map((one) => board.of(one).describe(overrides.of(one.route, nowMs()), nowMs())),

    applyOverrides: (latest) => {
      for (const { upstream, model } of overrides.applyOverrides(latest)) board.reset(upstream, nowMs(), model);
    },

    replace: (upstreams) => {
      // The new settings may have repaired the upstream.
      for (const name of set.replace(upstreams)) board.reset(name, nowMs());
    },

    close: () => set.close(),
  };
}

function createUseBatches(
  set: UpstreamSet,
  { overrides, nowMs }: Pick<SocketParts, 'overrides' | 'nowMs'>,
): TextUpstreams['useBatches'] {
  return (address, use) =>
    set.during(async (upstreams) => {
      const key = chooseKey(address, upstreams, (candidates) => overrides.open(candidates, nowMs()));
      const endpoint = upstreams.endpointOf(address);
      const baseUrl = upstreams.settingsOf(address.provider)?.baseUrls[address.format];
      if (key === null || endpoint === undefined || baseUrl === undefined) return null;
      return use(createBatchClient(endpoint, baseUrl, key), digestOf(key));
    });
}

/** Calls that have an upstream of their own for longer than an answer. */
function longCallsOf(
  set: UpstreamSet,
  parts: Omit<SocketParts, 'upstreams'>,
): Pick<TextUpstreams, 'openSocket' | 'openCall' | 'hangUp' | 'useBatches'> {
  return {
    openSocket: (call) => set.during((upstreams) => openSocket(call, { ...parts, upstreams })),
    openCall: (call) => set.during((upstreams) => openCall(call, { ...parts, upstreams })),
    hangUp: (call) => set.during((upstreams) => hangUp(call, upstreams)),
    useBatches: createUseBatches(set, parts),
  };
}

/** What logs must not contain of an upstream. Its credentials that expire stay out of messages themselves. */
function secretsOf(route: UpstreamRoute, upstreams: UpstreamSnapshot): readonly string[] {
  return upstreams.settingsOf(route.provider)?.auth === undefined ? upstreams.keysOf(route) : [];
}

/** The distinct candidates of the routes. */
function candidatesOf(routes: readonly UpstreamRoute[], upstreams: UpstreamSnapshot): readonly Candidate[] {
  const candidates = routes.flatMap((route) => upstreams.keysOf(route).map((key) => ({ route, key })));
  return [
    ...new Map(
      candidates.map((candidate) => [
        JSON.stringify([candidate.route.provider, candidate.route.format, candidate.route.model, candidate.key]),
        candidate,
      ]),
    ).values(),
  ];
}

function opener(maxSilenceMs: number, { traced, answered }: TextUpstreamObserver): OpenEndpoint {
  const credentialsOf = createCredentialsCache();
  return (upstream, format) => {
    const { name, baseUrls, platform, headers = {} } = upstream;
    return createUpstreamEndpoint(FORMATS[format], {
      baseUrl: baseUrls[format] ?? '',
      headers,
      credentials: credentialsOf(upstream),
      platform: platform ? platformOf(platform.name, platform.apiVersion) : null,
      maxSilenceMs,
      traced: (dispatcher) => traced(name, dispatcher),
      answered: (outcome, seconds) => answered(name, outcome, seconds),
    });
  };
}

/** The credentials of an upstream, the same for all of its addresses until its settings change. */
function createCredentialsCache(): (upstream: TextUpstreamSettings) => Credentials | null {
  const opened = new Map<string, { readonly written: string; readonly credentials: Credentials }>();
  return ({ name, auth, platform }) => {
    if (auth === undefined) return null;
    const written = JSON.stringify([auth, platform]);
    const known = opened.get(name);
    if (known?.written === written) return known.credentials;
    const credentials = openCredentials(auth, { region: platform?.region ?? undefined });
    opened.set(name, { written, credentials });
    return credentials;
  };
}

/** The limits if neither the route nor its upstream sets any. */
const DEFAULT_TIMEOUTS: Required<AnswerTimeouts> = { firstByteTimeoutMs: 30_000, silenceTimeoutMs: 120_000 };
/** Slow models generate so many tokens a second. Upstreams send nothing of a whole answer before its end. */
const SLOW_TOKENS_PER_SECOND = 20;

/**
 * The time limit of an answer, in milliseconds: to start if it is streamed, between bytes if it is sent whole.
 *
 * @param upstream undefined if the upstream has no limits of its own
 */
export function timeoutOf(
  call: Pick<TextCall<UpstreamRoute, PreparedRequest>, 'streamed' | 'maxAnswerTokens'>,
  prepared: Pick<PreparedRequest, 'isWhole'>,
  route: AnswerTimeouts,
  upstream: AnswerTimeouts | undefined,
): number {
  const { maxAnswerTokens } = call;
  const streamed = isStreamed(call, prepared);
  const name = streamed ? 'firstByteTimeoutMs' : 'silenceTimeoutMs';
  const configured = route[name] ?? upstream?.[name];
  if (configured !== undefined || streamed || maxAnswerTokens === null) return configured ?? DEFAULT_TIMEOUTS[name];
  const { firstByteTimeoutMs, silenceTimeoutMs } = DEFAULT_TIMEOUTS;
  return Math.min(firstByteTimeoutMs + (maxAnswerTokens / SLOW_TOKENS_PER_SECOND) * 1000, silenceTimeoutMs);
}

/** The next candidate whose route can express the request, with the prepared request, after a pause that an upstream asked for; null if none is left. */
async function nextStep<Route extends UpstreamRoute, Prepared extends PreparedRequest>(
  call: TextCall<Route, Prepared>,
  failover: Failover<Route>,
  nowMs: () => number,
): Promise<{ readonly candidate: Candidate<Route>; readonly prepared: Prepared } | null> {
  if (failover.pauseMs > 0) await sleep(failover.pauseMs);
  for (let candidate = failover.next(nowMs()); candidate !== null; candidate = failover.next(nowMs())) {
    try {
      return { candidate, prepared: call.prepare(candidate.route, candidate.key) };
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'bad_request') throw error;
      failover.cannotExpress(candidate, error);
    }
  }
  return null;
}
