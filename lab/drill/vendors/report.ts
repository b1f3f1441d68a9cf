/** Describes the outcomes of the orders, by vendor and fault. */
import type { Kills } from './kills.ts';
import type { Outcome } from './outcomes.ts';
import { nameOf } from './products.ts';

type Column<Subject> = readonly [heading: string, count: (subject: Subject) => number];

const NAME_WIDTH = 22;
const FAULT_WIDTH = 32;

const COUNTS: readonly Column<readonly Outcome[]>[] = [
  ['tasks', (group) => group.length],
  ['charged', (group) => sum(group, ({ resolutions }) => resolutions.filter((kind) => kind === 'settlement').length)],
  ['refunded', (group) => sum(group, ({ resolutions }) => resolutions.filter((kind) => kind === 'refund').length)],
  ['resolved once', (group) => group.filter(({ resolutions }) => resolutions.length === 1).length],
  ['renders', (group) => sum(group, ({ renders }) => renders.length)],
  ['most a task', (group) => Math.max(0, ...group.map(({ renders }) => renders.length))],
  ['handed over', (group) => sum(group, ({ submissions }) => submissions)],
  ['given up', (group) => sum(group, ({ givenUp }) => givenUp)],
];

/** A line for each vendor, kind and fault. */
export function describeFaults(outcomes: readonly Outcome[]): string[] {
  const groups = grouped(outcomes, ({ order }) => nameOf(order.product).padEnd(NAME_WIDTH) + order.fault.name);
  return table(
    'vendor'.padEnd(NAME_WIDTH) + 'fault',
    NAME_WIDTH + FAULT_WIDTH,
    COUNTS,
    [...groups].toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
}

/** A line for each vendor and kind, with the kills of the worker inside a submission or a synchronous render. */
export function describeVendors(outcomes: readonly Outcome[], { counts }: Pick<Kills, 'counts'>): string[] {
  const kills = (answers: 'job' | 'files') => (group: readonly Outcome[]) =>
    [...new Set(group.map(({ order }) => order.product))]
      .filter(({ traits }) => traits.answers === answers)
      .reduce((total, product) => total + (counts.get(nameOf(product)) ?? 0), 0);
  const columns = [
    ...COUNTS.slice(0, 1),
    ['killed in submission', kills('job')] as const,
    ['killed in render', kills('files')] as const,
    ...COUNTS.slice(1),
  ];
  const groups = grouped(outcomes, ({ order }) => nameOf(order.product));
  return table('vendor', NAME_WIDTH, columns, [...groups, ['all', outcomes]]);
}

function grouped(outcomes: readonly Outcome[], nameOfGroup: (outcome: Outcome) => string): Map<string, Outcome[]> {
  const groups = new Map<string, Outcome[]>();
  for (const outcome of outcomes) {
    const name = nameOfGroup(outcome);
    groups.set(name, [...(groups.get(name) ?? []), outcome]);
  }
  return groups;
}

function table<Subject>(
  title: string,
  width: number,
  columns: readonly Column<Subject>[],
  rows: readonly (readonly [name: string, subject: Subject])[],
): string[] {
  const line = (name: string, cells: readonly string[]): string =>
    name.padEnd(width) + cells.map((cell, index) => cell.padStart((columns[index]?.[0].length ?? 0) + 2)).join('');
  return [
    line(
      title,
      columns.map(([heading]) => heading),
    ),
    ...rows.map(([name, subject]) =>
      line(
        name,
        columns.map(([, count]) => String(count(subject))),
      ),
    ),
  ];
}

function sum(outcomes: readonly Outcome[], count: (outcome: Outcome) => number): number {
  return outcomes.reduce((total, outcome) => total + count(outcome), 0);
}
