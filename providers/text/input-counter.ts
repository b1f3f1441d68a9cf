/** Asks vendors for the number of input tokens of requests. The count is optional: any failure gives none. */
import { ServiceError } from '../../domain/errors.ts';
import { FORMATS } from '../../text/formats.ts';
import { UpstreamError } from '../../text/upstream-errors.ts';
import type { InputCount, UpstreamRequest } from '../../text/wire-format.ts';
import { Answer } from './answer.ts';
import type { PreparedRequest } from './attempt.ts';
import { CancelSignal } from './cancel-signal.ts';
import { orderCandidates, type UpstreamRoute } from './candidates.ts';
import type { CircuitBoard } from './circuits.ts';
import type { Overrides } from './overrides.ts';
import type { UpstreamEndpoint } from './upstream-endpoint.ts';
import type { UpstreamSnapshot } from './upstream-set.ts';

/** Limits the whole call. */
const LIMIT_MS = 2_000;
const MAX_ANSWER_BYTES = 16 * 1024;
/** With these statuses, an address answers that it lacks the call, like most gateways that speak a vendor's format. */
const STATUSES_WITHOUT_CALL: ReadonlySet<number | null> = new Set([404, 405, 501]);
/** The pause before the next call to an address that lacks the call, and to one that failed otherwise. */
const WITHOUT_CALL_MS = 60 * 60_000;
const FAILED_MS = 30_000;

/** A request whose input tokens the vendor counts. */
export interface CountCall<Route extends UpstreamRoute> {
  readonly routes: readonly Route[];
  /** The affinity of the request itself. */
  readonly affinity: string;
  /**
   * Prepares the request for a route.
   *
   * @throws ServiceError if the route cannot express the request
   */
  readonly prepare: (route: Route, apiKey: string) => PreparedRequest;
}

export class InputCounter {
  readonly #board: CircuitBoard;
  readonly #overrides: Overrides;
  readonly #nowMs: () => number;
  /** When the pause of an address ends. Weak, so that a replaced address is forgotten. */
  readonly #pausedUntilMs = new WeakMap<UpstreamEndpoint, number>();

  constructor(board: CircuitBoard, overrides: Overrides, nowMs: () => number) {
    this.#board = board;
    this.#overrides = overrides;
    this.#nowMs = nowMs;
  }

  /** Lets the vendor of the best candidate in service count. The outcome does not affect the candidate's circuit. */
  async count<Route extends UpstreamRoute>(
    { routes, affinity, prepare }: CountCall<Route>,
    upstreams: UpstreamSnapshot,
  ): Promise<number | null> {
    const nowMs = this.#nowMs();
    const candidates = orderCandidates(routes, (route) => upstreams.keysOf(route), affinity);
    const inService = this.#overrides.open(candidates, nowMs);
    const candidate = inService.find((one) => this.#board.of(one).state(nowMs) === 'closed');
    if (candidate === undefined) return null;
    const { route, key } = candidate;
    const endpoint = upstreams.endpointOf(route);
    const { inputCount } = FORMATS[route.format].upstream;
    if (endpoint === undefined || inputCount === undefined) return null;
    try {
      return await this.#ask(endpoint, inputCount, prepare(route, key).upstreamRequest);
    } catch (error) {
      if (error instanceof ServiceError) return null;
      throw error;
    }
  }

  /** @param request the request whose input is counted */
  async #ask(endpoint: UpstreamEndpoint, call: InputCount, request: UpstreamRequest): Promise<number | null> {
    if (this.#nowMs() < (this.#pausedUntilMs.get(endpoint) ?? 0)) return null;
    const signal = new CancelSignal();
    const timer = setTimeout(() => signal.cancel(new Error('the count took too long')), LIMIT_MS);
    const answer = new Answer(signal);
    try {
      await endpoint.send(call.request(request), answer);
      const count = call.read(JSON.parse((await answer.readAll(MAX_ANSWER_BYTES)).toString()));
      if (count === null) this.#pause(endpoint, FAILED_MS);
      return count;
    } catch (error) {
      const status = error instanceof UpstreamError ? error.upstreamStatus : null;
      const isRefused = error instanceof UpstreamError && error.fault === null;
      if (!isRefused) this.#pause(endpoint, STATUSES_WITHOUT_CALL.has(status) ? WITHOUT_CALL_MS : FAILED_MS);
      return null;
    } finally {
      clearTimeout(timer);
      answer.discard();
    }
  }

  #pause(endpoint: UpstreamEndpoint, pauseMs: number): void {
    this.#pausedUntilMs.set(endpoint, this.#nowMs() + pauseMs);
  }
}
