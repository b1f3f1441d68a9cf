/**
 * Receives request bodies. Each body must keep a minimum pace, and all bodies of this process share a memory limit, so
 * that a client that starts many large bodies and finishes none does not harm other clients.
 */
import type { IncomingMessage } from 'node:http';
import { badRequest, ServiceError } from '../domain/errors.ts';
import { afterPendingReads } from '../domain/after-pending-reads.ts';
import { BodyBytes } from '../domain/body-bytes.ts';

export const PACE_CHECK_MS = 10_000;
/** Slower than any usable connection. */
export const SLOWEST_BYTES_PER_SECOND = 2_048;
/** Limits all bodies that have not been read yet. Only bytes that have arrived count, not announced lengths. */
const MAX_HELD_BYTES = 256 * 2 ** 20;
const FULL_RETRY_SECONDS = 5;
/** The bytes that take a few milliseconds to process. */
const MAX_BYTES_PER_TURN = 2 ** 20;

export interface ReceivingLimits {
  readonly maxHeldBytes: number;
  readonly paceCheckMs: number;
  /** About how many bytes one iteration of the event loop reads from all bodies; the rest waits for the next one. */
  readonly maxBytesPerTurn: number;
}

/** A body that has arrived. It counts towards the limit until it is released. */
export interface ReceivedBody {
  readonly bytes: Buffer;
  readonly release: () => void;
}

interface IncomingBody {
  startedAtMs: number;
  bytes: number;
  readonly refuse: (error: ServiceError) => void;
}

export interface Receiving {
  /**
   * Reads a body.
   *
   * @param look gets each piece as it arrives, and may throw to refuse the rest
   * @throws ServiceError 413 once more than `maxBytes` are announced or have arrived; 400 when the client stops
   *   halfway; 408 when it is too slow; 503 when it is the slowest of too many
   */
  receive(request: IncomingMessage, maxBytes: number, look?: (piece: Uint8Array) => void): Promise<ReceivedBody>;
  /**
   * Watches the pace of a body that is read elsewhere, without holding it.
   *
   * @returns `tooSlow` rejects with the 408; `stop` ends the watch
   */
  watch(request: IncomingMessage): { readonly tooSlow: Promise<never>; stop(): void };
  /**
   * Counts what a body that is read elsewhere holds in memory at a time.
   *
   * @param refuse is called with the 503 when the body is the slowest of too many
   */
  hold(refuse: (error: ServiceError) => void): HeldBytes;
}

export interface HeldBytes {
  /** Sets how many bytes the body holds. */
  resize(bytes: number): void;
  release(): void;
}

export function createReceiving({ maxHeldBytes, paceCheckMs, maxBytesPerTurn }: ReceivingLimits): Receiving {
  const bodies = new Set<IncomingBody>();
  const turns = new Turns(maxBytesPerTurn);
  let heldBytes = 0;

  function take(body: IncomingBody, bytes: number): void {
    body.bytes += bytes;
    heldBytes += bytes;
    if (heldBytes > maxHeldBytes) slowestOf(bodies)?.refuse(tooMany());
  }

  function release(body: IncomingBody): void {
    bodies.delete(body);
    heldBytes -= body.bytes;
    body.bytes = 0;
  }

  return {
    watch: (request) => watchPace(request, paceCheckMs),
    hold: (refuse) => {
      const body: IncomingBody = { startedAtMs: performance.now(), bytes: 0, refuse };
      return {
        resize: (bytes) => {
          // The pace is the pace of the held part.
          if (bytes < body.bytes) body.startedAtMs = performance.now();
          if (bytes > 0) bodies.add(body);
          else bodies.delete(body);
          take(body, bytes - body.bytes);
        },
        release: () => release(body),
      };
    },
    receive: async (request, maxBytes, look) => {
      if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
      const arrived = readArrived(request);
      if (arrived !== null) {
        if (arrived.byteLength > maxBytes) throw bodyTooLarge(maxBytes);
        look?.(arrived);
        const body: IncomingBody = { startedAtMs: 0, bytes: 0, refuse: nothing };
        take(body, arrived.byteLength);
        return { bytes: arrived, release: () => release(body) };
      }
      const pieces = new BodyBytes();
      const { promise: refused, reject: refuse } = withRejection();
      const body: IncomingBody = { startedAtMs: performance.now(), bytes: 0, refuse };
      bodies.add(body);
      const pace = watchPace(request, paceCheckMs);
      const takePiece = (piece: Buffer): void => {
        if (body.bytes + piece.byteLength > maxBytes) throw bodyTooLarge(maxBytes);
        look?.(piece);
        pieces.add(piece);
        take(body, piece.byteLength);
        turns.take(request, piece.byteLength);
      };
      try {
        await Promise.race([readAll(request, takePiece), refused, pace.tooSlow]);
        bodies.delete(body);
        return { bytes: pieces.take(), release: () => release(body) };
      } catch (error) {
        release(body);
        pieces.drop();
        throw error;
      } finally {
        pace.stop();
        turns.leave(request);
        request.removeAllListeners('data').pause();
      }
    },
  };
}

function watchPace(request: IncomingMessage, paceCheckMs: number): { readonly tooSlow: Promise<never>; stop(): void } {
  let seenBytes = request.socket.bytesRead;
  let timer: NodeJS.Timeout | undefined;
  const tooSlow = new Promise<never>((_resolve, reject) => {
    const check = (): void => {
      const { bytesRead } = request.socket;
      // If data is waiting to be read, the process is slow, not the client.
      const isSlow = bytesRead - seenBytes < (SLOWEST_BYTES_PER_SECOND * paceCheckMs) / 1000;
      seenBytes = bytesRead;
      if (isSlow && !request.complete && request.readableLength === 0) reject(bodyTooSlow());
    };
    timer = setInterval(() => afterPendingReads(check), paceCheckMs);
  });
  tooSlow.catch(() => {});
  return { tooSlow, stop: () => clearInterval(timer) };
}

/**
 * Makes bodies wait for the next iteration of the event loop once this one has read enough. Otherwise a client that
 * sends faster than the process works would starve the others.
 */
class Turns {
  readonly #waiting = new Set<IncomingMessage>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Records a piece of a body. */
  take(request: IncomingMessage, bytes: number): void {
    if (this.#bytes === 0) setImmediate(() => this.#beginTurn());
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) this.#waiting.add(request.pause());
  }

  /** Forgets a request that is no longer read. */
  leave(request: IncomingMessage): void {
    this.#waiting.delete(request);
  }

  #beginTurn(): void {
    this.#bytes = 0;
    for (const request of this.#waiting) request.resume();
    this.#waiting.clear();
  }
}

/** Shared by the whole process. */
export const receiving: Receiving = createReceiving({
  maxHeldBytes: MAX_HELD_BYTES,
  paceCheckMs: PACE_CHECK_MS,
  maxBytesPerTurn: MAX_BYTES_PER_TURN,
});

const EMPTY = Buffer.alloc(0);

/** Returns a body that has arrived completely, as a short one does with its headers; otherwise null. */
function readArrived(request: IncomingMessage): Buffer | null {
  const { complete, destroyed, readableLength, headers } = request;
  if (destroyed || !(complete || readableLength === Number(headers['content-length']))) return null;
  const arrived: Buffer | null = request.read();
  return arrived ?? EMPTY;
}

async function readAll(request: IncomingMessage, take: (piece: Buffer) => void): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const leave = (): void => reject(badRequest('The body ended before it was complete. Send the whole body.'));
    if (request.destroyed) return leave();
    const takeOrRefuse = (piece: Buffer): void => {
      try {
        take(piece);
      } catch (error) {
        request.removeAllListeners('data').pause();
        reject(error instanceof Error ? error : new Error('a body was refused', { cause: error }));
      }
    };
    request.on('data', takeOrRefuse);
    request.once('close', leave);
    request.once('end', () => {
      request.off('close', leave);
      resolve();
    });
  });
}

function nothing(): void {}

/** A promise that can be rejected from outside. */
function withRejection(): { readonly promise: Promise<never>; readonly reject: (error: ServiceError) => void } {
  let reject: (error: ServiceError) => void = nothing;
  const promise = new Promise<never>((_resolve, rejectPromise) => (reject = rejectPromise));
  return { promise, reject: (error) => reject(error) };
}

/** The slowest of the bodies of at least average size: refusing smaller bodies would free little memory. */
function slowestOf(bodies: ReadonlySet<IncomingBody>): IncomingBody | null {
  const nowMs = performance.now();
  const all = [...bodies];
  const share = all.reduce((sum, { bytes }) => sum + bytes, 0) / all.length;
  const paceOf = ({ bytes, startedAtMs }: IncomingBody): number => bytes / (nowMs - startedAtMs + 1000);
  const large = all.filter(({ bytes }) => bytes >= share);
  return large.reduce<IncomingBody | null>(
    (slowest, body) => (slowest === null || paceOf(body) < paceOf(slowest) ? body : slowest),
    null,
  );
}

function bodyTooLarge(maxBytes: number): ServiceError {
  return new ServiceError(
    'read_request_body_failed',
    `The body is larger than ${maxBytes} bytes. Upload large files with POST /v1/files and send their links.`,
  );
}

function bodyTooSlow(): ServiceError {
  return new ServiceError(
    'read_request_body_failed',
    'The body arrived too slowly. Send it again over a faster connection.',
    { status: 408, retryable: true },
  );
}

function tooMany(): ServiceError {
  return new ServiceError(
    'processing_unavailable',
    'The service is receiving too many large bodies and dropped the slowest, which was this one. Wait a little and send it again.',
    { retryAfterSeconds: FULL_RETRY_SECONDS },
  );
}
