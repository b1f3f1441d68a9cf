import type { Logger } from 'pino';
import type { CallRecorder } from '../../db/call-recorder.ts';
import type { AttemptReport } from '../../providers/text/attempt-report.ts';
import type { TextUpstreamObserver } from '../../providers/text/text-upstreams.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Tracing } from '../../telemetry/tracing.ts';

export interface UpstreamWatch {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly calls: CallRecorder;
}

/** Measures, traces and logs every attempt to call an upstream for text. */
export function observeUpstreams({ log, metrics, tracing, calls }: UpstreamWatch): TextUpstreamObserver {
  return {
    traced: (name, dispatcher) => tracing.provider(name, dispatcher),
    answered: (upstream, outcome, seconds) => metrics.upstreamAnswered({ upstream, outcome, seconds }),
    attempted: (attempt) => {
      const { upstream, model, fault, decision, unreadableEvents } = attempt;
      metrics.upstreamAttempted({ upstream, model, fault: fault ?? 'none', decision }, unreadableEvents);
      recordCall(attempt, calls);
      const level = levelOf(attempt);
      if (log.isLevelEnabled(level)) log[level](lineOf(attempt), 'upstream attempt');
    },
  };
}

/** Also records a success after a failure: it shows how the request continued. */
function recordCall(attempt: AttemptReport, calls: CallRecorder): void {
  const {
    account: accountId,
    requestId,
    number,
    upstream,
    format,
    model,
    key,
    fault,
    status,
    vendorMessage,
    reason,
    seconds,
  } = attempt;
  const target = { upstream, format, model, key };
  const message = vendorMessage || reason;
  const durationMs = Math.round(seconds * 1000);
  calls.record(target, { accountId, durationMs, failure: fault && { fault, status, message } });
  if (number === 1 && attempt.decision === 'answered') return;
  calls.recordAttempt({
    ...target,
    accountId,
    requestId,
    number,
    decision: attempt.decision,
    fault,
    status,
    message,
    durationMs,
  });
}

/** Failures of upstreams concern operators; successes are in the usage table. */
function levelOf({ decision, fault, unreadableEvents }: AttemptReport): 'debug' | 'info' | 'warn' {
  if (unreadableEvents > 0) return 'warn';
  if (decision === 'answered') return 'debug';
  return fault === null ? 'info' : 'warn';
}

function lineOf({ requestId, upstream, format, model, key, ...attempt }: AttemptReport): object {
  const { status, fault, vendorMessage, reason, decision, unreadableEvents, seconds } = attempt;
  return {
    request_id: requestId,
    upstream,
    format,
    model,
    key: `…${key}`,
    decision,
    ...(status !== null && { status }),
    ...(fault !== null && { fault }),
    ...(vendorMessage !== '' && { vendor_message: vendorMessage }),
    ...(reason !== '' && { reason }),
    ...(unreadableEvents > 0 && { unreadable_events: unreadableEvents }),
    duration_ms: Math.round(seconds * 10_000) / 10,
  };
}
