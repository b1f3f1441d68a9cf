/** The command-line options of a drill of vendors. */
import { parseArgs } from 'node:util';
import { type DrillOptions, MOST_SEED, wholeNumber } from '../options.ts';

export interface VendorDrillOptions extends Pick<DrillOptions, 'seed' | 'taskDeadlineMs' | 'quietMs'> {
  /** The number of tasks for each fault at each vendor without kills. */
  readonly copies: number;
  /** The number of kills inside a submission, or a render, of each vendor and kind. */
  readonly kills: number;
  /** The number of tasks of each vendor and kind, with faults, for each kill. */
  readonly loadPerKill: number;
}

export const VENDORS_USAGE = `usage: npm run drill -- --vendors [options]
  --kills N       how often the worker is killed inside a submission, or a render, of each vendor (20)
  --copies N      how many tasks meet each fault at each vendor while nobody is killed (3)
  --seed N        repeats the chances of an earlier drill (a new one)`;

const DEFAULTS = { loadPerKill: 2, taskDeadlineMs: 240_000, quietMs: 420_000 } as const;

/**
 * @param args the arguments after the command
 * @param newSeed used if the arguments give none
 * @throws Error that names the wrong argument
 */
export function parseVendorOptions(args: readonly string[], newSeed: number): VendorDrillOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      vendors: { type: 'boolean' },
      kills: { type: 'string', default: '20' },
      copies: { type: 'string', default: '3' },
      seed: { type: 'string', default: String(newSeed) },
    },
  });
  return {
    ...DEFAULTS,
    kills: wholeNumber('kills', values.kills, 1_000),
    copies: wholeNumber('copies', values.copies, 100),
    seed: wholeNumber('seed', values.seed, MOST_SEED),
  };
}
