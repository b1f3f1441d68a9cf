/**
 * The place of a piece of work in a trace, as W3C Trace Context writes it (https://www.w3.org/TR/trace-context/). Workflows
 * hand it on from their start to their steps in a header of their history.
 */

/** The header, and under it the name of the field, that Temporal's own interceptors use. */
export const TRACE_HEADER = '_tracer-data';

/** What stands under {@link TRACE_HEADER}. */
export interface TraceCarrier {
  readonly traceparent: string;
}

/** The run of a workflow, as a span in the trace that its start came with. */
export interface WorkflowSpan {
  /** Of whoever started the workflow. */
  readonly traceparent: string;
  /** Its own, by which its steps know it as their parent. */
  readonly spanId: string;
  /** What the workflow failed with; null when it did not. */
  readonly errorType: string | null;
}

const TRACEPARENT = /^00-([0-9a-f]{32})-[0-9a-f]{16}-([0-9a-f]{2})$/;

/** The carrier in what a header holds, if there is one. */
export function readCarrier(value: unknown): TraceCarrier | null {
  if (typeof value !== 'object' || value === null || !('traceparent' in value)) return null;
  const { traceparent } = value;
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? { traceparent } : null;
}

/** The same trace, with another span as the parent of what follows. */
export function withParent({ traceparent }: TraceCarrier, spanId: string): TraceCarrier {
  return { traceparent: traceparent.replace(TRACEPARENT, `00-$1-${spanId}-$2`) };
}

/** The span of a workflow's run: the same whenever it is asked for, and another one for every run. */
export function spanIdOfRun(runId: string): string {
  return runId.replaceAll('-', '').slice(-16);
}
