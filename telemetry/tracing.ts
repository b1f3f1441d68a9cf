/**
 * Traces: which request, workflow, step and provider call belong together. Off unless the configuration names a collector;
 * then nothing of OpenTelemetry is loaded, and what stands in for it does nothing.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { InjectedSinks, WorkerOptions } from '@temporalio/worker';
import type { Sinks } from '@temporalio/workflow';
import type { Dispatcher } from 'undici';
import type { WorkflowSpan } from '../domain/trace-context.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

/** What may be told of a request: never its words, its headers or its query. */
export interface RequestFacts {
  /** The pattern that the path matched. */
  readonly route: string;
  readonly requestId: string;
  readonly accountId?: string | undefined;
  readonly taskId?: string | undefined;
}

export interface Tracing {
  /** Gives every request a span, in the trace that its `traceparent` names or in one of its own. */
  serve(handler: Handler): Handler;
  /** Adds to the span of the request that is being answered. */
  describeRequest(response: ServerResponse, facts: RequestFacts): void;
  /** For clients of Temporal: workflows begin in the trace of whoever starts them. */
  readonly clientInterceptors: WorkflowClientInterceptor[];
  /** For workers: activities go on in the trace of their workflow, and workflows that have ended have their span. */
  readonly workerOptions: Pick<WorkerOptions, 'interceptors' | 'sinks'>;
  /** Sends the trace along with the requests to a provider. */
  provider(name: string, dispatcher: Dispatcher): Dispatcher;
  /** Sends what has not been sent yet. */
  close(): Promise<void>;
}

/** Where the traces go, and how many of them. */
export interface TracingSettings {
  /** Address of an OTLP/HTTP collector, without `/v1/traces`. */
  readonly endpoint: string | undefined;
  /** The part of all new traces that is kept, from 0 to 1. */
  readonly ratio: number;
}

export type WorkflowSpanSinks = InjectedSinks<Sinks & { tracing: { workflowEnded(span: WorkflowSpan): void } }>;

/** A workflow may have been started by a process that traces; its worker need not. */
export const IGNORED_WORKFLOW_SPANS: WorkflowSpanSinks = { tracing: { workflowEnded: { fn: () => {} } } };

export const NO_TRACING: Tracing = {
  serve: (handler) => handler,
  describeRequest: () => {},
  clientInterceptors: [],
  workerOptions: { sinks: IGNORED_WORKFLOW_SPANS },
  provider: (_name, dispatcher) => dispatcher,
  close: async () => {},
};

/** @param process what traces call this process, such as `api` */
export async function openTracing(process: string, { endpoint, ratio }: TracingSettings): Promise<Tracing> {
  if (endpoint === undefined) return NO_TRACING;
  const { startOpenTelemetry } = await import('./open-telemetry.ts');
  return startOpenTelemetry({ process, endpoint, ratio });
}
