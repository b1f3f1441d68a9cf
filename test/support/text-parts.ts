import pino, { type Logger } from 'pino';
import { observeUpstreams } from '../../services/text/observe-upstreams.ts';
import type { Catalogue } from '../../catalogue/types.ts';
import { createCallRecorder } from '../../db/call-recorder.ts';
import type { Database } from '../../db/database.ts';
import { createTextBilling } from '../../db/text-money/create-billing.ts';
import type { TextUpstreamSettings } from '../../providers/text/settings.ts';
import { createTextUpstreams } from '../../providers/text/text-upstreams.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { NO_TRACING } from '../../telemetry/tracing.ts';

interface TextPartsOptions {
  readonly database: Database;
  readonly databaseUrl: string;
  readonly catalogue: Catalogue;
  readonly settings: readonly TextUpstreamSettings[];
  readonly maxSilenceMs: number;
  /** The clock of the upstreams' health, in milliseconds; the machine's clock by default. */
  readonly upstreamClock?: (() => number) | undefined;
}

/** The parts of applications that generate text and bill it, with a log that is kept. */
export function startTextParts(options: TextPartsOptions) {
  const { database, databaseUrl, catalogue, settings, maxSilenceMs, upstreamClock } = options;
  let logged = '';
  const log: Logger = pino({ level: 'trace' }, { write: (line) => void (logged += line) });
  const metrics = createMetrics();
  const calls = createCallRecorder(database, log);
  const watch = observeUpstreams({ log, metrics, tracing: NO_TRACING, calls });
  const upstreams = createTextUpstreams(settings, maxSilenceMs, watch, upstreamClock);
  const billing = createTextBilling({ database, databaseUrl, catalogue, log, metrics });
  return {
    log,
    logged: () => logged,
    metrics,
    calls,
    upstreams,
    billing,
    stop: async () => {
      await billing.close();
      await upstreams.close();
      await calls.stop();
    },
  };
}
