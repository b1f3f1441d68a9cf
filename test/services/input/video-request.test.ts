import { expect } from 'chai';
import { priceOf } from '../../../services/money/customer-prices.ts';
import * as fc from 'fast-check';
import { createVideoRequestParser, videoRequestSchema } from '../../../services/input/video-request.ts';
import { CATALOGUE } from '../../support/catalogue.ts';
import { parseUsd } from '../../../domain/money.ts';
import { createRefusalReader } from '../../support/refusal.ts';
import { casesOf } from '../../support/properties.ts';

const context = { isInputLink: (text: string): boolean => text.startsWith('https://') };
const parse = createVideoRequestParser(CATALOGUE, context);

const link = (index = 0): string => `https://files.example/${index}.png`;
const links = (count: number): string[] => Array.from({ length: count }, (_, index) => link(index));
const vidone = (overrides: object = {}): object => ({ model: 'vidone-3.0', prompt: 'A lighthouse', ...overrides });
const vidtwo = (overrides: object = {}): object => ({
  model: 'vidtwo-1.1',
  prompt: 'A lighthouse',
  images: links(1),
  ...overrides,
});

/** Every sentence of contract 4.2, and the cases that it leaves open: other models, and text that cannot be stored. */
const SENTENCE = new RegExp(
  `^(?:${[
    'accepted',
    'The request body must be a JSON object',
    '"model" (?:is required|must be a string|must be one of: \\[.*\\])',
    '"model" imageb-2 is served by POST /v1/images/tasks, not this endpoint',
    '"prompt" (?:is required|has an unsupported length|must be a string)',
    '"prompt" must not contain NUL characters or unpaired surrogates',
    '"images" (?:is required|accepts at most (?:9|10) items|requires at least 1 item|must be an array)',
    '"reference_(?:videos|audios)" (?:accepts at most 5 items|requires at least 1 item|must be an array)',
    '"(?:images|reference_videos|reference_audios)\\[\\d+\\]" must be a public HTTPS URL',
    'Cannot combine "images" with reference inputs in one task',
    '"duration" is outside its supported range',
    '"aspect_ratio" must be one of: \\[16:9 9:16 1:1 4:3 3:4\\]',
    '"resolution" must be one of: \\[720p 1080p\\]',
    'field ".+" is not supported by model (?:vidone-3\\.0|vidtwo-1\\.1)',
    'unknown field: .*',
  ].join('|')})$`,
  's',
);

const refusalOf = createRefusalReader(parse);

describe('the body of a video task', () => {
  describe('model', () => {
    it('model is required', () => {
      // contract 4.2:1 4.2:16 4.2:2 4.2:19
      expect(refusalOf({})).to.equal('"model" is required');
      expect(refusalOf({ prompt: 5, foo: 1 })).to.equal('"model" is required');
    });

    it('must be a string', () => {
      // contract 4.2:21
      for (const model of [null, 1, ['vidone-3.0'], {}]) {
        expect(refusalOf(vidone({ model }))).to.equal('"model" must be a string');
      }
    });

    for (const model of ['imagea-2.5-sunburst', 'imageb-2']) {
      it(`sends ${model} to the images endpoint`, () => {
        // contract 2.5:3 4.2:17
        expect(refusalOf({ model })).to.equal(`"model" ${model} is served by POST /v1/images/tasks, not this endpoint`);
      });
    }

    it('model is a bad request when the catalogue has no such video model', () => {
      // contract 4.2:1 4.2:18 7.2:8
      for (const model of ['vidone', 'VIDONE-3.0', '', 'textc-M3', '__proto__', 'constructor']) {
        expect(refusalOf({ model })).to.equal('"model" must be one of: [vidone-3.0 vidone-3.0-prime vidtwo-1.1]');
      }
    });
  });

  describe('prompt', () => {
    const LENGTH = '"prompt" has an unsupported length';

    it('prompt is required', () => {
      expect(refusalOf({ model: 'vidone-3.0' })).to.equal('"prompt" is required');
    });

    it('must be a string', () => {
      for (const prompt of [null, 1, ['a'], {}, true]) {
        expect(refusalOf(vidone({ prompt }))).to.equal('"prompt" must be a string');
      }
    });

    it('has 1 to 5000 characters', () => {
      // contract 4.2:2 4.2:20
      expect(refusalOf(vidone({ prompt: '' }))).to.equal(LENGTH);
      expect(refusalOf(vidone({ prompt: 'a' }))).to.equal('accepted');
      expect(refusalOf(vidone({ prompt: 'a'.repeat(5000) }))).to.equal('accepted');
      expect(refusalOf(vidone({ prompt: 'a'.repeat(5001) }))).to.equal(LENGTH);
    });

    for (const [kind, character] of [
      ['a CJK character', '海'],
      ['a CJK character outside the basic plane', '𠮷'],
      ['an emoji', '🌊'],
    ] as const) {
      it(`counts ${kind} as one character`, () => {
        // contract 4.2:2
        expect(refusalOf(vidone({ prompt: character.repeat(5000) }))).to.equal('accepted');
        expect(refusalOf(vidone({ prompt: character.repeat(5001) }))).to.equal(LENGTH);
      });
    }

    it('must be storable text', () => {
      // contract 4.2:33
      for (const prompt of ['a\0b', '\uD800', 'a\uDC00b']) {
        expect(refusalOf(vidone({ prompt }))).to.match(/^"prompt" must not contain/);
      }
    });
  });

  describe('images', () => {
    it('holds 1 to 10 links on vidone', () => {
      // contract 4.2:3 4.2:10 4.2:22 4.2:23
      expect(refusalOf(vidone({ images: [] }))).to.equal('"images" requires at least 1 item');
      expect(refusalOf(vidone({ images: links(1) }))).to.equal('accepted');
      expect(refusalOf(vidone({ images: links(10) }))).to.equal('accepted');
      expect(refusalOf(vidone({ images: links(11) }))).to.equal('"images" accepts at most 10 items');
    });

    it('holds 1 to 9 links on vidtwo', () => {
      // contract 4.2:3 4.2:22 4.2:23
      expect(refusalOf(vidtwo({ images: [] }))).to.equal('"images" requires at least 1 item');
      expect(refusalOf(vidtwo({ images: links(9) }))).to.equal('accepted');
      expect(refusalOf(vidtwo({ images: links(10) }))).to.equal('"images" accepts at most 9 items');
    });

    it('images is required on vidtwo', () => {
      // contract 4.2:3 4.2:12 4.2:26
      expect(refusalOf({ model: 'vidtwo-1.1', prompt: 'A lighthouse' })).to.equal('"images" is required');
    });

    it('must be an array', () => {
      // contract 4.2:24
      for (const images of [null, link(), { 0: link() }, 1]) {
        expect(refusalOf(vidone({ images }))).to.equal('"images" must be an array');
      }
    });

    for (const bad of [
      'http://files.example/a.png',
      'ftp://files.example/a',
      'data:image/png;base64,AA',
      '',
      7,
      null,
      [],
    ]) {
      it(`refuses ${JSON.stringify(bad)} as a link, naming its place`, () => {
        // contract 4.2:13 4.2:25 8.4:1
        expect(refusalOf(vidone({ images: [bad] }))).to.equal('"images[0]" must be a public HTTPS URL');
        expect(refusalOf(vidone({ images: [link(), link(), bad] }))).to.equal('"images[2]" must be a public HTTPS URL');
      });
    }

    it('reports too many links before an invalid one', () => {
      expect(refusalOf(vidone({ images: [...links(10), 'x'] }))).to.equal('"images" accepts at most 10 items');
    });

    it('is passed on in the order of the list', () => {
      // contract 4.2:10
      const images = links(10).toReversed();
      expect(parse(vidone({ images })).render.images).to.deep.equal(images);
    });

    for (const field of ['reference_videos', 'reference_audios']) {
      it(`cannot be combined with ${field}`, () => {
        // contract 4.2:11 4.2:27
        expect(refusalOf(vidone({ images: links(1), [field]: links(1) }))).to.equal(
          'Cannot combine "images" with reference inputs in one task',
        );
      });
    }
  });

  for (const field of ['reference_videos', 'reference_audios']) {
    describe(field, () => {
      it('holds 1 to 5 links', () => {
        // contract 4.2:4 4.2:5 4.2:22 4.2:23
        expect(refusalOf(vidone({ [field]: [] }))).to.equal(`"${field}" requires at least 1 item`);
        expect(refusalOf(vidone({ [field]: links(5) }))).to.equal('accepted');
        expect(refusalOf(vidone({ [field]: links(6) }))).to.equal(`"${field}" accepts at most 5 items`);
      });

      it('must be an array of public HTTPS URLs', () => {
        // contract 4.2:4 4.2:5 4.2:24 4.2:25
        expect(refusalOf(vidone({ [field]: link() }))).to.equal(`"${field}" must be an array`);
        expect(refusalOf(vidone({ [field]: [link(), 'http://a'] }))).to.equal(
          `"${field}[1]" must be a public HTTPS URL`,
        );
      });

      it(`${field} is refused on vidtwo`, () => {
        // contract 4.2:4 4.2:5 4.2:12 4.2:31 4.2:34 4.5:8
        expect(refusalOf(vidtwo({ [field]: links(1) }))).to.equal(
          `field "${field}" is not supported by model vidtwo-1.1`,
        );
      });
    });
  }

  it('accepts reference videos and reference audios together', () => {
    // contract 4.2:10
    const { render } = parse(vidone({ reference_videos: links(5), reference_audios: links(2) }));
    expect(render.referenceVideos).to.deep.equal(links(5));
    expect(render.referenceAudios).to.deep.equal(links(2));
    expect(render).not.to.have.property('images');
  });

  describe('duration', () => {
    const RANGE = '"duration" is outside its supported range';

    it('duration is 2 to 30 seconds on vidone', () => {
      // contract 4.2:6 4.2:28
      expect([1, 2, 30, 31].map((duration) => refusalOf(vidone({ duration })))).to.deep.equal([
        RANGE,
        'accepted',
        'accepted',
        RANGE,
      ]);
    });

    it('duration is 3 to 15 seconds on vidtwo', () => {
      // contract 4.2:6 4.2:28
      expect([2, 3, 15, 16].map((duration) => refusalOf(vidtwo({ duration })))).to.deep.equal([
        RANGE,
        'accepted',
        'accepted',
        RANGE,
      ]);
    });

    for (const duration of ['5', 5.5, -1, 0, null, true, [5], {}, 1e308, Number.MAX_SAFE_INTEGER]) {
      it(`refuses ${JSON.stringify(duration)}`, () => {
        // contract 4.2:6 4.2:28
        expect(refusalOf(vidone({ duration }))).to.equal(RANGE);
      });
    }
  });

  it('refuses a duration beyond the range of numbers', () => {
    for (const duration of ['1e400', '-1e400', '9'.repeat(400)]) {
      const body: unknown = JSON.parse(`{"model":"vidone-3.0","prompt":"A lighthouse","duration":${duration}}`);
      expect(refusalOf(body)).to.equal('"duration" is outside its supported range');
    }
  });

  it('accepts five aspect ratios', () => {
    // contract 4.2:7 4.2:29
    for (const ratio of ['16:9', '9:16', '1:1', '4:3', '3:4']) {
      expect(parse(vidone({ aspect_ratio: ratio })).render.aspectRatio).to.equal(ratio);
    }
    for (const ratio of ['adaptive', '16/9', '21:9', '', null, 1, ['16:9']]) {
      expect(refusalOf(vidone({ aspect_ratio: ratio }))).to.equal(
        '"aspect_ratio" must be one of: [16:9 9:16 1:1 4:3 3:4]',
      );
    }
  });

  it('accepts two resolutions, in lower case', () => {
    // contract 4.2:8 4.2:30
    for (const resolution of ['720p', '1080p']) {
      expect(parse(vidone({ resolution })).render.resolution).to.equal(resolution);
    }
    for (const resolution of ['480p', '720P', '1080', '4K', '', null, 720]) {
      expect(refusalOf(vidone({ resolution }))).to.equal('"resolution" must be one of: [720p 1080p]');
    }
  });

  describe('other fields', () => {
    for (const field of [
      'reference_images',
      'generate_audio',
      'seed',
      'quality',
      'sound',
      'task_type',
      'output_format',
      'watermark',
      'negative_prompt',
    ]) {
      it(`refuses ${field} as not supported by the model`, () => {
        // contract 4.1:7 4.2:31
        for (const value of [null, 1, 'x']) {
          expect(refusalOf(vidone({ [field]: value }))).to.equal(
            `field "${field}" is not supported by model vidone-3.0`,
          );
        }
        expect(refusalOf(vidtwo({ [field]: 1 }))).to.equal(`field "${field}" is not supported by model vidtwo-1.1`);
      });
    }

    it('refuses a name that no model has as unknown', () => {
      // contract 4.2:32
      expect(refusalOf(vidone({ foo: 1 }))).to.equal('unknown field: foo');
      expect(refusalOf(vidone({ Prompt: 'x' }))).to.equal('unknown field: Prompt');
      expect(refusalOf(JSON.parse('{"model":"vidone-3.0","prompt":"x","__proto__":{}}'))).to.equal(
        'unknown field: __proto__',
      );
    });
  });

  it('reports the first of several errors, in the order of the fields', () => {
    // contract 4.1:8
    const faults: [object, string][] = [
      [{ prompt: '' }, '"prompt" has an unsupported length'],
      [{ images: [] }, '"images" requires at least 1 item'],
      [{ reference_videos: links(6) }, 'Cannot combine "images" with reference inputs in one task'],
      [{ duration: '5' }, '"duration" is outside its supported range'],
      [{ aspect_ratio: 'adaptive' }, '"aspect_ratio" must be one of: [16:9 9:16 1:1 4:3 3:4]'],
      [{ resolution: '480p' }, '"resolution" must be one of: [720p 1080p]'],
      [{ seed: 1 }, 'field "seed" is not supported by model vidone-3.0'],
      [{ foo: 1 }, 'unknown field: foo'],
    ];
    for (const [index, [, sentence]] of faults.entries()) {
      const remaining = faults.slice(index).map(([fault]) => fault);
      const body = Object.assign({}, ...remaining.toReversed(), { model: 'vidone-3.0' });
      const base = index < 3 ? vidone({ images: links(1) }) : vidone();
      expect(refusalOf({ ...base, ...body })).to.equal(sentence);
    }
  });

  describe('an accepted request', () => {
    it('is text only with the defaults filled in: 5 seconds of 720p at 16:9', () => {
      // contract 4.2:6 4.2:7 4.2:8 4.2:10 8.5:1
      const request = parse(vidone());
      const { model, billableDurationSeconds, render } = request;
      expect(model.id).to.equal('vidone-3.0');
      expect(priceOf(request, null)).to.equal(parseUsd('0.50'));
      expect(billableDurationSeconds).to.equal(5);
      expect(render).to.deep.equal({
        kind: 'video',
        prompt: 'A lighthouse',
        durationSeconds: 5,
        aspectRatio: '16:9',
        resolution: '720p',
      });
    });

    it('keeps the default aspect ratio when images or references are sent', () => {
      // contract 4.2:15
      for (const inputs of [{ images: links(3) }, { reference_videos: links(1) }, { reference_audios: links(1) }]) {
        expect(parse(vidone(inputs)).render).to.include({ aspectRatio: '16:9', resolution: '720p' });
      }
    });

    for (const [body, usd] of [
      [vidone({ duration: 30, resolution: '1080p' }), '4.5'],
      [vidone({ model: 'vidone-3.0-prime', duration: 30, resolution: '1080p' }), '4.5'],
      [vidone({ aspect_ratio: '1:1', images: links(10) }), '0.5'],
      [vidtwo({ duration: 3 }), '0.24'],
      [vidtwo({ images: links(9), resolution: '1080p' }), '0.6'],
    ] as const) {
      it(`costs ${usd}: ${JSON.stringify(body).replaceAll(/"https[^\]]*/g, '…')}`, () => {
        // contract 8.5:1 8.5:3
        expect(priceOf(parse(body), null)).to.equal(parseUsd(usd));
      });
    }

    it('keeps the prompt unchanged', () => {
      const prompt = '  A\nlighthouse — 灯塔 🌊 e\u0301 ';
      expect(parse(vidone({ prompt })).render.prompt).to.equal(prompt);
    });
  });

  it('describes its rules for the API description', () => {
    const model = CATALOGUE.videoModels.get('vidone-3.0');
    if (!model) throw new Error('no vidone-3.0');
    const { keys } = videoRequestSchema(model, context).describe();
    expect(Object.keys(keys)).to.deep.equal([
      'model',
      'prompt',
      'images',
      'reference_videos',
      'reference_audios',
      'duration',
      'aspect_ratio',
      'resolution',
      'user',
    ]);
    expect(keys.duration.flags.default).to.equal(5);
    expect(keys.resolution.allow).to.deep.equal(['720p', '1080p']);
  });

  it('sells a resolution with a name of its own under that name, at its price', () => {
    const vidone = CATALOGUE.videoModels.get('vidone-3.0');
    if (!vidone) throw new Error('there is no such model');
    const byResolution = { ...vidone.pricing.byResolution, '4k': parseUsd('0.60') };
    const model = { ...vidone, pricing: { ...vidone.pricing, byResolution } };
    const parseOrder = createVideoRequestParser({ ...CATALOGUE, videoModels: new Map([[vidone.id, model]]) }, context);
    const body = { model: vidone.id, prompt: 'A lighthouse', duration: 5, resolution: '4k' };
    expect(priceOf(parseOrder(body), null)).to.equal(parseUsd('3'));
    expect(parseOrder(body).render).to.include({ resolution: '4k' });
    expect(() => parseOrder({ ...body, resolution: '4K' })).to.throw('must be one of: [720p 1080p 4k]');
    const { keys } = videoRequestSchema(model, context).describe();
    expect(keys.resolution.allow).to.deep.equal(['720p', '1080p', '4k']);
  });

  it('accepts any JSON, or refuses it in a sentence of the contract', () => {
    const field = fc.constantFrom(
      'prompt',
      'images',
      'reference_videos',
      'reference_audios',
      'duration',
      'aspect_ratio',
      'resolution',
      'seed',
      '__proto__',
    );
    const model = fc.constantFrom('vidone-3.0', 'vidtwo-1.1', 'imageb-2', 'x', null);
    const value = fc.oneof(
      fc.jsonValue({ stringUnit: 'binary' }),
      fc.constantFrom(5, '720p', '16:9', [link()], 'A lighthouse'),
      // JSON.parse turns numbers that are too large into infinity.
      fc.constantFrom(Infinity, -Infinity, 2 ** 60),
    );
    const body = fc
      .tuple(model, fc.array(fc.tuple(fc.oneof(field, fc.string()), value), { maxLength: 6 }))
      .map(([model, fields]): unknown => Object.fromEntries([['model', model], ...fields]));
    fc.assert(
      fc.property(fc.oneof(body, fc.jsonValue()), (json) => {
        expect(refusalOf(json)).to.match(SENTENCE);
      }),
      { numRuns: casesOf(1_000) },
    );
  });
});
