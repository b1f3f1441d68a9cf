import type { Victim } from './attacker.ts';

/** One attack on the gateway. */
export interface AttackCase {
  readonly name: string;
  /**
   * @returns the measured figures
   * @throws Error that names the unpaid output, or the client that had to wait
   */
  readonly run: (victim: Victim) => Promise<string>;
}

/** @throws Error with the finding when the rule does not hold */
export function holds(rule: boolean, finding: string): string {
  if (!rule) throw new Error(finding);
  return finding;
}
