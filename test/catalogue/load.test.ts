import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { CatalogueError, loadCatalogue, parseCatalogue } from '../../catalogue/load.ts';
import { compareOffers, offerOf, textCostsOf } from '../../catalogue/offer.ts';
import type { TextModel } from '../../catalogue/types.ts';
import { completeRates, parseFactor } from '../../domain/pricing.ts';

const text = readFileSync(new URL('../../catalogue/catalogue.yaml', import.meta.url), 'utf8');

/** The catalogue with one replacement; the replaced text must exist. */
function changed(from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`the catalogue has no ${from}`);
  return text.replace(from, to);
}

function faultsOf(yaml: string): string {
  try {
    parseCatalogue(yaml, 'test.yaml');
  } catch (error) {
    if (error instanceof CatalogueError) return error.message;
    throw error;
  }
  return 'none';
}

describe('loading a catalogue', () => {
  it('reads the file beside it by default', () => {
    expect(loadCatalogue().version).to.equal(parseCatalogue(text, 'test.yaml').version);
  });

  it('names an unreadable file', () => {
    expect(() => loadCatalogue('/nowhere/catalogue.yaml')).to.throw(CatalogueError, '/nowhere/catalogue.yaml');
  });

  for (const [fault, from, to, path, words] of [
    ['an unquoted price', "input: '0.21'", 'input: 0.21', 'text.families[0].models[0].prices.input', 'must be quoted'],
    ['a negative price', "720p: '0.10'", "720p: '-0.10'", 'media.videos[0].usd_per_second.720p', 'negative'],
    [
      'a price that is a word',
      "input: '0.21'",
      "input: 'cheap'",
      'text.families[0].models[0].prices.input',
      'decimals',
    ],
    ['a price finer than a pico-USD per token', "'0.21'", "'0.2100001'", 'prices.input', '6 decimals'],
    ['prices that a factor leaves inexact', "input: '0.05775'", "input: '0.057751'", 'families[2].models[1]', 'whole'],
    ['a missing price', "output: '0.84', ", '', 'text.families[0].models[0].prices.output', 'required'],
    ['a factor below 1', "factor: '2'", "factor: '0.5'", 'text.families[0].models[0].tiers[0].factor', 'at least 1'],
    ['a model that is both free and priced', 'legacy: true', 'free: true', 'text.families[4].models[4]', 'free'],
    ['a model without reasoning flag', 'reasoning: true', '', 'text.families[0].models[0].reasoning', 'required'],
    ['an unknown format', 'format: chat-completions', 'format: grpc', 'text.families[0].routes[0].format', 'one of'],
    [
      'a default of what is not listed',
      'backgrounds: [auto, opaque, transparent]',
      '',
      'default_background',
      'not allowed',
    ],
    [
      'batches of a vendor that has none',
      'format: chat-completions }]',
      'format: converse, batch: native }]',
      'text.families[0].routes[0].batch',
      'not allowed',
    ],
    [
      'an unknown way to run batches',
      'format: chat-completions }]',
      'format: messages, batch: { remainder: lost } }]',
      'text.families[0].routes[0].batch',
      'one of',
    ],
    ['a share of nothing', 'format: chat-completions', 'format: messages, weight: 0', 'routes[0].weight', 'greater'],
    ['an hour that does not exist', "from: '08:00'", "from: '24:01'", 'peaks[0].windows[0].from', '24:00'],
    ['a window that ends before it begins', "from: '14:00'", "from: '20:00'", 'peaks[0].windows[1]', 'after it begins'],
    ['a day that does not exist', 'days: [monday,', 'days: [noday,', 'peaks[0].days[0]', 'one of'],
    ['an offset that is not one', "utc_offset: '+08:00'", "utc_offset: '8'", 'peaks[0].utc_offset', '+08:00'],
    [
      'a default that is not on offer',
      'default_resolution: 720p',
      'default_resolution: 480p',
      'media.videos[0]',
      'price',
    ],
    [
      'a ratio that is not on offer',
      "default_aspect_ratio: '16:9'",
      "default_aspect_ratio: '2:1'",
      'aspect_ratio',
      'one of',
    ],
    ['a ratio too long to render', "'21:9',", "'4:1',", 'media.images[0]', 'cannot be rendered'],
    ['a resolution that is none', '1080p:', '4K:', 'media.videos[0]', 'not a video resolution'],
    ['a range upside down', 'min: 2, max: 30', 'min: 31, max: 30', 'media.videos[0].duration_seconds.max', 'min'],
    ...['messages', 'max_tokens', 'generationConfig', 'a..b'].map(
      (field) =>
        [
          `a route that drops ${field}`,
          'format: chat-completions',
          `format: chat-completions, drop: ['${field}']`,
          'text.families[0].routes[0].drop[0]',
          '',
        ] as const,
    ),
    [
      'searches without a price',
      'legacy: true',
      'legacy: true\n          tools: { web_search: { max_calls: 3 } }',
      'tools.web_search.usd_per_call',
      'required',
    ],
    [
      'more searches than a request may have',
      'legacy: true',
      "legacy: true\n          tools: { web_search: { usd_per_call: '0.01', max_calls: 101 } }",
      'tools.web_search.max_calls',
      '100',
    ],
    [
      'priced searches of a free model',
      'free: true',
      "free: true\n          tools: { web_search: { usd_per_call: '0.01' } }",
      'tools',
      'free',
    ],
    ['a field that is not known', 'media:', 'colour: blue\nmedia:', '"colour"', 'not a field here'],
    ['a version that is no text', "version: '2026-10-01'", 'version: 7', '"version"', 'string'],
  ] as const) {
    it(`refuses ${fault}, naming the field`, () => {
      expect(faultsOf(changed(from, to)))
        .to.include('test.yaml')
        .and.include(path)
        .and.include(words);
    });
  }

  it('reports all errors at once', () => {
    const faults = faultsOf(changed("input: '0.21'", 'input: 1').replace('version:', 'edition:'));
    expect(faults).to.include('"version" is required').and.include('prices.input');
  });

  it('refuses an id that occurs twice, whatever the kinds', () => {
    expect(faultsOf(changed('id: textd-v2.5', 'id: textc-M3'))).to.include('"textc-M3"');
    expect(faultsOf(changed('id: textd-v2.5', 'id: imageb-2'))).to.include('"imageb-2"');
  });

  for (const yaml of ['', 'a: [', '- 1', 'version: 1\nversion: 2', '"text"', 'null']) {
    it(`refuses ${JSON.stringify(yaml)} as a whole`, () => {
      expect(faultsOf(yaml)).to.include('test.yaml');
    });
  }

  it('refuses speech with a price by seconds in formats whose bytes do not tell the seconds', () => {
    const speech = (formats: string): string =>
      faultsOf(
        changed("prices: { character: '15' }", "prices: { audio_second: '0.001' }").replace(
          /(id: voice-tts #[^]*?format: chat-completions)/,
          `$1${formats}`,
        ),
      );
    expect(speech('')).to.include('audio_formats: [wav, pcm]');
    expect(speech(', audio_formats: [wav, mp3]')).to.include('audio_formats: [wav, pcm]');
    expect(speech(', audio_formats: [wav, pcm]')).to.equal('none');
  });

  it('lets the route of a model that only speaks set fields for its upstream, such as a cheaper tier', () => {
    const withFields = (id: string): string => {
      const at = text.indexOf(`id: ${id} #`);
      const rest = text.slice(at).replace('format: chat-completions', '$&, set: { service_tier: flex }');
      return text.slice(0, at) + rest;
    };
    const { textModels } = parseCatalogue(withFields('voice-tts'), 'test.yaml');
    expect(textModels.get('voice-tts')?.routes[0]?.set).to.deep.equal({ service_tier: 'flex' });
    expect(faultsOf(withFields('voice-stt'))).to.include('formats are [speech]');
  });

  it('lets the route of a model of embeddings drop and rename fields', () => {
    const at = text.indexOf('\n  embeddings:');
    const fields = 'drop: [encoding_format], rename: { dimensions: output_dimension }';
    const written = text.slice(0, at) + text.slice(at).replace('format: chat-completions', `$&, ${fields}`);
    const [model] = [...parseCatalogue(written, 'test.yaml').textModels.values()].filter(
      ({ formats }) => formats[0] === 'embeddings',
    );
    expect(model?.routes[0]).to.deep.include({
      drop: ['encoding_format'],
      rename: { dimensions: 'output_dimension' },
    });
  });

  it('reads the price of a search of the web and the most searches of a request, ten by default', () => {
    const sold = (tools: string): TextModel | undefined =>
      parseCatalogue(
        changed('id: textd-v2.5', `id: textd-v2.5\n          tools: ${tools}`),
        'test.yaml',
      ).textModels.get('textd-v2.5');
    const model = sold("{ web_search: { usd_per_call: '0.01' } }");
    expect(model?.webSearch).to.deep.equal({ maxCalls: 10 });
    expect(model?.pricing.rates.webSearch).to.equal(10_000_000_000n);
    expect(sold("{ web_search: { usd_per_call: '0', max_calls: 3 } }")?.webSearch).to.deep.equal({ maxCalls: 3 });
    expect(parseCatalogue(text, 'test.yaml').textModels.get('textd-v2.5')).to.not.have.property('webSearch');
  });

  it('lets a model name its own upstreams and its own output bound', () => {
    const catalogue = parseCatalogue(
      changed(
        'id: textd-v2.5',
        'id: textd-v2.5\n          assumed_output_tokens: 10\n          routes: [{ provider: a, format: messages, model: m }, { provider: b, format: responses }]',
      ),
      'test.yaml',
    );
    const model = catalogue.textModels.get('textd-v2.5');
    expect(model?.assumedOutputTokens).to.equal(10);
    expect(model?.routes).to.deep.equal([
      { provider: 'a', format: 'messages', model: 'm', order: 0, weight: 1 },
      { provider: 'b', format: 'responses', model: 'textd-v2.5', order: 1, weight: 1 },
    ]);
  });

  it('reads how a route runs batches at its vendor: at half the cost, with direct requests for the rest, by default', () => {
    const half = { decimal: '0.5', numerator: 1n, denominator: 2n };
    const third = { decimal: '0.3', numerator: 3n, denominator: 10n };
    const cases: readonly (readonly [written: string, batch: object])[] = [
      ['native', { remainder: 'direct', costFactor: half }],
      ["{ remainder: fail, cost_factor: '0.3' }", { remainder: 'fail', costFactor: third }],
    ];
    for (const [written, batch] of cases) {
      const yaml = changed('format: chat-completions }]', `format: chat-completions, batch: ${written} }]`);
      expect(parseCatalogue(yaml, 'test.yaml').textModels.get('textc-M3')?.routes[0].batch).to.deep.equal(batch);
    }
  });

  it('uses one route where there are no several', () => {
    const route = 'route: { provider: a, format: messages }';
    const catalogue = parseCatalogue(changed('id: textd-v2.5', `id: textd-v2.5\n          ${route}`), 'test.yaml');
    expect(catalogue.textModels.get('textd-v2.5')?.routes.map(({ provider }) => provider)).to.deep.equal(['a']);
    const both = `id: textd-v2.5\n          ${route}\n          routes: [{ provider: b, format: messages }]`;
    expect(faultsOf(changed('id: textd-v2.5', both))).to.include('routes');
  });

  it('lets routes set their order, their share, and limits on the start of a stream and on silence in a whole answer', () => {
    const routes =
      '[{ provider: a, format: messages, order: 1, weight: 3 }, { provider: b, format: responses, first_byte_timeout_s: 0.5, silence_timeout_s: 600 }]';
    const catalogue = parseCatalogue(
      changed('id: textd-v2.5', `id: textd-v2.5\n          routes: ${routes}`),
      'test.yaml',
    );
    const [first, second] = catalogue.textModels.get('textd-v2.5')?.routes ?? [];
    expect(first).to.include({ provider: 'a', order: 1, weight: 3 });
    expect(second).to.include({
      provider: 'b',
      order: 1,
      weight: 1,
      firstByteTimeoutMs: 500,
      silenceTimeoutMs: 600_000,
    });
  });

  it('reads the cost of text at each upstream whose route has one, in USD per million tokens', () => {
    const cost =
      "{ input: '0.05', output: '0.2', cached_input: '0.005', cache_write: '0.06', tiers: [{ threshold_tokens: 200000, applies: over, factor: '1.5' }] }";
    const routes = `[{ provider: a, format: messages, model: m, cost: ${cost} }, { provider: b, format: responses }]`;
    const written = changed('id: textd-v2.5', `id: textd-v2.5\n          routes: ${routes}`);
    expect(textCostsOf(parseCatalogue(written, 'test.yaml'))).to.deep.equal([
      {
        version: loadCatalogue().version,
        model: 'textd-v2.5',
        upstream: 'a',
        upstreamModel: 'm',
        pricing: {
          rates: completeRates({
            input: 50_000n,
            output: 200_000n,
            cachedInput: 5_000n,
            cacheWrite: 60_000n,
            cacheWrite1h: 100_000n,
          }),
          tiers: [{ thresholdTokens: 200_000, applies: 'over', factor: parseFactor('1.5') }],
          peaks: [],
        },
      },
    ]);
    expect(faultsOf(written.replace("'1.5'", "'0.5'"))).to.include('routes[0].cost.tiers[0].factor');
    const compare = (text: string) =>
      compareOffers(offerOf(parseCatalogue(written, 'a')), offerOf(parseCatalogue(text, 'b')));
    const dearer = written.replace("cache_write: '0.06'", "cache_write: '0.06', cache_write_1h: '0.12'");
    expect(compare(dearer)).to.deep.equal([
      { model: 'textd-v2.5', what: 'cost at a m: cache_write_1h', before: '0.1', after: '0.12', amount: 'cost' },
    ]);
    expect(faultsOf(written.replace("input: '0.05', ", ''))).to.include('routes[0].cost.input');
  });

  describe('the products of vendors', () => {
    const VIDEO = `
version: '1'
media:
  videos:
    - id: v
      capability_version: null
      prompt_characters: { min: 1, max: 10 }
      images: { max: 1, required: false }
      max_reference_videos: null
      max_reference_audios: null
      durations_seconds: [6, 4, 8]
      aspect_ratios: ['16:9']
      default_aspect_ratio: '16:9'
      usd_per_video: { 720p: '0.30' }
      default_resolution: 720p
      result_check: ratio
      routes:
        - { provider: a, model: m, order: 1, weight: 3, params: { audio: false }, cost: { usd_per_render: '0.2' } }
        - provider: b
          model: m
          model_with_images: m-i2v
          images_as: first_and_last_frame
          fields: { duration: length, resolution: { to: size, as: string }, aspect_ratio: null }
`;
    const model = () => parseCatalogue(VIDEO, 'test.yaml').videoModels.get('v');

    it('may be videos only', () => {
      const { videoModels, imageModels, textModels } = parseCatalogue(VIDEO, 'test.yaml');
      expect([videoModels.size, imageModels.size, textModels.size]).to.deep.equal([1, 0, 0]);
    });

    it('may have a few durations, the first of which is the default, and a total price', () => {
      // contract 2.8:2
      expect(model()?.durationSeconds).to.deep.equal({ min: 4, max: 8, default: 6, values: [6, 4, 8] });
      expect(model()?.pricing).to.deep.equal({
        per: 'video',
        byResolution: { '720p': 300_000_000_000n },
        modifiers: [],
      });
      expect(model()?.resultCheck).to.equal('ratio');
    });

    it('may have several routes, in the order of the list by default', () => {
      expect(model()?.routes).to.deep.equal([
        {
          provider: 'a',
          model: 'm',
          order: 1,
          weight: 3,
          params: { audio: false },
          cost: { per: 'render', prices: { '*': '200000000000' }, modifiers: [] },
        },
        {
          provider: 'b',
          model: 'm',
          order: 1,
          weight: 1,
          modelWithImages: 'm-i2v',
          imagesAs: 'first_and_last_frame',
          fields: { duration: { to: 'length' }, resolution: { to: 'size', as: 'string' }, aspect_ratio: null },
        },
      ]);
    });

    it('may cost the same in all tiers of an image', () => {
      const flat = changed("usd_per_image: { 1K: '0.04', 2K: '0.08', 4K: '0.16' }", "usd_per_image: '0.04'");
      const image = parseCatalogue(flat, 'test.yaml').imageModels.get('imagea-2.5-sunburst');
      expect(image?.pricing.byResolution).to.deep.equal({
        '1K': 40_000_000_000n,
        '2K': 40_000_000_000n,
        '4K': 40_000_000_000n,
      });
    });

    it('may name variables of the environment', () => {
      const yaml = VIDEO.replace('provider: a', 'provider: "${VENDOR}"');
      const catalogue = parseCatalogue(yaml, 'test.yaml', () => 'from-outside');
      expect(catalogue.videoModels.get('v')?.routes[0].provider).to.equal('from-outside');
      expect(faultsOf(yaml)).to.contain('media.videos[0].routes[0].provider').and.contain('VENDOR');
    });

    for (const [what, from, to] of [
      ['route', '      routes:', '      route: { provider: a, model: m }\n      routes:'],
      ['usd_per_second', '      usd_per_video', "      usd_per_second: { 720p: '0.1' }\n      usd_per_video"],
      [
        'duration_seconds',
        '      durations_seconds',
        '      duration_seconds: { min: 1, max: 2, default: 1 }\n      durations_seconds',
      ],
      ['images_as', 'first_and_last_frame', 'both'],
      ['colour', 'duration: length', 'colour: length'],
      ['cost', "cost: { usd_per_render: '0.2' }", "cost: { usd_per_render: '0.2', usd_per_second: '0.1' }"],
    ] as const) {
      it(`are refused with a wrong ${what}, which is named`, () => {
        expect(faultsOf(VIDEO.replace(from, to))).to.contain(what);
      });
    }
  });
});
