/**
 * Large messages of all sessions, read and handled one after the other with pauses, so that others are served in between.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../domain/errors.ts';
import { REALTIME } from '../../domain/policy.ts';

/** Events of audio and text are smaller. */
export const LARGE_BYTES = 256 * 1024;
/** After work on a large message, the next work waits for this multiple of its time. */
const PAUSE_FACTOR = 3;

/** Work on a large message. Returns how long the process was busy with it, in milliseconds; never throws. */
type Work = () => number | Promise<number>;

/** Whole messages come first, so that few wait in memory. */
const toHandle: Work[] = [];
const toRead: Work[] = [];
let isWorking = false;
let waitingBytes = 0;

/**
 * Handles a whole large message when it is its turn.
 *
 * @throws ServiceError `processing_unavailable` if too many bytes wait
 */
export async function handleInTurn(message: Buffer, handle: (message: Buffer) => void | Promise<void>): Promise<void> {
  if (waitingBytes > 0 && waitingBytes + message.length > REALTIME.maxWaitingBytes) throw overloaded();
  waitingBytes += message.length;
  return new Promise((resolve, reject) => {
    toHandle.push(() => {
      waitingBytes -= message.length;
      const startedAt = performance.now();
      try {
        resolve(handle(message));
      } catch (error) {
        reject(error);
      }
      return performance.now() - startedAt;
    });
    startWork();
  });
}

/**
 * Lets a connection read the next part of a large message when it is its turn.
 *
 * @param busyMs returns how long the process has been reading from connections, in all
 */
export function readInTurn(read: () => void, busyMs: () => number): void {
  toRead.push(async () => {
    const before = busyMs();
    read();
    await nextTurn();
    return busyMs() - before;
  });
  startWork();
}

function startWork(): void {
  if (!isWorking) void workInTurns();
}

async function workInTurns(): Promise<void> {
  isWorking = true;
  for (let work = nextWork(); work !== undefined; work = nextWork()) {
    const pauseMs = (await work()) * PAUSE_FACTOR;
    if (pauseMs >= 1) await sleep(pauseMs);
  }
  isWorking = false;
}

function nextWork(): Work | undefined {
  return toHandle.shift() ?? toRead.shift();
}

function overloaded(): ServiceError {
  return new ServiceError(
    'processing_unavailable',
    'Too many large events arrive at the same time. Open a new session, and send smaller events.',
  );
}
