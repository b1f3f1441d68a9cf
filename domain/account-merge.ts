/** The merge of two accounts of one person: the reasons against it, and its status. */
import type { PicoUsd } from './money.ts';

/** One of the two accounts. */
export interface MergeSide {
  readonly mergedInto: string | null;
  readonly suspendedAt: Date | null;
  /** What the account owes for returned payments. */
  readonly debt: PicoUsd;
  /** Whether a plan applies, or its subscription continues. */
  readonly hasPlan: boolean;
  /** Whether an automatic top-up is being paid. */
  readonly isToppingUp: boolean;
  /** Batches that are not final. */
  readonly openBatches: number;
  /** The maximum of members; null without a limit. */
  readonly seats: number | null;
  readonly memberIds: readonly string[];
}

/** Each reason against a merge, with the remedy for the API. */
export const MERGE_OBSTACLES = {
  source_merged: 'the account was merged before',
  source_suspended: 'the account is closed, or suspended: reopen it',
  source_owes: 'the account owes money for returned payments: wait until the debt is paid',
  source_has_plan: 'the account has a plan: wait until the plan has ended',
  source_tops_up: 'an automatic top-up of the account is being paid: wait for a minute',
  source_runs_batches: 'the account has running batches: wait for them, or cancel them',
  target_merged: 'the other account was merged before',
  target_suspended: 'the other account is closed, or suspended: reopen it',
  target_lacks_seats: 'the plan of the other account has too few seats for the members of both',
} as const;

export type MergeObstacle = keyof typeof MERGE_OBSTACLES;

/** The reasons for which two accounts cannot be merged now. Running tasks and text requests are none: the merge awaits them. */
export function findMergeObstacles(source: MergeSide, target: MergeSide): readonly MergeObstacle[] {
  const members = new Set([...source.memberIds, ...target.memberIds]).size;
  const holds: Readonly<Record<MergeObstacle, boolean>> = {
    source_merged: source.mergedInto !== null,
    source_suspended: source.mergedInto === null && source.suspendedAt !== null,
    source_owes: source.debt > 0n,
    source_has_plan: source.hasPlan,
    source_tops_up: source.isToppingUp,
    source_runs_batches: source.openBatches > 0,
    target_merged: target.mergedInto !== null,
    target_suspended: target.mergedInto === null && target.suspendedAt !== null,
    target_lacks_seats: target.seats !== null && members > target.seats,
  };
  return Object.entries(holds).flatMap(([name, isThere]) => (isThere && isObstacle(name) ? [name] : []));
}

function isObstacle(name: string): name is MergeObstacle {
  return name in MERGE_OBSTACLES;
}

export const MERGE_STATUSES = ['awaiting_approval', 'moving', 'completed', 'rejected', 'withdrawn', 'expired'] as const;
type MergeStatus = (typeof MERGE_STATUSES)[number];

export function mergeStatusOf({
  outcome,
  completedAt,
}: {
  readonly outcome: 'approved' | 'rejected' | 'withdrawn' | 'expired' | null;
  readonly completedAt: Date | null;
}): MergeStatus {
  if (outcome === 'approved') return completedAt === null ? 'moving' : 'completed';
  return outcome ?? 'awaiting_approval';
}
