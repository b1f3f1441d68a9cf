/**
 * Sends OpenTelemetry traces to a collector as OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp/). Loaded only
 * if tracing is on: see tracing.ts. Attributes contain ids, names, statuses and kinds of errors, but no error messages,
 * in which upstreams may quote a prompt.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type Attributes,
  type Context,
  context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  type IdGenerator,
  ParentBasedSampler,
  RandomIdGenerator,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Dispatcher } from 'undici';
import { readCarrier, TRACE_HEADER } from '../domain/trace-context.ts';
import type { RequestFacts, Tracing, WorkflowSpanSinks } from './tracing.ts';

export interface OpenTelemetrySettings {
  readonly process: string;
  readonly endpoint: string;
  readonly ratio: number;
}

/** Drops spans that the collector has not accepted after this time. */
const EXPORT_TIMEOUT_MS = 5_000;

const propagator = new W3CTraceContextPropagator();

export function startOpenTelemetry({ process, endpoint, ratio }: OpenTelemetrySettings): Tracing {
  const ids = createIds();
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': `genway-${process}`, 'service.namespace': 'genway' }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    idGenerator: ids,
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: EXPORT_TIMEOUT_MS }),
      }),
    ],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const tracer = provider.getTracer('genway');
  const requests = new WeakMap<ServerResponse, Span>();

  return {
    serve: (handler) => (request, response) => {
      const span = startRequest(tracer, request, response);
      requests.set(response, span);
      return context.with(trace.setSpan(context.active(), span), () => handler(request, response));
    },
    describeRequest: (response, facts) => describeRequest(requests.get(response), facts),
    clientInterceptors: [clientInterceptor(tracer)],
    workerOptions: {
      interceptors: { activity: [activityInterceptor(tracer)] },
      sinks: workflowSpans(tracer, ids),
    },
    provider: (name, dispatcher) => withTraceparent(tracer, name, dispatcher),
    close: () => provider.shutdown(),
  };
}

function startRequest(tracer: Tracer, { method = '', headers }: IncomingMessage, response: ServerResponse): Span {
  const parent = propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
  const attributes = { 'http.request.method': method };
  const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
  response.once('close', () => {
    const { statusCode, writableFinished } = response;
    span.setAttribute('http.response.status_code', statusCode);
    if (statusCode >= 500 || !writableFinished) span.setStatus({ code: SpanStatusCode.ERROR });
    // Other listeners may still add to the span.
    queueMicrotask(() => span.end());
  });
  return span;
}

function describeRequest(span: Span | undefined, { route, requestId, accountId, taskId }: RequestFacts): void {
  span?.setAttributes({ 'http.route': route, ...idsOf({ requestId, accountId, taskId }) });
}

/** The known ids, as attributes. */
function idsOf({ requestId, accountId, taskId }: Partial<RequestFacts>): Attributes {
  return {
    ...(requestId !== undefined && { 'genway.request_id': requestId }),
    ...(accountId !== undefined && { 'genway.account_id': accountId }),
    ...(taskId !== undefined && { 'genway.task_id': taskId }),
  };
}

function clientInterceptor(tracer: Tracer): WorkflowClientInterceptor {
  return {
    startWithDetails: (input, next) =>
      within(
        tracer.startSpan(`start ${input.workflowType}`, {
          kind: SpanKind.PRODUCER,
          attributes: { 'temporal.workflow_id': input.options.workflowId },
        }),
        () => next({ ...input, headers: { ...input.headers, ...activeHeaders() } }),
      ),
  };
}

function activityInterceptor(tracer: Tracer): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        const parent = contextOf(input.headers);
        // The workflow is not part of a trace.
        if (parent === null) return next(input);
        const attributes = {
          'temporal.workflow_id': info.workflowExecution?.workflowId ?? '',
          'temporal.run_id': info.workflowExecution?.runId ?? '',
          'temporal.activity_attempt': info.attempt,
        };
        return within(tracer.startSpan(info.activityType, { kind: SpanKind.CONSUMER, attributes }, parent), () =>
          next(input),
        );
      },
    },
  });
}

/** Creates the span of a workflow when it has ended, with the id that its steps have already named as their parent. */
function workflowSpans(tracer: Tracer, ids: Ids): WorkflowSpanSinks {
  return {
    tracing: {
      workflowEnded: {
        fn: ({ workflowType, workflowId, runId, runStartTime }, { traceparent, spanId, errorType }) => {
          const span = ids.withSpanId(spanId, () =>
            tracer.startSpan(
              workflowType,
              {
                startTime: runStartTime,
                attributes: { 'temporal.workflow_id': workflowId, 'temporal.run_id': runId },
              },
              extract(traceparent),
            ),
          );
          if (errorType !== null) fail(span, errorType);
          span.end();
        },
      },
    },
  };
}

/**
 * Adds the trace to every request to the provider. Only requests other than GET have their own span: a step may make
 * thousands of polls and downloads, which its own span covers.
 */
function withTraceparent(tracer: Tracer, name: string, dispatcher: Dispatcher): Dispatcher {
  return dispatcher.compose((dispatch) => (options, handler) => {
    if (!trace.getSpan(context.active())) return dispatch(options, handler);
    const { method } = options;
    if (method === 'GET') return dispatch(withHeaders(options, context.active()), handler);
    const span = tracer.startSpan(`${method} ${name}`, {
      kind: SpanKind.CLIENT,
      attributes: {
        'genway.provider': name,
        'http.request.method': method,
        ...(options.origin !== undefined && { 'server.address': new URL(options.origin).host }),
      },
    });
    return dispatch(withHeaders(options, trace.setSpan(context.active(), span)), reportTo(span, handler));
  });
}

/** Adds the trace to headers given by name, as provider clients do; leaves undici's other forms unchanged. */
function withHeaders(options: Dispatcher.DispatchOptions, carried: Context): Dispatcher.DispatchOptions {
  const headers = options.headers ?? {};
  if (Symbol.iterator in headers) return options;
  return { ...options, headers: { ...headers, ...inject(carried) } };
}

function reportTo(span: Span, handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  return {
    onRequestStart: (...args) => handler.onRequestStart?.(...args),
    onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
    onResponseStart: (controller, statusCode, ...rest) => {
      span.setAttribute('http.response.status_code', statusCode);
      if (statusCode >= 400) span.setStatus({ code: SpanStatusCode.ERROR });
      return handler.onResponseStart?.(controller, statusCode, ...rest);
    },
    onResponseData: (...args) => handler.onResponseData?.(...args),
    onResponseEnd: (...args) => {
      span.end();
      return handler.onResponseEnd?.(...args);
    },
    onResponseError: (controller, error) => {
      fail(span, kindOf(error));
      span.end();
      return handler.onResponseError?.(controller, error);
    },
  };
}

/** Runs an action within the span, and ends the span with it. */
async function within<Result>(span: Span, action: () => Promise<Result>): Promise<Result> {
  try {
    return await context.with(trace.setSpan(context.active(), span), action);
  } catch (error) {
    fail(span, kindOf(error));
    throw error;
  } finally {
    span.end();
  }
}

function fail(span: Span, errorType: string): void {
  span.setAttribute('error.type', errorType);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** The type of an application failure, or else the name of the error. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return 'Error';
  return 'type' in error && typeof error.type === 'string' ? error.type : error.name;
}

/** The headers with which a workflow joins the trace of the active span. */
function activeHeaders(): Headers {
  return { [TRACE_HEADER]: defaultPayloadConverter.toPayload(inject(context.active())) };
}

/** The trace of the workflow that started an activity; null if the workflow is not part of a trace. */
function contextOf(headers: Headers): Context | null {
  const header = headers[TRACE_HEADER];
  const carrier = readCarrier(header && defaultPayloadConverter.fromPayload(header));
  return carrier && extract(carrier.traceparent);
}

function extract(traceparent: string): Context {
  return propagator.extract(ROOT_CONTEXT, { traceparent }, defaultTextMapGetter);
}

/** The headers that carry a trace. */
function inject(carried: Context): Record<string, string> {
  const headers: Record<string, string> = {};
  propagator.inject(carried, headers, defaultTextMapSetter);
  return headers;
}

interface Ids extends IdGenerator {
  /** Gives this id to the span that `start` creates. */
  withSpanId(spanId: string, start: () => Span): Span;
}

function createIds(): Ids {
  const random = new RandomIdGenerator();
  let chosen: string | undefined;
  return {
    generateTraceId: () => random.generateTraceId(),
    generateSpanId: () => chosen ?? random.generateSpanId(),
    withSpanId: (spanId, start) => {
      chosen = spanId;
      try {
        return start();
      } finally {
        chosen = undefined;
      }
    },
  };
}
