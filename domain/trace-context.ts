/**
 * Trace contexts in the notation of W3C Trace Context (https://www.w3.org/TR/trace-context/). A workflow passes the
 * context of its start to its steps in a header of its history.
 */

/** The header that Temporal's own interceptors use. */
export const TRACE_HEADER = '_tracer-data';

/** The value of {@link TRACE_HEADER}. */
export interface TraceCarrier {
  readonly traceparent: string;
}

/** The run of a workflow, as a span in the trace in which it was started. */
export interface WorkflowSpan {
  /** The span that started the workflow. */
  readonly traceparent: string;
  /** The span of the task, the parent of its steps' spans. */
  readonly spanId: string;
  /** The name of the error that the workflow failed with; null when it did not fail. */
  readonly errorType: string | null;
}

const TRACEPARENT = /^00-([0-9a-f]{32})-[0-9a-f]{16}-([0-9a-f]{2})$/;

/** Reads the value of the header; returns null for any other value. */
export function readCarrier(value: unknown): TraceCarrier | null {
  if (typeof value !== 'object' || value === null || !('traceparent' in value)) return null;
  const { traceparent } = value;
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? { traceparent } : null;
}

/** Returns the same trace with another parent span. */
export function withParent({ traceparent }: TraceCarrier, spanId: string): TraceCarrier {
  return { traceparent: traceparent.replace(TRACEPARENT, `00-$1-${spanId}-$2`) };
}

/** The span id of a workflow run: always the same for the same run, and different for other runs. */
export function spanIdOfRun(runId: string): string {
  return runId.replaceAll('-', '').slice(-16);
}
