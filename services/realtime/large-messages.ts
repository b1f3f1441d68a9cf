/**
 * Large messages of all sessions, read and handled one after the other with pauses, so that others are served in between.
 */
import type { Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { WebSocket } from 'ws';
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

/** What can stop reading a connection, for a reason, and go on. */
interface Gate {
  pause(reason: unknown): void;
  resume(reason: unknown): void;
}

/** How long the process has been reading from connections, in all, in milliseconds. */
let readingMs = 0;

/**
 * Reads a connection by turns while a large message arrives: `ws` copies a message in one go when its last bytes arrive.
 *
 * @returns a function that counts the bytes of the message that has not arrived whole
 */
export function readByTurns(socket: WebSocket, connection: Socket, gate: Gate): () => number {
  let wholeAt = connection.bytesRead;
  let startedAt = 0;
  const unfinishedBytes = (): number => connection.bytesRead - wholeAt;
  socket.on('message', () => void (wholeAt = connection.bytesRead));
  // Before and after the listener of `ws`.
  connection.prependListener('data', () => void (startedAt = performance.now()));
  connection.on('data', () => {
    readingMs += performance.now() - startedAt;
    if (unfinishedBytes() <= LARGE_BYTES) return;
    gate.pause(toRead);
    toRead.push(() => readNextPart(gate));
    startWork();
  });
  return unfinishedBytes;
}

async function readNextPart(gate: Gate): Promise<number> {
  const before = readingMs;
  gate.resume(toRead);
  await nextTurn();
  return readingMs - before;
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
