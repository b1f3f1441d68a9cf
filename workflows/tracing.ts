/**
 * Passes the trace in which a workflow was started on to its steps and to the workflows that it starts. A workflow that
 * was started without one is left alone. Nothing here issues commands: histories replay with and without it.
 */
import {
  defaultPayloadConverter,
  proxySinks,
  type Sinks,
  type WorkflowInterceptors,
  workflowInfo,
} from '@temporalio/workflow';
import { readCarrier, spanIdOfRun, TRACE_HEADER, withParent, type WorkflowSpan } from '../domain/trace-context.ts';

/** The sinks through which workers receive the spans of workflows. */
export interface TracingSinks extends Sinks {
  tracing: { workflowEnded(span: WorkflowSpan): void };
}

type ExecuteInput = Parameters<NonNullable<NonNullable<WorkflowInterceptors['inbound']>[number]['execute']>>[0];
type Headers = ExecuteInput['headers'];

const { tracing } = proxySinks<TracingSinks>();

export const interceptors = (): WorkflowInterceptors => {
  let passedOn: Headers = {};
  const withTrace = <Input extends { readonly headers: Headers }>(input: Input): Input => ({
    ...input,
    headers: { ...input.headers, ...passedOn },
  });

  return {
    inbound: [
      {
        execute: (input, next) => {
          const header = input.headers[TRACE_HEADER];
          const carrier = readCarrier(header && defaultPayloadConverter.fromPayload(header));
          if (carrier === null) return next(input);
          const spanId = spanIdOfRun(workflowInfo().runId);
          passedOn = { [TRACE_HEADER]: defaultPayloadConverter.toPayload(withParent(carrier, spanId)) };
          const end = (errorType: string | null): void =>
            tracing.workflowEnded({ traceparent: carrier.traceparent, spanId, errorType });
          return next(input).then(
            (result) => {
              end(null);
              return result;
            },
            (error: unknown) => {
              end(error instanceof Error ? error.name : 'Error');
              throw error;
            },
          );
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next(withTrace(input)),
        scheduleLocalActivity: (input, next) => next(withTrace(input)),
        startChildWorkflowExecution: (input, next) => next(withTrace(input)),
      },
    ],
  };
};
