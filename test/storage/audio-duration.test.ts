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
  ] as const) {
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
    ['a tag that claims 256 MB', tagOf(0).fill(127, 6), '.mp3'],
  ] as const) {
    it(`is unknown for ${what}`, async () => {
      expect(await durationOf(bytes, extension)).to.equal(null);
    });
  }
});
