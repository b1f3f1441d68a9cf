/** All upstreams of text models: which of them takes a request. */
import type { Dispatcher } from 'undici';
import { ServiceError } from '../../domain/errors.ts';
import type { WireFormatName } from '../../domain/wire-format-name.ts';
import { FORMATS } from '../../text/formats.ts';
import type { UpstreamRequest } from '../../text/wire-format.ts';
import type { Answer } from './answer.ts';
import { createUpstreamEndpoint, type UpstreamEndpoint } from './upstream-endpoint.ts';

export interface TextUpstreamSettings {
  /** As the routes of the catalogue use it. */
  readonly name: string;
  readonly apiKey: string;
  /** The address, with the version, of each format that the upstream speaks. */
  readonly baseUrls: Readonly<Partial<Record<WireFormatName, string>>>;
}

/** One way to a model. */
export interface UpstreamRoute {
  readonly provider: string;
  readonly format: WireFormatName;
  /** The model's name at the upstream. */
  readonly model: string;
}

interface Sendable {
  readonly upstreamRequest: UpstreamRequest;
}

/** The answer of an upstream, and what had been prepared for it. */
export interface Answered<Prepared> {
  readonly answer: Answer;
  readonly prepared: Prepared;
}

export interface TextUpstreams {
  /** Whether there is an upstream of that name that speaks the format. */
  serves(route: UpstreamRoute): boolean;
  /**
   * Sends a request over the first of the routes whose upstream takes it. The next one is asked only when the one before
   * certainly did not begin to work: it could not be reached, or said that it does not take the request now.
   *
   * @param prepare makes what is sent over a route; called once for each that is tried
   * @throws ServiceError that of the last route that was tried, or what `prepare` throws
   */
  send<Route extends UpstreamRoute, Prepared extends Sendable>(
    routes: readonly Route[],
    prepare: (route: Route, apiKey: string) => Prepared,
    signal: AbortSignal,
  ): Promise<Answered<Prepared>>;
  close(): Promise<void>;
}

/** Who watches the calls of upstreams, by their names. */
export interface TextUpstreamObserver {
  /** Sends the trace along with the requests. */
  readonly traced: (name: string, dispatcher: Dispatcher) => Dispatcher;
  /** Told when an answer begins, or does not. @param outcome its status, `unreachable`, or `cancelled` by the caller */
  readonly answered: (name: string, outcome: string, seconds: number) => void;
}

const UNOBSERVED: TextUpstreamObserver = { traced: (_name, dispatcher) => dispatcher, answered: () => {} };

/**
 * @param silenceTimeoutMs models may think for minutes before they say a word, and between two
 */
export function createTextUpstreams(
  settings: readonly TextUpstreamSettings[],
  silenceTimeoutMs: number,
  { traced, answered }: TextUpstreamObserver = UNOBSERVED,
): TextUpstreams {
  const endpoints = new Map<string, UpstreamEndpoint>();
  for (const { name, apiKey, baseUrls } of settings) {
    for (const { name: format, upstream } of Object.values(FORMATS)) {
      const baseUrl = baseUrls[format];
      if (baseUrl === undefined) continue;
      const settings = {
        baseUrl,
        apiKey,
        silenceTimeoutMs,
        traced: (dispatcher: Dispatcher) => traced(name, dispatcher),
        answered: (outcome: string, seconds: number) => answered(name, outcome, seconds),
      };
      endpoints.set(keyOf(name, format), createUpstreamEndpoint(upstream, settings));
    }
  }
  const endpointOf = (route: UpstreamRoute): UpstreamEndpoint | undefined =>
    endpoints.get(keyOf(route.provider, route.format));

  /** Upstreams that rest come last: they are still asked when nobody else takes the request. */
  function inOrder<Route extends UpstreamRoute>(routes: readonly Route[]): readonly Route[] {
    if (routes.length === 1) return routes;
    const nowMs = Date.now();
    const rests = (route: Route): boolean => endpointOf(route)?.health.rests(nowMs) === true;
    return [...routes.filter((route) => !rests(route)), ...routes.filter(rests)];
  }

  return {
    serves: (route) => endpointOf(route) !== undefined,
    send: async (routes, prepare, signal) => {
      let refusal: ServiceError | null = null;
      for (const route of inOrder(routes)) {
        const endpoint = endpointOf(route);
        if (endpoint === undefined) continue;
        const prepared = prepare(route, endpoint.apiKey);
        try {
          const answer = await endpoint.send(prepared.upstreamRequest, signal);
          endpoint.health.noteSuccess();
          return { answer, prepared };
        } catch (error) {
          if (!(error instanceof ServiceError) || signal.aborted) throw error;
          if (isFaultOfUpstream(error)) endpoint.health.noteFailure(Date.now());
          if (!wasNotTaken(error)) throw error;
          refusal = error;
        }
      }
      throw refusal ?? unserved();
    },
    close: async () => {
      await Promise.all([...endpoints.values()].map((endpoint) => endpoint.close()));
    },
  };
}

function keyOf(name: string, format: WireFormatName): string {
  return `${format} ${name}`;
}

function unserved(): ServiceError {
  return new ServiceError('processing_unavailable', 'No upstream serves the model at the moment; use another model.');
}

/** Whether the upstream certainly did not begin to work on the request. */
function wasNotTaken({ code }: ServiceError): boolean {
  return code === 'processing_unavailable' || code === 'rate_limit_exceeded';
}

function isFaultOfUpstream({ code }: ServiceError): boolean {
  return code !== 'bad_request' && code !== 'content_policy_violation';
}
