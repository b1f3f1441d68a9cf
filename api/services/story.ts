/** Stories: what happened to a thing, oldest first, as operators read it. */
import type { Delivery } from '../../db/queries/deliveries.ts';
import type { Transfer } from '../../db/queries/transfers.ts';
import { formatUsd } from '../../domain/money.ts';

export const STORY_SOURCES = [
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

/** One thing that happened, and who knows of it. */
export interface StoryEvent {
  readonly at: Date;
  readonly source: (typeof STORY_SOURCES)[number];
  readonly text: string;
}

export interface Story {
  /** The id of the subject. */
  readonly id: string;
  /** How it stands, in a sentence or two. */
  readonly verdict: string;
  readonly events: readonly StoryEvent[];
  /** The current step. */
  readonly pending?: readonly string[];
}

/** The events as lines of text, under the verdict. */
export function renderStory({ id, verdict, events, pending = [] }: Story): readonly string[] {
  const width = Math.max(...events.map(({ source }) => source.length));
  return [
    `${id}: ${verdict}`,
    ...events.map(({ at, source, text }) => `${at.toISOString()}  ${source.padEnd(width)}  ${text}`),
    ...pending.map((text) => `${'now'.padEnd(24)}  ${'workflow'.padEnd(width)}  ${text}`),
  ];
}

export function oldestFirst(events: readonly StoryEvent[]): readonly StoryEvent[] {
  return events.toSorted((one, other) => one.at.getTime() - other.at.getTime());
}

export function tellTransfer({ createdAt, kind, amount, debit, credit, id }: Transfer): StoryEvent {
  return { at: createdAt, source: 'ledger', text: `${kind} of ${formatUsd(amount)} USD, ${debit} to ${credit}: ${id}` };
}

export function tellDelivery({
  id,
  eventType,
  endpointId,
  status,
  attempts,
  createdAt,
  nextAttemptAt,
}: Delivery): StoryEvent[] {
  const next = status === 'pending' && nextAttemptAt ? `, next attempt at ${nextAttemptAt.toISOString()}` : '';
  return [
    { at: createdAt, source: 'delivery', text: `${eventType} to ${endpointId}: ${id}, now ${status}${next}` },
    ...attempts.map(({ number, startedAt, status, error, latencyMs }): StoryEvent => {
      const answer = error ?? `HTTP ${status}`;
      return { at: startedAt, source: 'delivery', text: `${id}, attempt ${number}: ${answer}, after ${latencyMs} ms` };
    }),
  ];
}
