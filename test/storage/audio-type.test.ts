import { expect } from 'chai';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { USUAL_PCM, wavHeader } from '../../domain/wav.ts';
import { readAudioType } from '../../storage/audio-type.ts';
import { useTestFolder } from '../support/started.ts';

describe('the media type of audio', () => {
  const folder = useTestFolder();

  for (const [start, extension, type] of [
    [wavHeader(USUAL_PCM, 0), '', 'audio/wav'],
    [Buffer.from('OggS'), '.mp3', 'audio/ogg'],
    [Buffer.from('fLaC'), '', 'audio/flac'],
    [Buffer.from('FORM\0\0\0\0AIFF'), '', 'audio/aiff'],
    [Buffer.from([0x1a, 0x45, 0xdf, 0xa3]), '.webm', 'audio/webm'],
    [Buffer.from([0xff, 0xfb, 0x90, 0x00]), '', 'audio/mpeg'],
    [Buffer.from([0xff, 0xf1, 0x50, 0x80]), '', 'audio/aac'],
    [Buffer.from('\0\0\0\x10ftypM4A \0\0\0\0'), '', 'audio/mp4'],
    [Buffer.from('\0\0\0\x10ftypisom\0\0\0\0'), '.mp4', 'audio/mp4'],
    [Buffer.from('unknown'), '.OGA', 'audio/ogg'],
    [Buffer.from('unknown'), '.txt', null],
  ] as const) {
    it(`is ${type ?? 'unknown'} for ${JSON.stringify(start.toString('latin1', 0, 12))} in a file ${extension}`, async () => {
      // contract 4.8.7:73
      const path = join(folder, `file${extension}`);
      await writeFile(path, start);
      expect(await readAudioType(path)).to.equal(type);
    });
  }
});
