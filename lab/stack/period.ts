/** Times from one moment to another. */

/** In milliseconds since 1970. */
export interface Period {
  readonly fromMs: number;
  readonly untilMs: number;
}

export function lengthOf({ fromMs, untilMs }: Period): number {
  return untilMs - fromMs;
}

/** The gaps between the moments, including those before the first and after the last. */
export function gapsBetween(moments: readonly number[], { fromMs, untilMs }: Period): Period[] {
  const within = moments.filter((moment) => fromMs < moment && moment < untilMs).toSorted((one, other) => one - other);
  return [...within, untilMs].map((moment, index) => ({ fromMs: within[index - 1] ?? fromMs, untilMs: moment }));
}

/** How much of the period lies within others, which may overlap, in milliseconds. */
export function coveredOf(period: Period, others: readonly Period[]): number {
  let total = 0;
  let countedUntilMs = period.fromMs;
  for (const { fromMs, untilMs } of others.toSorted((one, other) => one.fromMs - other.fromMs)) {
    const endMs = Math.min(untilMs, period.untilMs);
    total += Math.max(0, endMs - Math.max(fromMs, countedUntilMs));
    countedUntilMs = Math.max(countedUntilMs, endMs);
  }
  return total;
}

/** The periods that lie in one of each list. */
export function commonTo(lists: readonly (readonly Period[])[]): readonly Period[] {
  return lists.reduce((common, list) =>
    common.flatMap((one) =>
      list
        .map((other) => ({ fromMs: Math.max(one.fromMs, other.fromMs), untilMs: Math.min(one.untilMs, other.untilMs) }))
        .filter(({ fromMs, untilMs }) => fromMs < untilMs),
    ),
  );
}

/** @throws TypeError when there are none */
export function longestOf(periods: readonly Period[]): Period {
  return periods.reduce((longest, period) => (lengthOf(period) > lengthOf(longest) ? period : longest));
}
