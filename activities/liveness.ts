/** Heartbeats, by which steps show Temporal and operators that they are alive. */
import type { Context } from '@temporalio/activity';
import { HEARTBEAT_MS } from '../domain/step-limits.ts';

/** Shows operators the progress of a step. */
export type Heartbeat = (details: object) => void;

const FIRST_HEARTBEAT_MS = 2_000;

/** Sends heartbeats once an activity has run for a while: most end before that, and each heartbeat costs the server. */
export function createHeartbeat(context: Context): Heartbeat {
  const firstBeatAt = Date.now() + FIRST_HEARTBEAT_MS;
  return (details) => {
    if (Date.now() >= firstBeatAt) context.heartbeat(details);
  };
}

/** A pause of any length during which the worker still counts as alive. */
export async function sleepWithHeartbeat(context: Context, milliseconds: number, beat: () => void): Promise<void> {
  for (let leftMs = milliseconds; leftMs > 0; leftMs -= HEARTBEAT_MS) {
    await context.sleep(Math.min(leftMs, HEARTBEAT_MS));
    beat();
  }
}

/**
 * Keeps the worker alive during work that may be silent for long: a download or a write has its own limit on silence.
 *
 * @param work calls `heartbeat` with progress for operators
 */
export async function whileHeartbeating<Result>(
  context: Context,
  work: (heartbeat: Heartbeat) => Promise<Result>,
): Promise<Result> {
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
