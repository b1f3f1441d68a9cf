import { expect } from 'chai';
import { videoSizeFor } from '../../domain/video-size.ts';

describe('video sizes', () => {
  for (const [resolution, aspectRatio, width, height] of [
    ['720p', '16:9', 1280, 720],
    ['720p', '9:16', 720, 1280],
    ['720p', '1:1', 720, 720],
    ['720p', '4:3', 960, 720],
    ['720p', '3:4', 720, 960],
    ['1080p', '16:9', 1920, 1080],
    ['1080p', '9:16', 1080, 1920],
    ['1080p', '1:1', 1080, 1080],
    ['1080p', '4:3', 1440, 1080],
    ['1080p', '3:4', 1080, 1440],
    ['2k', '16:9', 2560, 1440],
    ['4k', '16:9', 3840, 2160],
    ['4k', '9:16', 2160, 3840],
  ] as const) {
    it(`${resolution} at ${aspectRatio} is ${width} by ${height}`, () => {
      expect(videoSizeFor(resolution, aspectRatio)).to.deep.equal({ width, height });
    });
  }

  it('have even edges even if the ratio gives a fraction', () => {
    expect(videoSizeFor('480p', '16:9')).to.deep.equal({ width: 854, height: 480 });
  });

  it('refuse an invalid resolution or ratio', () => {
    for (const [resolution, aspectRatio] of [
      ['720P', '16:9'],
      ['4K', '16:9'],
      ['8k', '16:9'],
      ['constructor', '16:9'],
      ['720p', 'adaptive'],
      ['', ''],
    ] as const) {
      expect(() => videoSizeFor(resolution, aspectRatio), resolution).to.throw(RangeError);
    }
  });
});
