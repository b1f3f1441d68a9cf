/** An upstream's stream, converted for the client but not yet sent. */
import type { Answer } from '../../providers/text/answer.ts';
import { type Frame, isLong, readFrame } from '../../text/frames.ts';
import { runInSteps } from '../../text/json/steps.ts';
import type { Emit, Stage } from '../../text/stage.ts';
import type { Piece } from './client-stream.ts';
import type { Exchange } from './exchange.ts';

export class StreamReading {
  readonly #stage: Stage<Frame, Piece>;
  readonly #splitter: Stage<Buffer, Frame>;
  readonly #stored: Exchange['stored'];
  #held: Piece[] = [];
  #heldLength = 0;
  #hasEnded = false;
  #failure: { readonly error: unknown } | null = null;

  constructor({ splitStream, readStream, stored }: Exchange) {
    this.#stage = readStream();
    this.#splitter = splitStream();
    this.#stored = stored;
  }

  /** The amount held, in bytes or characters. */
  get heldLength(): number {
    return this.#heldLength;
  }

  /** Whether reading has ended, at the end of the stream or by a failure. */
  get hasEnded(): boolean {
    return this.#hasEnded || this.#failure !== null;
  }

  /** The error that followed the held events, if any. */
  get failure(): { readonly error: unknown } | null {
    return this.#failure;
  }

  /** Reads more of the stream, or its end, and holds the resulting events. Never throws: see {@link failure}. */
  async read(answer: Answer): Promise<void> {
    const hold = (piece: Piece): void => {
      this.#held.push(piece);
      this.#heldLength += piece.length;
    };
    try {
      this.#hasEnded = (await readFrames(answer, this.#splitter, this.#stage, hold, this.#stored)) === null;
    } catch (error) {
      this.#failure = { error };
    }
  }

  /** Hands over the held events. */
  takeHeld(): readonly Piece[] {
    const held = this.#held;
    this.#held = [];
    this.#heldLength = 0;
    return held;
  }
}

/**
 * Reads more of a stream, or its end, through the stages.
 *
 * @returns the number of bytes; null at the end
 */
export async function readFrames<Output>(
  answer: Answer,
  splitter: Stage<Buffer, Frame>,
  stage: Stage<Frame, Output>,
  emit: Emit<Output>,
  stored: Exchange['stored'] = () => null,
): Promise<number | null> {
  const bytes = await answer.read();
  const frames: Frame[] = [];
  const take = (frame: Frame): void => void frames.push(frame);
  if (bytes === null) splitter.end(take);
  else splitter.push(bytes, take);
  for (const frame of frames) stage.push(isLong(frame) ? await runInSteps(readFrame(frame)) : frame, emit);
  if (bytes === null) stage.end(emit);
  await stored();
  return bytes?.byteLength ?? null;
}
