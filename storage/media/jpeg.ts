/** Reads JPEG (ITU-T T.81 annex B): markers of 0xFF and a code; most start a segment, which starts with its length. */
import type { Content } from './content.ts';
import { BrokenMediaError, type Parsing, type StreamedInput } from './streamed-input.ts';

const CODES = {
  stuffing: 0x00,
  temporary: 0x01,
  restart: 0xd0,
  start: 0xd8,
  end: 0xd9,
  scan: 0xda,
  marker: 0xff,
} as const;
/** Codes of frames: baseline, progressive and rarer kinds. 0xC4, 0xC8 and 0xCC are not frames. */
const FRAMES: readonly number[] = [0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf];
const LENGTH_BYTES = 2;

/** Reads only up to the size, which may follow metadata of any length. @throws BrokenMediaError */
export function* readJpegHeader(input: StreamedInput): Parsing<Content> {
  return (yield* readToFrame(input)).content;
}

/** Reads a whole picture. @throws BrokenMediaError */
export function* readJpeg(input: StreamedInput): Parsing<Content> {
  const { content, segmentEnd } = yield* readToFrame(input);
  yield* input.skipTo(segmentEnd);
  let hasPixels = false;
  for (;;) {
    const code = yield* readMarker(input);
    if (code === CODES.end) break;
    if (isBare(code)) continue;
    yield* input.skipTo(yield* readSegmentEnd(input));
    if (code !== CODES.scan) continue;
    hasPixels = true;
    yield* skipScan(input);
  }
  if (!hasPixels) throw noPicture();
  return content;
}

/** Stops in the frame header, after the size. */
function* readToFrame(input: StreamedInput): Parsing<{ content: Content; segmentEnd: number }> {
  yield* readMarker(input); // start of image
  for (;;) {
    const code = yield* readMarker(input);
    if (code === CODES.end || code === CODES.scan) throw noPicture();
    if (isBare(code)) continue;
    const segmentEnd = yield* readSegmentEnd(input);
    if (!FRAMES.includes(code)) {
      yield* input.skipTo(segmentEnd);
      continue;
    }
    const frame = yield* input.take(5);
    if (input.position > segmentEnd) throw malformedSegment(input);
    const size = { height: frame.readUInt16BE(1), width: frame.readUInt16BE(3) };
    return { content: { ...size, durationSeconds: null, hasAlpha: false }, segmentEnd };
  }
}

function* readMarker(input: StreamedInput): Parsing<number> {
  if ((yield* input.take(1)).readUInt8() !== CODES.marker) {
    throw new BrokenMediaError(`the JPEG has no marker at byte ${input.position - 1}`);
  }
  for (;;) {
    // Any number of 0xFF may precede the code.
    const code = (yield* input.take(1)).readUInt8();
    if (code !== CODES.marker) return code;
  }
}

/** Lengths include themselves. */
function* readSegmentEnd(input: StreamedInput): Parsing<number> {
  const length = (yield* input.take(LENGTH_BYTES)).readUInt16BE();
  if (length < LENGTH_BYTES) throw malformedSegment(input);
  return input.position - LENGTH_BYTES + length;
}

/** Skips compressed pixels, which end at a marker that is neither a stuffed byte nor a restart. */
function* skipScan(input: StreamedInput): Parsing<void> {
  for (;;) {
    yield* input.skipUntil(CODES.marker);
    const code = (yield* input.peek(2))[1];
    if (code === undefined || (code !== CODES.stuffing && !isRestart(code))) return;
    yield* input.take(2);
  }
}

/** Whether the marker starts no segment, and no length follows. */
function isBare(code: number): boolean {
  return code === CODES.temporary || isRestart(code);
}

function isRestart(code: number): boolean {
  return code >= CODES.restart && code < CODES.start;
}

function noPicture(): BrokenMediaError {
  return new BrokenMediaError('the JPEG contains no picture');
}

function malformedSegment(input: StreamedInput): BrokenMediaError {
  return new BrokenMediaError(`the JPEG segment before byte ${input.position} is malformed`);
}
