import { expect } from 'chai';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bytesPerSecond, USUAL_PCM, wavHeader } from '../../domain/wav.ts';
import { readAudioDuration } from '../../storage/audio-duration.ts';
import { useTestFolder } from '../support/started.ts';

const MIB = 2 ** 20;

function bigEndian(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A tag of one frame and padding. */
function tagOf(bytes: number): Buffer {
  const size = [21, 14, 7, 0].map((shift) => (bytes >> shift) & 127);
  return Buffer.concat([Buffer.from('ID3'), Buffer.from([4, 0, 0, ...size]), Buffer.alloc(bytes)]);
}

const SECOND = Buffer.alloc(bytesPerSecond(USUAL_PCM));
const WAV = Buffer.concat([wavHeader(USUAL_PCM, 2 * SECOND.byteLength), SECOND, SECOND]);
/** 128 kbit/s, 44.1 kHz: 417 bytes for 1,152 samples. */
const FRAME = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x00]), Buffer.alloc(413)]);
const MP3 = Buffer.alloc(200 * FRAME.byteLength, FRAME);

/** 185 bytes for 1,024 samples at 44.1 kHz. */
const ADTS_FRAME = Buffer.concat([Buffer.from([0xff, 0xf1, 0x50, 0x80, 0x17, 0x3f, 0xfc]), Buffer.alloc(178, 3)]);
const ADTS = Buffer.alloc(200 * ADTS_FRAME.byteLength, ADTS_FRAME);

function oggPage(serial: number, position: number, content: Buffer): Buffer {
  const segments = Buffer.alloc(Math.ceil((content.byteLength + 1) / 255), 255);
  segments[segments.byteLength - 1] = content.byteLength % 255;
  const head = Buffer.alloc(27);
  head.write('OggS');
  head.writeBigInt64LE(BigInt(position), 6);
  head.writeUInt32LE(serial, 14);
  head.writeUInt8(segments.byteLength, 26);
  return Buffer.concat([head, segments, content]);
}

/** A stream of pages of a second, whose first page is the head of the codec. */
function oggOf(seconds: number, samplesPerSecond: number, codec: Buffer, serial = 1): Buffer {
  const pages = Array.from({ length: seconds }, (_, index) =>
    oggPage(serial, (index + 1) * samplesPerSecond, Buffer.alloc(3_000, 5)),
  );
  return Buffer.concat([oggPage(serial, 0, codec), oggPage(serial, -1, Buffer.alloc(100)), ...pages]);
}

const OPUS = Buffer.concat([Buffer.from('OpusHead'), Buffer.alloc(11)]);
const VORBIS = Buffer.concat([
  Buffer.from('\x01vorbis'),
  Buffer.from([0, 0, 0, 0, 1, 0x44, 0xac, 0, 0]),
  Buffer.alloc(14),
]);

const UNKNOWN_SIZE = Buffer.from([0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);

function element(id: readonly number[], content: Buffer): Buffer {
  const size = bigEndian(0x10000000 + content.byteLength);
  return Buffer.concat([Buffer.from(id), size, content]);
}

/** As browsers record it: no element with blocks has a size, and nothing announces the duration. */
function webmOf(seconds: number): Buffer {
  const scale = element([0x2a, 0xd7, 0xb1], Buffer.from([0x0f, 0x42, 0x40]));
  const clusters = Array.from({ length: seconds }, (_, second) => [
    Buffer.from([0x1f, 0x43, 0xb6, 0x75]),
    UNKNOWN_SIZE,
    element([0xe7], bigEndian(second * 1000)),
    ...[0, 20, 40].map((at) => element([0xa3], Buffer.from([0x81, 0, at * 16, 0x80, ...Array(300).fill(7)]))),
  ]);
  return Buffer.concat([
    element([0x1a, 0x45, 0xdf, 0xa3], Buffer.alloc(20)),
    Buffer.from([0x18, 0x53, 0x80, 0x67]),
    UNKNOWN_SIZE,
    element([0x15, 0x49, 0xa9, 0x66], scale),
    ...clusters.flat(),
  ]);
}

describe('the duration of audio', () => {
  const folder = useTestFolder();

  async function durationOf(bytes: Buffer, extension = ''): Promise<number | null> {
    const path = join(folder, `file${extension}`);
    await writeFile(path, bytes);
    return readAudioDuration(path);
  }

  for (const [what, bytes, extension, seconds] of [
    ['a WAV file', WAV, '.wav', 2],
    ['frames of MP3', MP3, '.mp3', 5.2],
    ['frames of MP3 behind a tag larger than what is read', Buffer.concat([tagOf(4 * MIB), MP3]), '.mp3', 5.2],
    ['frames of AAC', ADTS, '.aac', 4.64],
    ['frames of AAC between tags', Buffer.concat([tagOf(4 * MIB), ADTS, Buffer.alloc(128, 'TAG')]), '.aac', 4.64],
    ['Opus in Ogg', oggOf(60, 48_000, OPUS), '.ogg', 60],
    ['an hour of Opus in Ogg', oggOf(3_600, 48_000, OPUS), '', 3_600],
    ['Vorbis in Ogg', oggOf(60, 44_100, VORBIS), '.ogg', 60],
    ['a chain of streams in Ogg', Buffer.concat([oggOf(5, 48_000, OPUS), oggOf(7, 48_000, OPUS, 2)]), '.ogg', 12],
    ['WebM as browsers record it', webmOf(60), '.webm', 60],
  ] as const) {
    // contract 4.8.7:70
    it(`is that of ${what}`, async () => {
      expect(await durationOf(bytes, extension)).to.be.within(seconds * 0.95, seconds * 1.05);
    });
  }

  const parts = (part: Buffer, head: Buffer): Buffer => Buffer.concat([head, Buffer.alloc(8 * MIB, part)]);
  const chunk = Buffer.concat([Buffer.from('junk'), bigEndian(0)]);
  for (const [what, bytes, extension] of [
    ['nothing', Buffer.alloc(0), '.wav'],
    ['noise', Buffer.alloc(MIB, 7), '.mp3'],
    ['WAV with a million empty chunks', parts(chunk, WAV.subarray(0, 36)), '.wav'],
    ['AIFF with a million empty chunks', parts(chunk, Buffer.from('FORM\x7f\xff\xff\xffAIFF', 'latin1')), '.aiff'],
    ['FLAC with two million empty blocks', parts(Buffer.from([1, 0, 0, 0]), Buffer.from('fLaC')), '.flac'],
    [
      'MP4 with a million empty boxes',
      parts(Buffer.from('\0\0\0\x08free'), Buffer.from('\0\0\0\x10ftypM4A \0\0\0\0')),
      '.m4a',
    ],
    ['frames of AAC before noise', Buffer.concat([ADTS, Buffer.alloc(MIB, 7)]), '.aac'],
    ['frames of AAC without content', Buffer.alloc(8 * MIB, Buffer.from([0xff, 0xf1, 0x50, 0x80, 0, 0xff, 0xfc])), ''],
    ['Ogg without audio', oggOf(60, 48_000, Buffer.alloc(50)), '.ogg'],
    ['WebM with millions of empty elements', parts(Buffer.from([0xec, 0x80]), webmOf(1)), '.webm'],
    ['a tag that claims 256 MB', tagOf(0).fill(127, 6), '.mp3'],
  ] as const) {
    it(`is unknown for ${what}`, async () => {
      expect(await durationOf(bytes, extension)).to.equal(null);
    });
  }
});
