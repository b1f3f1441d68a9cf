import { expect } from 'chai';
import { FRAMES_PER_SECOND, renderMp4 } from '../../../simulator/render/mp4.ts';
import { readMp4 } from '../../support/mp4.ts';

const BASELINE = 66;
const KEY_PICTURE = 5;
const PICTURE = 1;

const SIZES = [
  [1280, 720],
  [720, 1280],
  [720, 720],
  [960, 720],
  [720, 960],
  [1920, 1080],
  [1080, 1920],
  [1080, 1080],
  [1440, 1080],
  [1080, 1440],
] as const;

describe('renderMp4', () => {
  for (const [width, height] of SIZES) {
    it(`makes a video of exactly ${width}x${height}`, () => {
      const facts = readMp4(renderMp4({ width, height, durationSeconds: 2 }));
      expect(facts.trackSize).to.deep.equal([width, height]);
      expect(facts.codedSize).to.deep.equal([width, height]);
      expect(facts.profile).to.equal(BASELINE);
    });
  }

  for (const durationSeconds of [2, 5, 30]) {
    it(`makes a video of exactly ${durationSeconds} seconds`, () => {
      const facts = readMp4(renderMp4({ width: 1280, height: 720, durationSeconds }));
      expect(facts.durationSeconds).to.equal(durationSeconds);
      expect(facts.frames).to.equal(durationSeconds * FRAMES_PER_SECOND);
    });
  }

  it('puts the index before the media, and the media up to the end of the file', () => {
    const file = renderMp4({ width: 960, height: 720, durationSeconds: 3 });
    const facts = readMp4(file);
    expect(facts.boxes).to.deep.equal(['ftyp', 'moov', 'mdat']);
    expect(facts.mediaEnd).to.equal(file.length);
  });

  it('starts with a key picture that all others build on', () => {
    const [first, ...others] = readMp4(renderMp4({ width: 720, height: 720, durationSeconds: 2 })).unitTypes;
    expect(first).to.equal(KEY_PICTURE);
    expect(new Set(others)).to.deep.equal(new Set([PICTURE]));
  });

  it('keeps the longest and largest video small', () => {
    expect(renderMp4({ width: 1920, height: 1080, durationSeconds: 30 }).length).to.be.below(100_000);
  });
});
