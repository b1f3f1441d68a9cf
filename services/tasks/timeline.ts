/** Timelines: the events of a resource, oldest first, as operators read them. */
import type { Delivery } from '../../db/queries/deliveries.ts';
import type { Transfer } from '../../db/queries/transfers.ts';
import { formatDollars, type PicoUsd } from '../../domain/money.ts';
import type { HistoryStep } from './history-steps.ts';
import { type TimelineTexts, timelineLabel } from './timeline-texts.ts';

export const TIMELINE_SOURCES = [
  'account',
  'key',
  'task',
  'batch',
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

export function transferEvent(
  { createdAt, kind, amount, debit, credit, id }: Transfer,
  texts: TimelineTexts,
): TimelineEvent {
  const label = (value: string): string => timelineLabel(value, texts);
  const text = texts.transfer.moved(label(kind), formatDollars(amount), label(debit), label(credit), id);
  return { at: createdAt, source: 'ledger', text };
}

export function deliveryEvents(delivery: Delivery, texts: TimelineTexts): TimelineEvent[] {
  const { id, eventType, endpointId, status, attempts, createdAt, nextAttemptAt } = delivery;
  const { delivery: phrases } = texts;
  const next = status === 'pending' && nextAttemptAt ? phrases.next(nextAttemptAt.toISOString()) : '';
  const made = phrases.made(eventType, endpointId, id, timelineLabel(status, texts));
  return [
    { at: createdAt, source: 'delivery', text: `${made}${next}` },
    ...attempts.map(({ number, startedAt, status, error, latencyMs }): TimelineEvent => {
      const text = phrases.attempt(id, number, error ?? `HTTP ${status}`, latencyMs);
      return { at: startedAt, source: 'delivery', text };
    }),
  ];
}

/** Describes a step of a task's workflow. @param price the price of the task */
export function describeStep(step: HistoryStep, price: PicoUsd, texts: TimelineTexts): string {
  const { steps: phrases } = texts;
  switch (step.kind) {
    case 'activity':
      return describeActivity(step, formatDollars(price), texts);
    case 'started':
      return phrases.started(step.summary);
    case 'startedChild':
      return phrases.startedChild(step.summary, step.workflowId);
    case 'signalled':
      return phrases.signalled(step.signal);
    case 'customerAnswered':
      return phrases.customerAnswered(step.answer);
    case 'failed':
      return phrases.failed(step.failure ?? phrases.noReason);
    case 'terminated':
      return phrases.terminated(step.by, step.reason || phrases.noReasonGiven);
    default:
      return phrases[step.kind];
  }
}

function describeActivity(step: Extract<HistoryStep, { kind: 'activity' }>, usd: string, texts: TimelineTexts): string {
  const { steps: phrases } = texts;
  const { activity, summary, attempt, outcome, previousFailure, heartbeat, at } = step;
  const [name, done] = phrases.names[activity] ?? [() => summary, null];
  const again = (text: string): string => (attempt > 1 ? phrases.attempt(text, attempt) : text);
  const current =
    outcome === 'running'
      ? phrases.outcomes.running(name(usd), attempt)
      : outcome === 'done' && done !== null
        ? again(done(usd))
        : phrases.outcomes[outcome](again(name(usd)), timelineLabel(step.failure ?? phrases.noReason, texts));
  return [
    current,
    ...(previousFailure === null ? [] : [phrases.previousFailed(timelineLabel(previousFailure, texts))]),
    ...(heartbeat === null ? [] : [phrases.heartbeat(at.toISOString(), heartbeat)]),
  ].join(texts.separator);
}
