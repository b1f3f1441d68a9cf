/** Carries out the plan: each fault starts at its time and ends on its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stage } from './faults/fault.ts';
import { type FaultName, FAULTS } from './faults/kinds.ts';
import type { PlannedFault } from './plan.ts';
import type { Random } from './random.ts';
import { formatClock } from './report.ts';

interface Tools {
  readonly stage: Stage;
  readonly random: Random;
  readonly report: (line: string) => void;
}

/** Runs the faults that come first. */
export async function strikeFirst(plan: readonly PlannedFault[], { stage, random, report }: Tools): Promise<void> {
  for (const { kind, lastsMs } of plan) {
    if (FAULTS[kind].isFirst) report(`first  ${await FAULTS[kind].strike(stage, random.fork(), lastsMs)}`);
  }
}

/**
 * Runs the other faults. A fault without a healthy target waits for one.
 *
 * @returns when everything is healthy again
 */
export async function carryOut(plan: readonly PlannedFault[], { stage, random, report }: Tools): Promise<void> {
  const beganAt = performance.now();
  const strike = async (kind: FaultName, chance: Random, lastsMs: number): Promise<void> => {
    const clock = formatClock(performance.now() - beganAt);
    report(`${clock}  ${await FAULTS[kind].strike(stage, chance, lastsMs)}`);
  };
  const striking: Promise<void>[] = [];
  for (const { atMs, kind, lastsMs } of plan) {
    if (FAULTS[kind].isFirst) continue;
    // A fault that cannot be carried out ends the drill at once.
    await Promise.race([sleep(Math.max(atMs - (performance.now() - beganAt), 0)), failureOf(striking)]);
    striking.push(strike(kind, random.fork(), lastsMs));
  }
  await Promise.all(striking);
}

/** Rejects when one of them rejects; never resolves. */
async function failureOf(all: readonly Promise<void>[]): Promise<never> {
  await Promise.all(all);
  return new Promise(() => {});
}
