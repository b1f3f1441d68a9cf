/** How steps tell Temporal, and by it operators, that they go on. */
import type { Context } from '@temporalio/activity';
import { HEARTBEAT_MS } from '../../domain/step-limits.ts';

/** What operators are shown of a step. */
export type Say = (details: object) => void;

const FIRST_HEARTBEAT_MS = 2_000;

/** Beats once an activity has run for a while: most end before anybody could miss them, and each beat costs the server. */
export function createHeartbeat(context: Context): Say {
  const firstBeatAt = Date.now() + FIRST_HEARTBEAT_MS;
  return (details) => {
    if (Date.now() >= firstBeatAt) context.heartbeat(details);
  };
}

/** A pause as long as it likes, in which the worker still counts as alive. */
export async function sleepWithHeartbeat(context: Context, milliseconds: number, beat: () => void): Promise<void> {
  for (let leftMs = milliseconds; leftMs > 0; leftMs -= HEARTBEAT_MS) {
    await context.sleep(Math.min(leftMs, HEARTBEAT_MS));
    beat();
  }
}

/**
 * Work that may be silent for longer than a worker may: a download or a write that stands still has a limit of its own.
 *
 * @param work calls `say` with what operators shall see of it
 */
export async function whileHeartbeating<Result>(context: Context, work: (say: Say) => Promise<Result>): Promise<Result> {
  let details: object = {};
  const beat = createHeartbeat(context);
  const timer = setInterval(() => beat(details), HEARTBEAT_MS);
  try {
    return await work((said) => {
      details = said;
    });
  } finally {
    clearInterval(timer);
  }
}
