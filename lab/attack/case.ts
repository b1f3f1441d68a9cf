import type { Victim } from './attacker.ts';

/** One way to hurt the gateway. */
export interface AttackCase {
  readonly name: string;
  /**
   * @returns what was found, in numbers
   * @throws Error that says what was got for nothing, or who had to wait
   */
  readonly run: (victim: Victim) => Promise<string>;
}

/** @throws Error with the finding when the rule does not hold */
export function holds(rule: boolean, finding: string): string {
  if (!rule) throw new Error(finding);
  return finding;
}
