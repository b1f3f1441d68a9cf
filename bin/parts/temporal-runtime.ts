/** The native runtime below Temporal's workers: its log and its metrics. */
import { ApplicationFailure } from '@temporalio/common';
import { Runtime } from '@temporalio/worker';
import { type Logger, stdSerializers } from 'pino';
import { findFreePort } from '../stack/ports.ts';

/** Generous: only this process asks, and the answer comes from memory. */
const TIMEOUT_MS = 5_000;

/**
 * Installs the runtime. Call this function before any other part of the SDK's worker.
 *
 * @returns a function that reads the SDK's metrics (https://docs.temporal.io/references/sdk-metrics), in Prometheus'
 *   text format
 */
export async function installTemporalRuntime(log: Logger): Promise<() => Promise<string>> {
  const bindAddress = `127.0.0.1:${await findFreePort()}`;
  Runtime.install({
    shutdownSignals: [],
    logger: temporalLogger(log),
    telemetryOptions: {
      metrics: {
        prometheus: { bindAddress, countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true },
      },
    },
  });
  return async () => {
    const answer = await fetch(`http://${bindAddress}/metrics`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return answer.text();
  };
}

/** Most workers run activities alone, and the SDK has no setting without this warning. */
const EXPECTED_WARNING = 'No workflows registered, not polling for workflow tasks';

/** A verdict of a step in one line: its stack is the same for each task. Other errors with their stacks. */
function describeError(error: Error) {
  if (!(error instanceof ApplicationFailure)) return stdSerializers.err(error);
  const { type, message, cause } = error;
  return { type, message, ...(cause !== undefined && { cause: cause.message }) };
}

/** Logs the SDK's messages below warnings one level lower, since they are about the SDK itself, and an expected warning. */
export function temporalLogger(log: Logger) {
  // The SDK logs errors in the field `error`; without a serializer, pino would write {}.
  const sdk = log.child({ part: 'temporal' }, { serializers: { error: describeError } });
  const write = (level: string, message: string, meta: object = {}): void => {
    if (level === 'ERROR') sdk.error(meta, message);
    else if (level === 'WARN' && message !== EXPECTED_WARNING) sdk.warn(meta, message);
    else if (level === 'WARN' || level === 'INFO') sdk.debug(meta, message);
    else sdk.trace(meta, message);
  };
  return {
    log: write,
    trace: (message: string, meta?: object) => write('TRACE', message, meta),
    debug: (message: string, meta?: object) => write('DEBUG', message, meta),
    info: (message: string, meta?: object) => write('INFO', message, meta),
    warn: (message: string, meta?: object) => write('WARN', message, meta),
    error: (message: string, meta?: object) => write('ERROR', message, meta),
  };
}
