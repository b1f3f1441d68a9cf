/**
 * Reads the header of a PNG, JPEG or WebP image. Reads a stream only as far as the dimensions, which are at the start;
 * in a JPEG, segments of metadata of any size may precede the dimensions.
 */
import { detectFileType } from './file-type.ts';
import type { Content } from './media/content.ts';
import { readJpegHeader } from './media/jpeg.ts';
import { readPngHeader } from './media/png.ts';
import { BrokenMediaError, type Parsing, StreamedInput } from './media/streamed-input.ts';
import { readWebpHeader } from './media/webp.ts';

export interface ImageHeader {
  readonly mimeType: 'image/png' | 'image/jpeg' | 'image/webp';
  /** Pixels, at least 1; as stored, even if viewers rotate the image (EXIF). */
  readonly width: number;
  readonly height: number;
}

interface Format {
  readonly mimeType: ImageHeader['mimeType'];
  readonly readHeader: (input: StreamedInput) => Parsing<Content>;
}

const FORMATS: readonly Format[] = [
  { mimeType: 'image/png', readHeader: readPngHeader },
  { mimeType: 'image/jpeg', readHeader: readJpegHeader },
  { mimeType: 'image/webp', readHeader: readWebpHeader },
];
/** The number of bytes that distinguish these formats from all others. */
const SIGNATURE_BYTES = 16;

/**
 * Reads the header of an image, recognised by its content. An animation counts as an image.
 *
 * @param source the file from its first byte; read no further than necessary, and then closed
 * @returns null if the file is not such an image, or its header is cut short or invalid
 * @throws whatever the source throws
 */
export async function readImageHeader(source: AsyncIterable<Uint8Array>): Promise<ImageHeader | null> {
  const input = new StreamedInput();
  const parsing = readHeader(input);
  try {
    for await (const chunk of source) {
      input.push(chunk);
      const step = parsing.next();
      if (step.done) return step.value;
    }
    input.end();
    return parsing.next().value ?? null;
  } catch (error) {
    if (error instanceof BrokenMediaError) return null;
    throw error;
  }
}

function* readHeader(input: StreamedInput): Parsing<ImageHeader | null> {
  const type = detectFileType(yield* input.peek(SIGNATURE_BYTES));
  const format = FORMATS.find(({ mimeType }) => mimeType === type?.mimeType);
  if (!format) return null;
  const { width, height } = yield* format.readHeader(input);
  return width > 0 && height > 0 ? { mimeType: format.mimeType, width, height } : null;
}
