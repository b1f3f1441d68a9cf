/**
 * Traces show which requests, workflows, steps and provider calls belong together. Tracing is off unless the
 * configuration names a collector: OpenTelemetry is not loaded, and {@link NO_TRACING} takes its place.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { InjectedSinks, WorkerOptions } from '@temporalio/worker';
import type { Sinks } from '@temporalio/workflow';
import type { Dispatcher } from 'undici';
import type { WorkflowSpan } from '../domain/trace-context.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

/** The facts of a request in its trace, which never contains its body, headers or query. */
export interface RequestFacts {
  /** The route pattern that the path matched. */
  readonly route: string;
  readonly requestId: string;
  readonly accountId?: string | undefined;
  readonly taskId?: string | undefined;
}

export interface Tracing {
  /** Gives every request a span, in the trace of its `traceparent` or in a new trace. */
  serve(handler: Handler): Handler;
  /** Adds facts to the span of the request with this response. */
  describeRequest(response: ServerResponse, facts: RequestFacts): void;
  /** For Temporal clients: workflows join the trace in which they start. */
  readonly clientInterceptors: WorkflowClientInterceptor[];
  /** For workers: activities join their workflow's trace, and workflows get a span when they have ended. */
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
