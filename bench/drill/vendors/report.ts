/** What became of the orders of each vendor, by fault, in words. */
import type { Outcome } from './outcomes.ts';
import { nameOf } from './products.ts';

const HEADINGS = ['tasks', 'charged', 'refunded', 'renders', 'most', 'handed over', 'given up'] as const;
const NAME_WIDTH = 22;
const FAULT_WIDTH = 32;

/** A line for each vendor, kind and fault. `most` is that of renders for one task. */
export function describeOutcomes(outcomes: readonly Outcome[]): string[] {
  const groups = new Map<string, Outcome[]>();
  for (const outcome of outcomes) {
    const { product, fault } = outcome.order;
    const key = nameOf(product).padEnd(NAME_WIDTH) + fault.name.padEnd(FAULT_WIDTH);
    groups.set(key, [...(groups.get(key) ?? []), outcome]);
  }
  return [
    'vendor'.padEnd(NAME_WIDTH) + 'fault'.padEnd(FAULT_WIDTH) + columns(HEADINGS),
    ...[...groups]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, group]) => key + columns(countsOf(group))),
    'all'.padEnd(NAME_WIDTH + FAULT_WIDTH) + columns(countsOf(outcomes)),
  ];
}

/** @param kills inside a submission or a render, by product */
export function describeKills(kills: ReadonlyMap<string, number>, rounds: number): string {
  const counts = [...kills].map(([name, count]) => `${name} ${count}`);
  return `SIGKILL of the worker ${rounds} times; inside a submission or a render of ${counts.join(', ')}`;
}

function countsOf(outcomes: readonly Outcome[]): readonly number[] {
  const sum = (count: (outcome: Outcome) => number): number =>
    outcomes.reduce((total, outcome) => total + count(outcome), 0);
  return [
    outcomes.length,
    sum(({ resolutions }) => resolutions.filter((kind) => kind === 'settlement').length),
    sum(({ resolutions }) => resolutions.filter((kind) => kind === 'refund').length),
    sum(({ renders }) => renders.length),
    Math.max(0, ...outcomes.map(({ renders }) => renders.length)),
    sum(({ submissions }) => submissions),
    sum(({ givenUp }) => givenUp),
  ];
}

function columns(values: readonly (string | number)[]): string {
  return values.map((value, index) => String(value).padStart((HEADINGS[index] ?? '').length + 2)).join('');
}
