/**
 * Splits a stream of server-sent events into frames: the bytes of each event with the blank line after it. The JSON of
 * a long one is parsed in steps before the frame is passed on, so that other requests are served meanwhile.
 */
import { bufferOf } from '../domain/body-bytes.ts';
import { parseAnswerInSteps } from './answer-json.ts';
import type { Steps } from './json/steps.ts';
import { parseServerSentEvents, type ServerSentEvent } from './sse.ts';
import type { Emit, Stage } from './stage.ts';
import { AnswerTooLongError } from './upstream-errors.ts';

export interface Frame {
  /** As received, without a byte order mark at the beginning of the stream. */
  readonly bytes: Buffer;
  /** Whether the blank line has arrived; it may be missing at the end of a stream. */
  readonly isWhole: boolean;
  /** The event, if it was parsed beforehand. */
  readonly event?: ServerSentEvent;
}

/** A frame may contain images, or the whole answer once more at the end of a stream. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** Shorter frames are parsed at once. */
const LONG_FRAME_BYTES = 128 * 1024;
/** The limit for long frames that are not the single line of JSON that upstreams usually send. */
const MAX_STRANGE_FRAME_BYTES = 1024 * 1024;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = Buffer.of(0xef, 0xbb, 0xbf);

/** The stage that splits the bytes of a stream, received in any pieces, into frames. Lines end in LF, CR LF or CR. */
export function splitFrames(): Stage<Uint8Array, Frame> {
  return new FrameSplitter();
}

/** The stage that takes each piece of an answer that is no stream of events for a frame. */
export function framePieces(): Stage<Buffer, Frame> {
  return { push: (bytes, emit) => emit({ bytes, isWhole: true }), end() {} };
}

class FrameSplitter implements Stage<Uint8Array, Frame> {
  /** A frame without its end so far, at the start of a buffer that doubles as it fills. */
  #rest = Buffer.alloc(0);
  #restLength = 0;
  #isAtLineStart = true;
  /** An LF that arrives now belongs to the preceding CR. */
  #isAfterReturn = false;
  #isFirst = true;

  push(given: Uint8Array, emit: Emit<Frame>): void {
    const bytes = Buffer.isBuffer(given) ? given : bufferOf(given);
    const lineEnds = new LineEnds(bytes);
    let start = 0;
    for (let at = 0; at < bytes.length;) {
      if (!this.#isAtLineStart) at = lineEnds.next(at);
      if (at === bytes.length) break;
      const byte = bytes[at];
      const isLineEnd = byte === LINE_FEED || byte === CARRIAGE_RETURN;
      const isBlank = this.#isAtLineStart && isLineEnd && !(this.#isAfterReturn && byte === LINE_FEED);
      this.#isAtLineStart = isLineEnd;
      this.#isAfterReturn = byte === CARRIAGE_RETURN;
      at += 1;
      if (!isBlank) continue;
      // Includes the LF of the blank line, if it has arrived.
      if (this.#isAfterReturn && bytes[at] === LINE_FEED) {
        this.#isAfterReturn = false;
        at += 1;
      }
      emit({ bytes: this.#whole(bytes.subarray(start, at)), isWhole: true });
      start = at;
    }
    if (start < bytes.length) this.#keep(bytes.subarray(start));
  }

  end(emit: Emit<Frame>): void {
    if (this.#restLength > 0) emit({ bytes: this.#whole(Buffer.alloc(0)), isWhole: false });
  }

  #keep(bytes: Buffer): void {
    const length = this.#restLength + bytes.length;
    if (length > MAX_FRAME_BYTES) throw new AnswerTooLongError();
    if (length > this.#rest.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#rest.length));
      this.#rest.copy(larger, 0, 0, this.#restLength);
      this.#rest = larger;
    }
    bytes.copy(this.#rest, this.#restLength);
    this.#restLength = length;
  }

  /** The frame that these bytes complete. */
  #whole(last: Buffer): Buffer {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    if (this.#restLength === 0) return isFirst ? withoutMark(last) : last;
    this.#keep(last);
    const whole = this.#rest.subarray(0, this.#restLength);
    this.#rest = Buffer.alloc(0);
    this.#restLength = 0;
    return isFirst ? withoutMark(whole) : whole;
  }
}

function withoutMark(bytes: Buffer): Buffer {
  const { length } = BYTE_ORDER_MARK;
  return bytes.subarray(0, length).equals(BYTE_ORDER_MARK) ? bytes.subarray(length) : bytes;
}

/** Finds line ends, looking at each byte once, whatever its value. */
class LineEnds {
  readonly #bytes: Uint8Array;
  #feed = -1;
  #return = -1;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** The index of the first LF or CR at or after `from`, which must not decrease; the length if there is none. */
  next(from: number): number {
    if (this.#feed < from) this.#feed = this.#indexOf(LINE_FEED, from);
    if (this.#return < from) this.#return = this.#indexOf(CARRIAGE_RETURN, from);
    return Math.min(this.#feed, this.#return);
  }

  #indexOf(byte: number, from: number): number {
    const index = this.#bytes.indexOf(byte, from);
    return index === -1 ? this.#bytes.length : index;
  }
}

/** Whether a frame must be parsed by {@link readFrame} before it is passed on. */
export function isLong({ bytes }: Frame): boolean {
  return bytes.length >= LONG_FRAME_BYTES;
}

/** Parses a long frame. @throws ServiceError `processing_failed` if it cannot be parsed */
export function* readFrame(frame: Frame): Steps<Frame> {
  const event = findEvent(frame.bytes);
  if (event !== null) {
    return { ...frame, event: { event: event.name, data: '', json: yield* parseAnswerInSteps(event.data) } };
  }
  if (frame.bytes.length > MAX_STRANGE_FRAME_BYTES) throw new AnswerTooLongError();
  return frame;
}

/** The event of a frame that contains a single line of data and no stray lines; otherwise null. */
function findEvent(bytes: Uint8Array): { readonly name: string | null; readonly data: Uint8Array } | null {
  const lineEnds = new LineEnds(bytes);
  let name: string | null = null;
  let data: Uint8Array | null = null;
  for (let start = 0, end = 0; start < bytes.length; start = end + 1) {
    end = lineEnds.next(start);
    const line = bytes.subarray(start, end);
    const [, field, space = ''] = /^(data:|event:|id:|retry:|:|$)( ?)/.exec(beginningOf(line)) ?? [];
    if (field === undefined || (field === 'data:' && data !== null)) return null;
    const value = line.subarray(field.length + space.length);
    if (field === 'data:') data = value;
    else if (field === 'event:') name = decoder.decode(value) || null;
  }
  return data === null ? null : { name, data };
}

const decoder = new TextDecoder();
/** The length of the longest field name with its colon and a space. */
const BEGINNING_BYTES = 8;

function beginningOf(line: Uint8Array): string {
  return decoder.decode(line.subarray(0, BEGINNING_BYTES));
}

/** The stage that parses the events of frames. */
export function readEvents(): Stage<Frame, ServerSentEvent> {
  const parser = parseServerSentEvents();
  return {
    push({ bytes, event }, emit) {
      if (event === undefined) parser.pushLines(bytes, emit);
      else emit(event);
    },
    end: (emit) => parser.end(emit),
  };
}
