/**
 * Traces show which requests, workflows, steps and provider calls belong together. Unless the configuration names a
 * collector, they are off: nothing of OpenTelemetry is loaded, and a substitute that does nothing takes its place.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { InjectedSinks, WorkerOptions } from '@temporalio/worker';
import type { Sinks } from '@temporalio/workflow';
import type { Dispatcher } from 'undici';
import type { WorkflowSpan } from '../domain/trace-context.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

/** The facts of a request that a trace may contain: never its body, headers or query. */
export interface RequestFacts {
  /** The route pattern that the path matched. */
  readonly route: string;
  readonly requestId: string;
  readonly accountId?: string | undefined;
  readonly taskId?: string | undefined;
}

export interface Tracing {
  /** Gives every request a span, in the trace that its `traceparent` names or in a new one. */
  serve(handler: Handler): Handler;
  /** Adds to the span of the request being answered. */
  describeRequest(response: ServerResponse, facts: RequestFacts): void;
  /** For Temporal clients: workflows join the trace in which they are started. */
  readonly clientInterceptors: WorkflowClientInterceptor[];
  /** For workers: activities continue their workflow's trace, and workflows get a span when they have ended. */
  readonly workerOptions: Pick<WorkerOptions, 'interceptors' | 'sinks'>;
  /** Adds the trace to requests to a provider. */
  provider(name: string, dispatcher: Dispatcher): Dispatcher;
  /** Sends the spans that have not been sent yet. */
  close(): Promise<void>;
}

export type WorkflowSpanSinks = InjectedSinks<Sinks & { tracing: { workflowEnded(span: WorkflowSpan): void } }>;

/** For workers without tracing, whose workflows may have been started by a process with tracing. */
export const IGNORED_WORKFLOW_SPANS: WorkflowSpanSinks = { tracing: { workflowEnded: { fn: () => {} } } };

export const NO_TRACING: Tracing = {
  serve: (handler) => handler,
  describeRequest: () => {},
  clientInterceptors: [],
  workerOptions: { sinks: IGNORED_WORKFLOW_SPANS },
  provider: (_name, dispatcher) => dispatcher,
  close: async () => {},
};
