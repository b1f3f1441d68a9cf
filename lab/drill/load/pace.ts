/** Work at a steady mean rate, regardless of answers. */
import { pause } from '../../stack/pause.ts';
import type { Random } from '../random.ts';

export interface Pace {
  readonly perSecond: number;
  /** The maximum of concurrent pieces of work. */
  readonly mostAtOnce: number;
  /** The maximum rate. */
  readonly mostInAll: number;
}

/**
 * Starts a piece of work at random moments until the signal is aborted.
 *
 * @param work never rejects
 * @returns resolves when all started work has ended
 */
export async function atPace(
  random: Random,
  { perSecond, mostAtOnce, mostInAll }: Pace,
  ended: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  for (let begun = 0; begun < mostInAll && !ended.aborted; begun += 1) {
    const one = work().finally(() => underWay.delete(one));
    underWay.add(one);
    // At most twice the mean, so that requests arrive at irregular moments and yet throughout the drill.
    await pause((random.next() * 2_000) / perSecond, ended);
    while (underWay.size >= mostAtOnce) await Promise.race(underWay);
  }
  await Promise.all(underWay);
}
