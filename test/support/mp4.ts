/** Reads enough of an MP4 file with one H.264 track to check it: boxes, sample table and sequence parameters. */
import { Buffer } from 'node:buffer';

export interface VideoFacts {
  /** Types of the outermost boxes, in order. */
  readonly boxes: readonly string[];
  /** The size in the track header. */
  readonly trackSize: readonly [number, number];
  /** The size in the H.264 sequence parameters, after cropping. */
  readonly codedSize: readonly [number, number];
  readonly profile: number;
  readonly durationSeconds: number;
  readonly frames: number;
  /** Types of the units in each sample. */
  readonly unitTypes: readonly number[];
  /** The end of the last sample, counted from the start of the file. */
  readonly mediaEnd: number;
}

const BOX_HEADER_BYTES = 8;
const SAMPLE_ENTRY_BYTES = 78;

/** @throws Error when a box is missing or lengths do not match */
export function readMp4(file: Buffer): VideoFacts {
  const track = descend(file, ['moov', 'trak']);
  const trackHeader = descend(track, ['tkhd']);
  const mediaHeader = descend(track, ['mdia', 'mdhd']);
  const table = descend(track, ['mdia', 'minf', 'stbl']);
  const entry = descend(descend(table, ['stsd']).subarray(8), ['avc1']);
  const configuration = descend(entry.subarray(SAMPLE_ENTRY_BYTES), ['avcC']);
  const sizes = descend(table, ['stsz']);
  const frames = sizes.readUInt32BE(8);
  let offset = descend(table, ['stco']).readUInt32BE(8);
  const unitTypes: number[] = [];
  for (let frame = 0; frame < frames; frame++) {
    const sampleBytes = sizes.readUInt32BE(12 + 4 * frame);
    if (file.readUInt32BE(offset) + 4 !== sampleBytes) throw new Error(`sample ${frame} is not one unit`);
    unitTypes.push(file.readUInt8(offset + 4) & 31);
    offset += sampleBytes;
  }
  return {
    boxes: [...boxesOf(file)].map(({ type }) => type),
    trackSize: [trackHeader.readUInt32BE(76) / 65536, trackHeader.readUInt32BE(80) / 65536],
    durationSeconds: mediaHeader.readUInt32BE(16) / mediaHeader.readUInt32BE(12),
    frames,
    unitTypes,
    mediaEnd: offset,
    ...readSequenceParameters(configuration.subarray(8, 8 + configuration.readUInt16BE(6))),
  };
}

function* boxesOf(bytes: Buffer): Generator<{ type: string; content: Buffer }> {
  for (let offset = 0; offset < bytes.length;) {
    const length = bytes.readUInt32BE(offset);
    if (length < BOX_HEADER_BYTES || offset + length > bytes.length) throw new Error(`bad box length at ${offset}`);
    const type = bytes.toString('latin1', offset + 4, offset + BOX_HEADER_BYTES);
    yield { type, content: bytes.subarray(offset + BOX_HEADER_BYTES, offset + length) };
    offset += length;
  }
}

function descend(bytes: Buffer, path: readonly string[]): Buffer {
  let content = bytes;
  for (const step of path) {
    const found = [...boxesOf(content)].find(({ type }) => type === step);
    if (!found) throw new Error(`no box ${step}`);
    content = found.content;
  }
  return content;
}

/** ITU-T H.264 section 7.3.2.1, for streams of the Baseline profile with picture order count type 2. */
function readSequenceParameters(unit: Buffer): Pick<VideoFacts, 'codedSize' | 'profile'> {
  const bits = bitReader(withoutEmulationPrevention(unit));
  bits.unsigned(8); // header
  const profile = bits.unsigned(8);
  bits.unsigned(16); // constraints, level
  for (let i = 0; i < 2; i++) bits.exponentialGolomb();
  if (bits.exponentialGolomb() !== 2) throw new Error('unexpected picture order count type');
  bits.exponentialGolomb();
  bits.unsigned(1);
  const columns = bits.exponentialGolomb() + 1;
  const rows = bits.exponentialGolomb() + 1;
  bits.unsigned(2);
  const [left, right, top, bottom] = bits.unsigned(1)
    ? [bits.exponentialGolomb(), bits.exponentialGolomb(), bits.exponentialGolomb(), bits.exponentialGolomb()]
    : [0, 0, 0, 0];
  return { profile, codedSize: [columns * 16 - 2 * (left + right), rows * 16 - 2 * (top + bottom)] };
}

function withoutEmulationPrevention(unit: Buffer): Buffer {
  return Buffer.from(unit.filter((byte, index) => !(byte === 3 && unit[index - 1] === 0 && unit[index - 2] === 0)));
}

function bitReader(bytes: Buffer): { unsigned(length: number): number; exponentialGolomb(): number } {
  let position = 0;
  const unsigned = (length: number): number => {
    let value = 0;
    for (let i = 0; i < length; i++, position++)
      value = value * 2 + ((bytes.readUInt8(position >> 3) >> (7 - (position & 7))) & 1);
    return value;
  };
  const exponentialGolomb = (): number => {
    let zeros = 0;
    while (unsigned(1) === 0) zeros++;
    return 2 ** zeros - 1 + unsigned(zeros);
  };
  return { unsigned, exponentialGolomb };
}
