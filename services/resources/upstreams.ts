/** The shapes of upstreams and their overrides. */
import type { UpstreamOverride } from '../../db/queries/upstream-overrides.ts';
import { type CallSum, durationAtMs } from '../../domain/upstream-calls.ts';
import { nullable, text } from '../../domain/json-schema.ts';
import * as field from '../../domain/resource/field.ts';
import { type Fields, nested, resource } from '../../domain/resource/resource.ts';
import { UPSTREAM_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import { CIRCUIT_CAUSES } from '../../domain/circuit.ts';
import type { UpstreamHealth } from '../operations/fleet-health.ts';

/** Converts a time in milliseconds to a date. */
const momentOf = (atMs: number | null): Date | null => (atMs === null ? null : new Date(atMs));

const SAME = (sum: CallSum): CallSum => sum;

/** The fields that sum up the calls of all processes. */
function callsOf<Row>(read: (row: Row) => CallSum, when: string): Fields<Row> {
  return {
    requests: field.count((row: Row) => read(row).requests, `The number of requests ${when}. For media, submissions`),
    failures: field.count((row: Row) => read(row).failures, 'The number of requests that failed at the upstream'),
    p50_ms: field.integer.orNull((row: Row) => durationAtMs(read(row), 0.5), 'The median duration, in ms'),
    p95_ms: field.integer.orNull(
      (row: Row) => durationAtMs(read(row), 0.95),
      'The 95th percentile of durations, in ms',
    ),
  };
}

const LAST_FAILURE = nested<NonNullable<UpstreamHealth['lastFailure']>>({
  at: field.isoTime('failedAt', 'When the request failed'),
  fault: field.text('fault', 'The kind of failure'),
  status: field.integer.orNull('status', 'The HTTP status of the answer. Null if there was none'),
  message: field.text('message', 'The upstream’s message without secrets. Empty if there was none'),
});

export const UPSTREAM = resource<UpstreamHealth>('Upstream', {
  name: field.text('name', 'The name of the upstream in the routes of the catalogue'),
  kind: field.oneOf(['text', 'media'])((circuit) => ('format' in circuit ? 'text' : 'media')),
  format: field
    .oneOf(UPSTREAM_FORMAT_NAMES)
    .orAbsent((circuit) => ('format' in circuit ? circuit.format : undefined), 'The wire format. Only for text'),
  protocol: field
    .json(nullable(text('The vendor’s API. Only for media')))
    .orAbsent((circuit) => ('protocol' in circuit ? circuit.protocol : undefined)),
  model: field.text('model', 'The upstream’s name for the model'),
  key: field.text.orNull('key', 'The last four characters of the key'),
  state: field.oneOf(['ok', 'resting', 'probing'])(
    'state',
    '`probing`: the pause is over, and one request tests whether the upstream works again',
  ),
  cause: field.oneOf(CIRCUIT_CAUSES).orNull('cause', 'Why the upstream is out of service. Null if in service'),
  since: field.isoTime.orNull(({ sinceMs }) => momentOf(sinceMs), 'When the pause started. Null if in service'),
  until: field.isoTime.orNull(({ untilMs }) => momentOf(untilMs), 'When the next probe may start. Null if in service'),
  open_in: field.count('openIn', 'The number of processes that have taken the upstream out of service. For text'),
  ...callsOf(({ lastHour }: UpstreamHealth) => lastHour, 'of the last hour'),
  last_5_minutes: field.object(nested(callsOf(SAME, 'of the last five minutes')))('lastFiveMinutes'),
  last_day: field.object(nested(callsOf(SAME, 'of the last 24 hours')))('lastDay'),
  last_failure: field.object(LAST_FAILURE).orNull('lastFailure', 'The latest failure'),
});

export const UPSTREAM_OVERRIDE = resource<UpstreamOverride>('UpstreamOrder', {
  object: field.constant('upstream_order'),
  upstream: field.text('upstream', 'The name of the upstream'),
  model: field.text.orNull('model', 'The upstream’s name for the model. Null for all of its models'),
  kind: field.oneOf(['rest', 'resume'])(({ until }) => (until === null ? 'resume' : 'rest')),
  until: field.isoTime.orNull('until', 'When the upstream returns to service'),
  author: field.text('author', 'The author of the order'),
  reason: field.text('reason', 'The reason of the order'),
  created_at: field.isoTime('createdAt', 'When the order was created'),
});
