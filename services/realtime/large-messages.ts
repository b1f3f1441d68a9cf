/** Large messages of all sessions, handled one after the other with pauses, so that others are served in between. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../domain/errors.ts';
import { REALTIME } from '../../domain/policy.ts';

/** Events of audio and text are smaller. */
export const LARGE_BYTES = 256 * 1024;
/** After a large message, the next one waits for this multiple of its time. */
const PAUSE_FACTOR = 3;

let last: Promise<unknown> = Promise.resolve();
let waitingBytes = 0;

/**
 * Handles a large message when it is its turn.
 *
 * @throws ServiceError `processing_unavailable` if too many bytes wait
 */
export async function takeTurn(message: Buffer, handle: (message: Buffer) => void | Promise<void>): Promise<void> {
  if (waitingBytes > 0 && waitingBytes + message.length > REALTIME.maxWaitingBytes) throw overloaded();
  waitingBytes += message.length;
  const turn = last.then(() => {
    waitingBytes -= message.length;
    const startedAt = performance.now();
    return { handled: handle(message), tookMs: performance.now() - startedAt };
  });
  last = turn.then(
    ({ tookMs }) => sleep(tookMs * PAUSE_FACTOR),
    () => undefined,
  );
  const { handled } = await turn;
  await handled;
}

function overloaded(): ServiceError {
  return new ServiceError(
    'processing_unavailable',
    'Too many large events arrive at the same time. Open a new session, and send smaller events.',
  );
}
