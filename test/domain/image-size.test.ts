import { expect } from 'chai';
import * as fc from 'fast-check';
import { IMAGE_TIERS, imageSizeFor, imageTierOf, parseAspectRatio, parseImageSize } from '../../domain/image-size.ts';
import { RATIOS } from '../support/ratios.ts';
import { words } from '../support/words.ts';

describe('image sizes', () => {
  describe('a requested size', () => {
    const accepted = words('1024x1024 3840x2160 2160x3840 2880x2880 1280x512 512x1280 1536x512 3840x1280');
    for (const text of accepted) {
      it(`accepts ${text}`, () => {
        // contract 4.3:10
        const size = parseImageSize(text);
        expect(`${size?.width}x${size?.height}`).to.equal(text);
      });
    }

    for (const [text, reason] of [
      ['1023x1024', 'an edge that is not a multiple of 16'],
      ['1024x1032', 'an edge that is not a multiple of 16'],
      ['3856x2160', 'an edge over 3840'],
      ['0x1024', 'an edge under 16'],
      ['1280x496', 'fewer than 655,360 pixels'],
      ['3840x2176', 'more than 8,294,400 pixels'],
      ['1552x512', 'a long edge over three times the short edge'],
      ['512x1552', 'a long edge over three times the short edge'],
      ['1024X1024', 'another letter between the edges'],
      ['1024×1024', 'another sign between the edges'],
      ['01024x1024', 'a leading zero'],
      ['1024x', 'a missing edge'],
      ['x1024', 'a missing edge'],
      ['1024x1024x1024', 'three edges'],
      [' 1024x1024', 'blanks'],
      ['1024x1024\n', 'a line end'],
      ['-1024x-1024', 'negative edges'],
      ['1e3x1024', 'an exponent'],
      ['1024.0x1024', 'a fraction'],
      ['auto', 'a word'],
      ['', 'nothing'],
    ] as const) {
      it(`refuses ${JSON.stringify(text)}: ${reason}`, () => {
        // contract 4.3:10
        expect(parseImageSize(text)).to.equal(null);
      });
    }

    it('refuses any other text', () => {
      fc.assert(
        fc.property(fc.string({ unit: 'binary' }), (text) => {
          expect(parseImageSize(text)).to.equal(null);
        }),
      );
    });
  });

  describe('the tier that a size is billed as', () => {
    for (const [width, height, tier] of [
      [1024, 640, '1K'],
      [2048, 1024, '1K'],
      [2064, 1024, '2K'],
      [2560, 2304, '2K'],
      [2576, 2304, '4K'],
      [3840, 2160, '4K'],
    ] as const) {
      it(`is ${tier} for ${width}x${height}, ${width * height} pixels`, () => {
        // contract 4.3:11
        expect(imageTierOf({ width, height })).to.equal(tier);
      });
    }
  });

  describe('the size that a tier renders', () => {
    for (const [tier, aspectRatio, size] of [
      ['1K', 'auto', '1024x1024'],
      ['2K', 'auto', '2048x2048'],
      ['4K', 'auto', '2880x2880'],
      ['1K', '16:9', '1280x720'],
      ['2K', '16:9', '2560x1440'],
      ['4K', '16:9', '3840x2160'],
      ['4K', '9:16', '2160x3840'],
      ['1K', '3:2', '1248x832'],
      ['1K', '21:9', '1456x624'],
      ['4K', '3:1', '3840x1280'],
    ] as const) {
      it(`is ${size} for ${tier} at ${aspectRatio}`, () => {
        // contract 4.3:12
        const { width, height } = imageSizeFor(tier, aspectRatio);
        expect(`${width}x${height}`).to.equal(size);
      });
    }

    for (const tier of IMAGE_TIERS) {
      for (const aspectRatio of RATIOS) {
        it(`could have been requested, has exactly the ratio ${aspectRatio} and costs no more than ${tier}`, () => {
          // contract 4.3:12
          const { width, height } = imageSizeFor(tier, aspectRatio);
          const [across, down] = aspectRatio.split(':').map(Number);
          expect(parseImageSize(`${width}x${height}`)).to.deep.equal({ width, height });
          expect(width * (down ?? 0)).to.equal(height * (across ?? 0));
          expect(IMAGE_TIERS.indexOf(imageTierOf({ width, height }))).to.be.at.most(IMAGE_TIERS.indexOf(tier));
        });
      }
    }

    it('grows with the tier', () => {
      for (const aspectRatio of RATIOS) {
        const widths = IMAGE_TIERS.map((tier) => imageSizeFor(tier, aspectRatio).width);
        expect(widths).to.deep.equal([...new Set(widths)].sort((left, right) => left - right));
      }
    });

    it('refuses a ratio over 3 to 1, and an invalid ratio', () => {
      for (const aspectRatio of ['4:1', '1:4', '0:1', '16/9', '16:9:4', 'adaptive', '']) {
        expect(() => imageSizeFor('1K', aspectRatio), aspectRatio).to.throw(RangeError);
      }
    });
  });

  it('have their aspect ratios reduced to lowest terms', () => {
    expect(['21:9', '16:9', '1:1', '10:5'].map(parseAspectRatio)).to.deep.equal([
      [7, 3],
      [16, 9],
      [1, 1],
      [2, 1],
    ]);
  });
});
