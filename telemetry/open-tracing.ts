import { NO_TRACING, type Tracing } from './tracing.ts';

/** The collector of traces, and the share of traces to send. */
export interface TracingSettings {
  /** The address of an OTLP/HTTP collector, without `/v1/traces`. */
  readonly endpoint: string | undefined;
  /** The fraction of new traces to keep, from 0 to 1. */
  readonly ratio: number;
}

/**
 * Starts tracing, and loads OpenTelemetry, if the configuration names a collector.
 *
 * @param process the name of this process in traces, such as `api`
 */
export async function openTracing(process: string, { endpoint, ratio }: TracingSettings): Promise<Tracing> {
  if (endpoint === undefined) return NO_TRACING;
  const { startOpenTelemetry } = await import('./open-telemetry.ts');
  return startOpenTelemetry({ process, endpoint, ratio });
}
