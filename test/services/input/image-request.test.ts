import { expect } from 'chai';
import { priceOf } from '../../../services/money/customer-prices.ts';
import * as fc from 'fast-check';
import { createImageRequestParser, imageRequestSchema } from '../../../services/input/image-request.ts';
import { CATALOGUE } from '../../support/catalogue.ts';
import { IMAGE_CHOICES } from '../../../domain/image-choices.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { parseUsd } from '../../../domain/money.ts';
import { createRefusalReader } from '../../support/refusal.ts';
import { RATIOS } from '../../support/ratios.ts';
import { casesOf } from '../../support/properties.ts';

const context = { isInputLink: (text: string): boolean => text.startsWith('https://') };
const parse = createImageRequestParser(CATALOGUE, context);

const links = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `https://files.example/${index}.png`);
const imagea = (overrides: object = {}): object => ({
  model: 'imagea-2.5-sunburst',
  prompt: 'A lighthouse',
  ...overrides,
});

const refusalOf = createRefusalReader(parse);

describe('the body of an image task', () => {
  describe('model', () => {
    it('model is required and must be a string', () => {
      // contract 4.3:2 4.3:19
      expect(refusalOf({})).to.equal('"model" is required');
      expect(refusalOf(imagea({ model: 3 }))).to.equal('"model" must be a string');
    });

    for (const model of ['vidone-3.0', 'vidone-3.0-prime', 'vidtwo-1.1']) {
      it(`sends ${model} to the videos endpoint`, () => {
        // contract 2.5:3 4.3:19
        expect(refusalOf({ model })).to.equal(`"model" ${model} is served by POST /v1/videos/tasks, not this endpoint`);
      });
    }

    it('model is a bad request when the catalogue has no such image model', () => {
      // contract 4.3:2
      expect(refusalOf({ model: 'imagea' })).to.equal('"model" must be one of: [imagea-2.5-sunburst imageb-2]');
    });

    it('may be imageb-2, with the same fields and a price of its own', () => {
      // contract 4.3:1
      const request = parse(imagea({ model: 'imageb-2', resolution: '2K', images: links(16) }));
      expect(priceOf(request, null)).to.equal(parseUsd('0.06'));
      expect(request.model.id).to.equal('imageb-2');
    });
  });

  describe('prompt', () => {
    it('prompt is required, a string and not empty', () => {
      // contract 4.3:3 4.3:19
      expect(refusalOf({ model: 'imagea-2.5-sunburst' })).to.equal('"prompt" is required');
      expect(refusalOf(imagea({ prompt: null }))).to.equal('"prompt" must be a string');
      expect(refusalOf(imagea({ prompt: '' }))).to.equal('"prompt" has an unsupported length');
    });

    it('has no separate length limit', () => {
      // contract 4.3:3
      expect(refusalOf(imagea({ prompt: '海'.repeat(50_000) }))).to.equal('accepted');
    });

    it('must be text that can be stored', () => {
      expect(refusalOf(imagea({ prompt: 'a\0' }))).to.match(/^"prompt" must not contain/);
    });
  });

  it('accepts up to 16 images', () => {
    // contract 4.3:4
    expect(parse(imagea()).render).not.to.have.property('images');
    expect(parse(imagea({ images: links(16) })).render.images).to.deep.equal(links(16));
    expect(refusalOf(imagea({ images: [] }))).to.equal('"images" requires at least 1 item');
    expect(refusalOf(imagea({ images: links(17) }))).to.equal('"images" accepts at most 16 items');
    expect(refusalOf(imagea({ images: 'x' }))).to.equal('"images" must be an array');
    expect(refusalOf(imagea({ images: [...links(1), 'x'] }))).to.equal('"images[1]" must be a public HTTPS URL');
  });

  describe('aspect_ratio', () => {
    it('aspect_ratio is one of the sixteen', () => {
      // contract 4.3:5
      for (const ratio of ['auto', ...RATIOS]) expect(refusalOf(imagea({ aspect_ratio: ratio }))).to.equal('accepted');
      for (const ratio of ['adaptive', '4:1', '', null, 1]) {
        expect(refusalOf(imagea({ aspect_ratio: ratio }))).to.equal(
          `"aspect_ratio" must be one of: [auto ${RATIOS.join(' ')}]`,
        );
      }
    });

    it('renders a square frame for auto, which is the default', () => {
      // contract 4.3:5
      expect(parse(imagea()).render).to.include({ width: 1024, height: 1024 });
      expect(parse(imagea({ aspect_ratio: 'auto' })).render).to.include({ width: 1024, height: 1024 });
    });

    it('determines the shape of the frame', () => {
      expect(parse(imagea({ aspect_ratio: '16:9', resolution: '4K' })).render).to.include({
        width: 3840,
        height: 2160,
      });
    });
  });

  it('accepts three resolutions, 1K by default, and charges by them', () => {
    // contract 4.3:6 8.5:2
    for (const [resolution, usd] of [
      [undefined, '0.04'],
      ['1K', '0.04'],
      ['2K', '0.08'],
      ['4K', '0.16'],
    ] as const) {
      expect(priceOf(parse(imagea(resolution && { resolution })), null), resolution).to.equal(parseUsd(usd));
    }
    for (const resolution of ['1k', '8K', '720p', '', null, 1]) {
      expect(refusalOf(imagea({ resolution }))).to.equal('"resolution" must be one of: [1K 2K 4K]');
    }
  });

  it('charges the requested tier even if the ratio leaves fewer pixels', () => {
    expect(priceOf(parse(imagea({ resolution: '4K', aspect_ratio: '3:1' })), null)).to.equal(parseUsd('0.16'));
  });

  it('does not charge more for another aspect ratio or for more images', () => {
    // contract 8.5:2 8.5:3
    for (const aspect_ratio of RATIOS) {
      expect(priceOf(parse(imagea({ aspect_ratio, images: links(16) })), null)).to.equal(parseUsd('0.04'));
    }
  });

  describe('size', () => {
    for (const [size, width, height, usd] of [
      ['1024x640', 1024, 640, '0.04'],
      ['2048x1024', 2048, 1024, '0.04'],
      ['2064x1024', 2064, 1024, '0.08'],
      ['2560x2304', 2560, 2304, '0.08'],
      ['2576x2304', 2576, 2304, '0.16'],
      ['3840x2160', 3840, 2160, '0.16'],
    ] as const) {
      it(`${size} renders exactly this size and costs ${usd}`, () => {
        // contract 4.3:7
        const request = parse(imagea({ size }));
        expect(request.render).to.include({ width, height });
        expect(priceOf(request, null)).to.equal(parseUsd(usd));
      });
    }

    for (const size of [
      '1000x1000',
      '3856x1600',
      '640x640',
      '3840x2176',
      '2400x784',
      '1024',
      '1024X1024',
      '',
      'auto',
    ]) {
      it(`refuses ${JSON.stringify(size)}, listing all the rules for sizes`, () => {
        // contract 4.3:10
        expect(refusalOf(imagea({ size }))).to.match(
          /^"size" must be WIDTHxHEIGHT .*16.*3840.*655360.*8294400.*3 times the short edge$/,
        );
      });
    }

    it('must be a string', () => {
      for (const size of [null, 1024, [1024, 1024], { width: 1024 }]) {
        expect(refusalOf(imagea({ size }))).to.equal('"size" must be a string');
      }
    });

    it('replaces resolution and aspect_ratio: neither is allowed with it, not even with the default', () => {
      // contract 4.3:7
      expect(refusalOf(imagea({ size: '1024x1024', resolution: '1K' }))).to.equal(
        'Cannot combine "size" with "resolution"',
      );
      expect(refusalOf(imagea({ size: '1024x1024', aspect_ratio: 'auto' }))).to.equal(
        'Cannot combine "size" with "aspect_ratio"',
      );
    });
  });

  it('accepts three backgrounds, auto by default', () => {
    // contract 4.3:8
    expect(parse(imagea()).render.background).to.equal('auto');
    for (const background of ['auto', 'opaque', 'transparent']) {
      expect(parse(imagea({ background })).render.background).to.equal(background);
    }
    expect(refusalOf(imagea({ background: 'white' }))).to.equal(
      '"background" must be one of: [auto opaque transparent]',
    );
  });

  it('refuses a background of a model whose entry lists none', () => {
    const entry = CATALOGUE.imageModels.get('imagea-2.5-sunburst');
    if (!entry) throw new Error('no imagea-2.5-sunburst');
    const parsePlain = createImageRequestParser(
      { ...CATALOGUE, imageModels: new Map([[entry.id, { ...entry, choices: new Map() }]]) },
      context,
    );
    expect(parsePlain(imagea()).render).to.not.have.property('background');
    expect(() => parsePlain(imagea({ background: 'auto' }))).to.throw(ServiceError, 'background');
  });

  it('refuses the fields of other models, and unknown ones', () => {
    // contract 4.2:34 4.3:19
    for (const field of ['duration', 'reference_videos', 'seed', 'quality', 'output_format', 'n']) {
      expect(refusalOf(imagea({ [field]: 1 }))).to.equal(
        `field "${field}" is not supported by model imagea-2.5-sunburst`,
      );
    }
    expect(refusalOf(imagea({ foo: 1 }))).to.equal('unknown field: foo');
  });

  it('describes its rules for the API description', () => {
    const model = CATALOGUE.imageModels.get('imagea-2.5-sunburst');
    if (!model) throw new Error('no imagea-2.5-sunburst');
    const { keys } = imageRequestSchema(model, context).describe();
    expect(Object.keys(keys)).to.deep.equal([
      'model',
      'prompt',
      'images',
      'aspect_ratio',
      'resolution',
      'size',
      ...IMAGE_CHOICES.map(({ name }) => name),
      'user',
    ]);
    expect(keys.background.flags.default).to.equal('auto');
  });

  it('accepts or refuses any JSON, and never crashes', () => {
    const field = fc.constantFrom('prompt', 'images', 'aspect_ratio', 'resolution', 'size', 'background', '__proto__');
    const model = fc.constantFrom('imagea-2.5-sunburst', 'imageb-2', 'vidone-3.0', 'x', null);
    const value = fc.oneof(
      fc.jsonValue({ stringUnit: 'binary' }),
      fc.constantFrom('1K', '16:9', '1024x1024', links(2), 'A lighthouse'),
    );
    const body = fc
      .tuple(model, fc.array(fc.tuple(fc.oneof(field, fc.string()), value), { maxLength: 6 }))
      .map(([model, fields]): unknown => Object.fromEntries([['model', model], ...fields]));
    fc.assert(
      fc.property(fc.oneof(body, fc.jsonValue()), (json) => {
        expect(refusalOf(json)).to.match(/\S/);
      }),
      { numRuns: casesOf(1_000) },
    );
  });

  it('renders sizes within the limits, whatever ratio and tier are chosen', () => {
    for (const aspect_ratio of ['auto', ...RATIOS]) {
      for (const resolution of ['1K', '2K', '4K']) {
        const { width, height } = parse(imagea({ aspect_ratio, resolution })).render;
        expect(refusalOf(imagea({ size: `${width}x${height}` })), `${aspect_ratio} ${resolution}`).to.equal('accepted');
      }
    }
  });
});
