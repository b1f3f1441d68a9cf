import { expect } from 'chai';
import { isAsRequested } from '../../../storage/media/is-as-requested.ts';
import type { MediaFacts } from '../../../storage/media-inspector.ts';
import { imageRequest, videoRequest } from '../../support/media.ts';

describe('storage/media/is-as-requested', () => {
  it('accepts an image of exactly the requested size, in any image type', () => {
    // contract 2.2:4 2.2:10
    for (const mimeType of ['image/png', 'image/jpeg', 'image/webp'] as const) {
      expect(isAsRequested(image({ mimeType }), imageRequest())).to.equal(null);
    }
    expect(isAsRequested(image({ width: 1023 }), imageRequest())).to.equal('asked for 1024x640, got 1023x640');
    expect(isAsRequested(image({ height: 641 }), imageRequest())).to.equal('asked for 1024x640, got 1024x641');
  });

  it('accepts an image of any size if none was requested', () => {
    expect(isAsRequested(image({ width: 7 }), { kind: 'image', prompt: 'p' })).to.equal(null);
  });

  it('requires a PNG with alpha for a transparent background', () => {
    // contract 2.2:10 4.3:13
    const request = imageRequest({ background: 'transparent' });
    expect(isAsRequested(image({ hasAlpha: true }), request)).to.equal(null);
    expect(isAsRequested(image(), request)).to.equal('asked for a PNG with alpha, got image/png without alpha');
    const webp = image({ mimeType: 'image/webp', hasAlpha: true });
    expect(isAsRequested(webp, request)).to.equal('asked for a PNG with alpha, got image/webp with alpha');
  });

  it('accepts an unused alpha channel when no transparency was requested', () => {
    for (const background of ['auto', 'opaque']) {
      expect(isAsRequested(image({ hasAlpha: true }), imageRequest({ background }))).to.equal(null);
    }
  });

  it('requires the requested kind of file, and MP4 for videos', () => {
    // contract 2.2:4 2.2:9
    expect(isAsRequested(video(), imageRequest())).to.equal('asked for an image, got video/mp4');
    expect(isAsRequested(image(), videoRequest())).to.equal('asked for video/mp4, got image/png');
    const quickTime = video({ mimeType: 'video/quicktime' });
    expect(isAsRequested(quickTime, videoRequest())).to.equal('asked for video/mp4, got video/quicktime');
  });

  const SIZES = [
    ['720p', '16:9', 1280, 720, true],
    ['720p', '9:16', 720, 1280, true],
    ['720p', '1:1', 720, 720, true],
    ['720p', '4:3', 960, 720, true],
    ['1080p', '16:9', 1920, 1080, true],
    ['1080p', '16:9', 1920, 1088, true], // not cropped to the frame
    ['1080p', '3:4', 1088, 1440, true],
    ['4k', '16:9', 3840, 2160, true],
    ['4k', '16:9', 1920, 1080, false],
    ['2k', '9:16', 1440, 2560, true],
    ['720p', '16:9', 1264, 720, true],
    ['720p', '16:9', 1920, 1080, false],
    ['1080p', '16:9', 1280, 720, false],
    ['1080p', '16:9', 1936, 1089, false],
    ['720p', '16:9', 720, 1280, false],
    ['720p', '16:9', 960, 720, false],
    ['720p', '1:1', 720, 736, false],
  ] as const;
  for (const [resolution, aspectRatio, width, height, fits] of SIZES) {
    it(`${fits ? 'accepts' : 'refuses'} ${width}x${height} for ${resolution} at ${aspectRatio}`, () => {
      // contract 2.2:9
      const difference = isAsRequested(video({ width, height }), videoRequest({ resolution, aspectRatio }));
      if (fits) expect(difference).to.equal(null);
      else
        expect(difference).to.match(new RegExp(`^asked for (${resolution}|${aspectRatio}), got ${width}x${height}$`));
    });
  }

  it('accepts a video that rounds to the requested seconds', () => {
    // contract 2.2:9
    const request = videoRequest({ durationSeconds: 5 });
    for (const durationSeconds of [4.5, 4.96, 5, 5.04, 129 / 24, 5.5]) {
      expect(isAsRequested(video({ durationSeconds }), request)).to.equal(null);
    }
    expect(isAsRequested(video({ durationSeconds: 4.4 }), request)).to.equal('asked for 5 seconds, got 4.4');
    expect(isAsRequested(video({ durationSeconds: 17 / 3 }), request)).to.equal('asked for 5 seconds, got 5.67');
  });

  for (const [resultCheck, width, height, fits] of [
    ['exact', 1000, 625, false],
    ['ratio', 1000, 625, true],
    ['ratio', 1030, 640, true],
    ['ratio', 1060, 640, false],
    ['ratio', 928, 580, true],
    ['ratio', 912, 570, false],
    ['ratio', 512, 320, false],
    ['any', 64, 64, true],
  ] as const) {
    it(`${fits ? 'accepts' : 'refuses'} ${width}x${height} for an image of 1024x640 where the catalogue asks for ${resultCheck}`, () => {
      // contract 2.2:12
      expect(isAsRequested(image({ width, height }), { ...imageRequest(), resultCheck }) === null).to.equal(fits);
    });
  }

  it('requires the pixels of the tier, not of the requested size, where the vendor renders sizes of its own', () => {
    // contract 2.2:12
    const request = { ...imageRequest({ width: 1440, height: 1440 }), resultCheck: 'ratio' } as const;
    expect(isAsRequested(image({ width: 1024, height: 1024 }), request)).to.equal(null);
    expect(isAsRequested(image({ width: 768, height: 768 }), request)).to.equal('asked for 1440x1440, got 768x768');
  });

  for (const [resolution, aspectRatio, width, height, fits] of [
    ['720p', '16:9', 1248, 704, true],
    ['720p', '16:9', 1366, 768, true],
    ['720p', '9:16', 704, 1248, true],
    ['720p', '1:1', 960, 960, true],
    ['720p', '1:1', 720, 720, true],
    ['720p', '21:9', 1504, 640, true],
    ['480p', '21:9', 960, 416, true],
    ['1080p', '21:9', 2176, 928, true],
    ['720p', '16:9', 1152, 648, true],
    ['720p', '16:9', 1136, 640, false],
    ['720p', '16:9', 640, 360, false],
    ['720p', '9:16', 360, 640, false],
    ['1080p', '16:9', 1280, 720, false],
    ['4k', '16:9', 1920, 1080, false],
    ['720p', '21:9', 1120, 480, false],
  ] as const) {
    it(`${fits ? 'accepts' : 'refuses'} ${width}x${height} for ${resolution} at ${aspectRatio} where the catalogue asks for ratio`, () => {
      // contract 2.2:12
      const request = { ...videoRequest({ resolution, aspectRatio }), resultCheck: 'ratio' } as const;
      const difference = isAsRequested(video({ width, height }), request);
      expect(difference).to.equal(fits ? null : `asked for ${resolution}, got ${width}x${height}`);
      expect(isAsRequested(video({ width, height }), { ...request, resultCheck: 'any' })).to.equal(null);
    });
  }

  it('does not compare a duration that the file does not have', () => {
    expect(isAsRequested(video({ durationSeconds: null }), videoRequest())).to.equal(null);
  });
});

/** A PNG that matches {@link imageRequest}. */
function image(overrides: Partial<MediaFacts> = {}): MediaFacts {
  return {
    mimeType: 'image/png',
    extension: 'png',
    durationSeconds: null,
    hasAlpha: false,
    width: 1024,
    height: 640,
    bytes: 9,
    ...overrides,
  };
}

/** An MP4 that matches {@link videoRequest}. */
function video(overrides: Partial<MediaFacts> = {}): MediaFacts {
  return {
    mimeType: 'video/mp4',
    extension: 'mp4',
    durationSeconds: 2,
    hasAlpha: null,
    width: 1280,
    height: 720,
    bytes: 9,
    ...overrides,
  };
}
