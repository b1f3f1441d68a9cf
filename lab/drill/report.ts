/** Describes the faults and findings of a drill. */
import type { CheckResult } from './checks/check.ts';
import type { BatchLoad } from './load/batch.ts';
import { BATCH_SHAPES, type BatchResult } from './load/batch-shapes.ts';
import type { MediaLoad } from './load/media.ts';
import type { RealtimeLoad } from './load/realtime.ts';
import type { TextLoad } from './load/text.ts';
import type { Waits } from './checks/waits.ts';
import { seconds } from './faults/fault.ts';
import { FAULT_NAMES } from './faults/kinds.ts';
import { lengthOf, type Period } from '../stack/period.ts';
import type { PlannedFault } from './plan.ts';
import type { Receiver } from './receiver.ts';

const MOST_FAILURES_SHOWN = 5;

export function describeDeeds({
  plan,
  media,
  text,
  realtime,
  batch,
  receiver,
}: {
  plan: readonly PlannedFault[];
  media: MediaLoad;
  text: TextLoad;
  realtime: RealtimeLoad;
  batch: BatchLoad;
  receiver: Receiver;
}): string[] {
  const { orders } = media;
  const faults = FAULT_NAMES.map((name) => ({ name, count: plan.filter(({ kind }) => kind === name).length }));
  const events = [...receiver.events.values()];
  const whole = text.answers.filter(({ isWhole }) => isWhole).length;
  return [
    line(
      'faults',
      plan.length,
      faults.flatMap(({ name, count }) => (count === 0 ? [] : [`${name} ${count}`])),
    ),
    line('media orders', orders.length, [
      `${orders.filter(({ taskId }) => taskId !== null).length} answered 201`,
      `${sum(orders.map(({ calls }) => calls - 1))} calls repeated`,
      `${orders.filter(({ isReplay }) => isReplay).length} answers replayed`,
    ]),
    line('media answers', sum([...media.answers.values()]), countsOf(media.answers)),
    line('text requests', text.answers.length + text.lost.length, [
      `${whole} whole answers`,
      `${text.answers.filter(({ status }) => status !== 200).length} errors`,
      `${text.answers.filter(({ status, isWhole }) => status === 200 && !isWhole).length} broken by the upstream`,
      `${text.lost.length} cut off`,
    ]),
    line('realtime turns', realtime.turns.length, [
      `in ${realtime.opened()} sessions`,
      `${realtime.turns.filter(({ status }) => status === 'completed').length} completed`,
      `${realtime.turns.filter(({ status }) => status === null).length} cut off`,
      ...[...realtime.errors].map(([error, count]) => `${count} × ${error}`),
    ]),
    line('batches', batch.batches.length, [
      ...BATCH_SHAPES.map(
        ({ name }) => `${batch.batches.filter(({ shape }) => shape.name === name).length} of ${name}`,
      ),
      `${batch.batches.filter(({ isCancelled }) => isCancelled).length} cancelled`,
      `${batch.lost()} creations repeated`,
      ...OUTCOMES.map((outcome) => `${count(batch, outcome)} lines ${outcome}`),
      `${sum(batch.batches.map(({ results }) => results?.filter(isRepeated).length ?? 0))} lines repeated`,
    ]),
    line('webhook events', events.length, [
      `${sum(events.map(({ accepted }) => accepted))} deliveries taken`,
      `${sum(events.map(({ refused }) => refused))} refused`,
      `${events.filter(({ accepted }) => accepted > 1).length} events taken more than once`,
    ]),
  ];
}

/** @param load its start is the zero of the clock */
export function describeWaits({ create, text, eventMs }: Waits, load: Period): string {
  const from = (gap: Period): string => `${seconds(lengthOf(gap))} from ${formatClock(gap.fromMs - load.fromMs)} on`;
  const parts = [
    `without an answered create ${from(create)}`,
    `without a whole answer of text ${from(text)}`,
    `from the end of a task to its event ${seconds(eventMs)}`,
  ];
  return `${'longest times'.padEnd(23)} ${parts.join(', ')}`;
}

/** Minutes and seconds since the load started. */
export function formatClock(milliseconds: number): string {
  const total = Math.floor(milliseconds / 1000);
  return `${String(Math.floor(total / 60)).padStart(2, '0')}:${String(total % 60).padStart(2, '0')}`;
}

export function describeChecks(results: readonly CheckResult[]): string[] {
  return results.flatMap(({ promise, failures }) => [
    `${failures.length === 0 ? 'ok    ' : 'FAILED'}  ${promise}`,
    ...failures.slice(0, MOST_FAILURES_SHOWN).map((failure) => `          ${failure}`),
    ...(failures.length > MOST_FAILURES_SHOWN ? [`          … ${failures.length} in all`] : []),
  ]);
}

/** The last line of a drill. */
export function describeVerdict(results: readonly CheckResult[]): string {
  const failed = results.filter(({ failures }) => failures.length > 0).length;
  return `${results.length} checks, ${failed} failed`;
}

function countsOf(answers: ReadonlyMap<number, number>): string[] {
  const counts = [...answers].toSorted(([one], [other]) => one - other);
  return counts.map(([status, count]) => `${count} × ${status === 0 ? 'no answer' : status}`);
}

function line(what: string, count: number, details: readonly string[]): string {
  return `${what.padEnd(15)} ${String(count).padStart(6)}  ${details.join(', ')}`;
}

const OUTCOMES = ['succeeded', 'failed', 'cancelled', 'expired'] as const;

function count({ batches }: BatchLoad, outcome: BatchResult['outcome']): number {
  return sum(batches.map(({ results }) => results?.filter((result) => result.outcome === outcome).length ?? 0));
}

function isRepeated({ attempt }: BatchResult): boolean {
  return attempt !== null && attempt > 1;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
