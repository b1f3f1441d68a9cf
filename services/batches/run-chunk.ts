/** Runs the next lines of a batch: as many at once as the upstreams bear, each by {@link answerLine}. */
import type { Database } from '../../db/database.ts';
import type { Encryption } from '../../db/encryption.ts';
import { findCallersOfKeys, type Caller } from '../../db/queries/api-keys.ts';
import {
  claimBatchLines,
  type ClaimedLine,
  contentId,
  releaseBatchLines,
  hasDirectLines,
} from '../../db/queries/batch-lines.ts';
import { endRunning, findRunningBatch, resumeBatch } from '../../db/queries/batch-runs.ts';
import { isLiveOverloaded, LIVE_OVERLOAD_SECONDS } from '../../db/queries/live-overload.ts';
import { assertNotExhausted, assertUsable } from '../../domain/api-key.ts';
import { pause } from '../../domain/background-loop.ts';
import { type Batch, OPERATOR_PAUSE, requireTextEndpoint, type TextBatchEndpoint } from '../../domain/batch.ts';
import { type ErrorCode, ServiceError } from '../../domain/errors.ts';
import { parseJson } from '../../text/json/parse.ts';
import { readObject } from '../../text/read.ts';
import type { TextService } from '../text/text-service.ts';
import { answerLine, type LineServices } from './answer-line.ts';
import { batchRoutesOf } from './batch-routes.ts';
import { createPace } from './pace.ts';

/**
 * `done`: no line waits. `jobs`: the lines that wait belong to jobs of vendors. `stopped`: lines may start no more, because the batch is cancelled or its window is over.
 * `paused`: no line can start now.
 */
export type ChunkResult =
  | { readonly kind: 'more' | 'done' | 'jobs' | 'stopped' }
  | { readonly kind: 'paused'; readonly reason: ErrorCode };

export interface ChunkServices extends LineServices {
  readonly text: Pick<TextService, 'answerInto' | 'catalogue'>;
  readonly encryption: Encryption;
}

interface ChunkLine extends ClaimedLine {
  readonly tries: number;
  /** Whether a try may have called the model. */
  readonly isCalled: boolean;
}

type TextBatch = Batch & { readonly endpoint: TextBatchEndpoint };

/** A chunk starts lines for so long. Then the next chunk of another account may follow. */
const CHUNK_MS = 10_000;
const MAX_TRIES = 5;
/** How often a chunk looks whether the batch is cancelled. */
const CHECK_MS = 1_000;
/** A stopping process waits so long for lines in progress. Another process repeats the others. */
const ABORT_MS = 5_000;
/** The lines in progress have at most so many bytes together, unless one of them is larger. */
const MAX_BYTES = 16 * 2 ** 20;

/** @param signal makes no further line start */
export async function runChunk(
  batchId: string,
  services: ChunkServices,
  { signal }: { readonly signal: AbortSignal },
): Promise<ChunkResult> {
  const { database } = services;
  const batch = await findRunningBatch(database, batchId);
  if (batch === null) return { kind: 'stopped' };
  const endpoint = requireTextEndpoint(batch.endpoint);
  if (batch.operatorPausedAt !== null) return { kind: 'paused', reason: OPERATOR_PAUSE };
  const caller = await findUsableCaller(database, batch);
  if (caller instanceof ServiceError) return { kind: 'paused', reason: caller.code };
  const chunk = new Chunk({ ...batch, endpoint }, caller, services, signal);
  if (await isLiveOverloaded(database)) chunk.yieldToLive();
  const checking = setInterval(() => void checkState(chunk, batchId, database).catch(() => undefined), CHECK_MS);
  try {
    return await chunk.run();
  } finally {
    clearInterval(checking);
  }
}

/** Stops or slows a chunk that may not go on as it is. */
async function checkState(chunk: Chunk, batchId: string, database: Database): Promise<void> {
  const [batch, isOverloaded] = await Promise.all([findRunningBatch(database, batchId), isLiveOverloaded(database)]);
  if (batch === null) chunk.stop();
  else if (batch.operatorPausedAt !== null) chunk.pause();
  else if (isOverloaded) chunk.yieldToLive();
}

/** The owner of the key; the refusal of a key or an account that may not call anything. */
export async function findUsableCaller(database: Database, { apiKeyId }: Batch): Promise<Caller | ServiceError> {
  const caller = await findCaller(database, { apiKeyId });
  try {
    assertUsable(caller.key, caller.account, new Date());
    assertNotExhausted(caller.key);
    return caller;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

/** The owner of the key of a batch, whatever the state of the key. */
export async function findCaller(database: Database, { apiKeyId }: Pick<Batch, 'apiKeyId'>): Promise<Caller> {
  const [caller] = await findCallersOfKeys(database, [apiKeyId]);
  if (caller === undefined) throw new Error(`the key ${apiKeyId} cannot have disappeared`);
  return caller;
}

class Chunk {
  readonly #batch: TextBatch;
  readonly #caller: Caller;
  readonly #services: ChunkServices;
  readonly #signal: AbortSignal;
  readonly #pace = createPace(() => performance.now());
  /** The models whose lines wait for vendors' batches. */
  readonly #batchModels: readonly string[];
  readonly #again: ChunkLine[] = [];
  #claimed: ClaimedLine[] = [];
  #lastNumber = 0;
  readonly #untilMs = performance.now() + CHUNK_MS;
  /** Whether a line lacks money, which lines in progress may return. */
  #isShort = false;
  #isEmpty = false;
  #running = 0;
  #bytes = 0;
  #isStopped = false;
  #isGivenUp = false;
  #isPaused: boolean;
  #refusal: ServiceError | null = null;
  #error: unknown = null;
  #wake: () => void = () => {};

  constructor(batch: TextBatch, caller: Caller, services: ChunkServices, signal: AbortSignal) {
    this.#batch = batch;
    this.#caller = caller;
    this.#services = services;
    this.#batchModels = [...batchRoutesOf(services.text.catalogue()).keys()];
    this.#signal = signal;
    this.#isPaused = batch.pausedReason !== null;
  }

  stop(): void {
    this.#isStopped = true;
    this.#wake();
  }

  /** Live requests are refused: fewer lines run at once, after a pause. */
  yieldToLive(): void {
    this.#pace.failed(LIVE_OVERLOAD_SECONDS);
  }

  /** An operator pauses the batch: lines in progress end. */
  pause(): void {
    this.#refusal ??= new ServiceError(OPERATOR_PAUSE, 'An operator paused the batch.');
    this.#wake();
  }

  /** The process stops: lines in progress may end, but not for long. */
  #abort(): void {
    this.#wake();
    const giveUp = (): void => {
      this.#isGivenUp = true;
      this.#wake();
    };
    setTimeout(giveUp, ABORT_MS).unref();
  }

  async run(): Promise<ChunkResult> {
    this.#signal.addEventListener('abort', () => this.#abort(), { once: true });
    while (!this.#isOver()) {
      const pauseMs = this.#pace.pauseMs();
      if (pauseMs > 0) await pause(Math.min(pauseMs, CHECK_MS), this.#signal);
      else if (this.#mustWait()) await this.#change();
      else await this.#startNext();
    }
    while (this.#running > 0 && !this.#isGivenUp) await this.#change();
    await this.#release();
    if (this.#error !== null) throw this.#error;
    if (this.#isStopped) return { kind: 'stopped' };
    if (this.#refusal !== null) return { kind: 'paused', reason: this.#refusal.code };
    const mayBeDone = this.#isEmpty && this.#again.length === 0;
    const { database } = this.#services;
    if (!mayBeDone || (await hasDirectLines(database, this.#batch.id, this.#batchModels))) return { kind: 'more' };
    return { kind: (await endRunning(database, this.#batch.id)) ? 'done' : 'jobs' };
  }

  /** A pause of hours tries thousands of times to start the next lines, which are no attempts. */
  async #release(): Promise<void> {
    const uncalled = [...this.#claimed, ...this.#again.filter(({ isCalled }) => !isCalled)];
    // Without effect on the result: the attempts are counted then.
    await releaseBatchLines(this.#services.database, this.#batch.id, uncalled).catch(() => undefined);
  }

  #mustWait(): boolean {
    const isFull = this.#running >= this.#pace.limit || this.#bytes > MAX_BYTES || this.#isShort;
    return isFull && this.#running > 0;
  }

  #isOver(): boolean {
    return this.#isStopped || this.#refusal !== null || this.#error !== null || this.#signal.aborted || this.#isDone();
  }

  #isDone(): boolean {
    return !this.#mayClaim() && this.#claimed.length + this.#again.length + this.#running === 0;
  }

  async #startNext(): Promise<void> {
    const again = this.#again.shift();
    if (again !== undefined) return this.#start(again);
    if (this.#claimed.length === 0 && this.#mayClaim()) await this.#claim();
    const next = this.#claimed.shift();
    if (next !== undefined) this.#start({ ...next, tries: 0, isCalled: false });
    else if (this.#running > 0) await this.#change();
  }

  #mayClaim(): boolean {
    return !this.#isEmpty && performance.now() < this.#untilMs;
  }

  async #claim(): Promise<void> {
    const lines = await claimBatchLines(this.#services.database, this.#batch.id, {
      after: this.#lastNumber,
      batchModels: this.#batchModels,
    });
    this.#claimed = [...lines];
    this.#isEmpty = lines.length === 0;
    this.#lastNumber = lines.at(-1)?.number ?? this.#lastNumber;
  }

  #start(line: ChunkLine): void {
    const { byteLength } = line.encryptedRequest;
    this.#running += 1;
    this.#bytes += byteLength;
    void this.#answer(line)
      .catch((error: unknown) => (this.#error ??= error))
      .finally(() => {
        this.#running -= 1;
        this.#bytes -= byteLength;
        this.#wake();
      });
  }

  async #answer(line: ChunkLine): Promise<void> {
    const { id: batchId, endpoint, betas } = this.#batch;
    const { number, attempt, tries } = line;
    const text = this.#services.encryption.decrypt(line.encryptedRequest, contentId(batchId, number, 0));
    const body = readObject(await parseJson(Buffer.from(text)), '');
    const isLastTry = tries + 1 >= MAX_TRIES;
    const outcome = await answerLine(
      { batchId, endpoint, number, attempt, caller: this.#caller, body, betas, isLastTry },
      this.#services,
    );
    if (outcome.kind === 'answered') return this.#succeeded();
    const { error } = outcome;
    this.#isShort = outcome.kind === 'refused' && !error.retryable;
    if (!this.#isShort) this.#pace.failed(error.retryAfterSeconds);
    const mayTryAgain = outcome.kind === 'failed' || this.#running > 1 || (error.retryable && !isLastTry);
    this.#again.push({ ...line, tries: tries + 1, isCalled: line.isCalled || outcome.kind === 'failed' });
    if (!mayTryAgain) this.#refusal = error;
  }

  async #succeeded(): Promise<void> {
    this.#pace.succeeded();
    this.#isShort = false;
    if (!this.#isPaused) return;
    this.#isPaused = false;
    await resumeBatch(this.#services.database, this.#batch.id);
  }

  /** Resolves when a line ends, or the chunk is stopped. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
