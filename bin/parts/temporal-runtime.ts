/** The native runtime under Temporal's workers: where its log goes, and what it measures. */
import { Runtime } from '@temporalio/worker';
import { type Logger, stdSerializers } from 'pino';
import { findFreePort } from '../stack/ports.ts';

/** Asked by this process only, and answered from memory. */
const TIMEOUT_MS = 5_000;

/**
 * Must come before anything else of the SDK's worker.
 *
 * @returns reads what the SDK measures (https://docs.temporal.io/references/sdk-metrics), in Prometheus' text format
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

/** What the SDK tells, one level down: its everyday messages are about itself. */
export function temporalLogger(log: Logger) {
  // As the SDK calls what went wrong; without it an error would be written as {}.
  const sdk = log.child({ part: 'temporal' }, { serializers: { error: stdSerializers.err } });
  return {
    log: (level: string, message: string, meta?: object) => {
      const write =
        level === 'ERROR' ? sdk.error : level === 'WARN' ? sdk.warn : level === 'INFO' ? sdk.debug : sdk.trace;
      write.call(sdk, meta ?? {}, message);
    },
    trace: (message: string, meta?: object) => sdk.trace(meta ?? {}, message),
    debug: (message: string, meta?: object) => sdk.trace(meta ?? {}, message),
    info: (message: string, meta?: object) => sdk.debug(meta ?? {}, message),
    warn: (message: string, meta?: object) => sdk.warn(meta ?? {}, message),
    error: (message: string, meta?: object) => sdk.error(meta ?? {}, message),
  };
}
