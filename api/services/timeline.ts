/** Timelines: the events of a resource, oldest first, as operators read them. */
import type { Delivery } from '../../db/queries/deliveries.ts';
import type { Transfer } from '../../db/queries/transfers.ts';
import { formatUsd } from '../../domain/money.ts';

export const TIMELINE_SOURCES = [
  'account',
  'key',
  'task',
  'text',
  'file',
  'ledger',
  'upstream',
  'workflow',
  'webhook',
  'delivery',
  'operator',
] as const;

/** An event, and the source that reports it. */
export interface TimelineEvent {
  readonly at: Date;
  readonly source: (typeof TIMELINE_SOURCES)[number];
  readonly text: string;
}

export interface Timeline {
  /** The id of the subject. */
  readonly id: string;
  /** The status, in a sentence or two. */
  readonly verdict: string;
  readonly events: readonly TimelineEvent[];
  /** The current step. */
  readonly pending?: readonly string[];
}

/** The events as lines of text, under the verdict. */
export function renderTimeline({ id, verdict, events, pending = [] }: Timeline): readonly string[] {
  const width = Math.max(...events.map(({ source }) => source.length));
  return [
    `${id}: ${verdict}`,
    ...events.map(({ at, source, text }) => `${at.toISOString()}  ${source.padEnd(width)}  ${text}`),
    ...pending.map((text) => `${'now'.padEnd(24)}  ${'workflow'.padEnd(width)}  ${text}`),
  ];
}

export function oldestFirst(events: readonly TimelineEvent[]): readonly TimelineEvent[] {
  return events.toSorted((one, other) => one.at.getTime() - other.at.getTime());
}

export function transferEvent({ createdAt, kind, amount, debit, credit, id }: Transfer): TimelineEvent {
  return {
    at: createdAt,
    source: 'ledger',
    text: `${kind} of ${formatUsd(amount)} USD from ${debit} to ${credit}: ${id}`,
  };
}

export function deliveryEvents({
  id,
  eventType,
  endpointId,
  status,
  attempts,
  createdAt,
  nextAttemptAt,
}: Delivery): TimelineEvent[] {
  const next = status === 'pending' && nextAttemptAt ? `, next attempt at ${nextAttemptAt.toISOString()}` : '';
  return [
    { at: createdAt, source: 'delivery', text: `${eventType} to ${endpointId}: ${id}, now ${status}${next}` },
    ...attempts.map(({ number, startedAt, status, error, latencyMs }): TimelineEvent => {
      const answer = error ?? `HTTP ${status}`;
      return { at: startedAt, source: 'delivery', text: `${id}, attempt ${number}: ${answer}, after ${latencyMs} ms` };
    }),
  ];
}
