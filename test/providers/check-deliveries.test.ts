import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { checkCatalogue } from '../../catalogue/load.ts';
import { parseOperatorFile, writeFindings } from '../../catalogue/operator-file.ts';
import { IMAGE_TIERS, imageSizeFor, imageTierOf } from '../../domain/image-size.ts';
import type { KindTraits, RenderRequest } from '../../providers/media/adapter.ts';
import { checkRoutes } from '../../providers/check-routes.ts';
import { fingerprintOf } from '../../providers/media/json.ts';
import { JobRefusedError } from '../../providers/media/outcomes.ts';
import { MEDIA_APIS } from '../../providers/media/protocols.ts';
import type { MediaUpstream } from '../../providers/media/upstream.ts';
import { imageRequest, testUpstream, videoRequest } from '../support/media.ts';
import { RATIOS } from '../support/ratios.ts';

const known = {
  media: new Map(MEDIA_APIS.map(([name, , adapter]) => [name, adapter] as const)),
  text: new Map(),
  clouds: new Set<string>(),
};

/** The findings of `config check` for a catalogue. */
function findingsIn(text: string): readonly string[] {
  const file = parseOperatorFile(text, 'catalogue.yaml', () => undefined);
  const { value, findings } = checkCatalogue(file);
  return writeFindings([...findings, ...checkRoutes(file, known, value)]);
}

const image = (route: object, changes: object = {}): object => ({
  version: '1',
  media: {
    images: [
      {
        id: 'picture',
        capability_version: null,
        images: { max: 1, required: false },
        aspect_ratios: ['1:1', '16:9'],
        default_aspect_ratio: '1:1',
        backgrounds: ['auto'],
        default_background: 'auto',
        usd_per_image: { '1K': '0.1', '2K': '0.2' },
        default_resolution: '1K',
        result_check: 'ratio',
        route: { model: 'painter', ...route },
        ...changes,
      },
    ],
  },
});

const video = (route: object, changes: object = {}): object => ({
  version: '1',
  media: {
    videos: [
      {
        id: 'film',
        capability_version: null,
        prompt_characters: { min: 1, max: 100 },
        images: { max: 1, required: false },
        max_reference_videos: null,
        max_reference_audios: null,
        durations_seconds: [5, 10],
        aspect_ratios: ['16:9', '9:16'],
        default_aspect_ratio: '16:9',
        usd_per_second: { '720p': '0.1', '1080p': '0.2' },
        default_resolution: '720p',
        result_check: 'ratio',
        route: { model: 'owner/camera', ...route },
        ...changes,
      },
    ],
  },
});

describe('a route that cannot deliver a sold product', () => {
  for (const [what, document, field, reason] of [
    [
      'a tier',
      image({ provider: 'kling' }, { usd_per_image: { '1K': '0.1', '4K': '0.4' } }),
      'usd_per_image.4K',
      '1K, 2K',
    ],
    ['a shape', image({ provider: 'kling' }, { aspect_ratios: ['1:1', '3:1'] }), 'aspect_ratios[1]', '16:9'],
    [
      'transparency',
      image({ provider: 'kling' }, { backgrounds: ['auto', 'transparent'] }),
      'backgrounds[1]',
      'transparent',
    ],
    ['exact pixels', image({ provider: 'google' }, { result_check: 'exact' }), 'result_check', 'pixels of its own'],
    [
      'tiers that no field tells apart',
      image({ provider: 'replicate', fields: { width: null, height: null, aspect_ratio: 'aspect_ratio' } }),
      'usd_per_image.2K',
      'same request for 2K as for 1K',
    ],
    [
      'tiers that a fixed field overrides',
      image({ provider: 'fal', params: { image_size: 'square_hd' } }, { aspect_ratios: ['1:1'] }),
      'usd_per_image.2K',
      'same request',
    ],
    [
      'more images than its field takes',
      image({ provider: 'fal' }, { images: { max: 2, required: false } }),
      'images.max',
      '1',
    ],
    [
      'a ratio of videos',
      video({ provider: 'kling' }, { aspect_ratios: ['16:9', '21:9'] }),
      'aspect_ratios[1]',
      '9:16',
    ],
    ['a length', video({ provider: 'kling' }, { durations_seconds: [5, 20] }), 'durations_seconds[1]', '3 to 15'],
    [
      'a resolution',
      video({ provider: 'kling' }, { usd_per_second: { '720p': '0.1', '480p': '0.1' } }),
      'usd_per_second.480p',
      '720p',
    ],
    [
      'resolutions that are one at the vendor',
      video({ provider: 'minimax' }, { usd_per_second: { '720p': '0.1', '768p': '0.2' } }),
      'usd_per_second.768p',
      'same request for 768p as for 720p',
    ],
    [
      'resolutions that no field tells apart',
      video({ provider: 'fal', fields: { resolution: null } }),
      'usd_per_second.1080p',
      'same request',
    ],
    [
      'lengths that no field tells apart',
      video({ provider: 'replicate', fields: { duration: null } }),
      'durations_seconds[1]',
      'same request',
    ],
    [
      'reference videos',
      video({ provider: 'openai-videos' }, { max_reference_videos: 2 }),
      'max_reference_videos',
      'videos',
    ],
  ] as const) {
    it(`is an error of config check with its line and field: ${what}`, () => {
      const findings = findingsIn(JSON.stringify(document, null, 2));
      expect(findings, findings.join('\n')).to.have.length(1);
      expect(findings[0]).to.match(/^catalogue\.yaml:\d+:\d+: "/);
      expect(findings[0]).to.contain(`${field}"`).and.to.contain(reason);
    });
  }

  it('is in neither of the catalogues of Genway', () => {
    const text = readFileSync(new URL('../../catalogue/vendors.yaml', import.meta.url), 'utf8');
    expect(findingsIn(text)).to.deep.equal([]);
  });
});

const RESOLUTIONS = ['480p', '720p', '768p', '1080p', '2k', '4k'];

describe('the declared deliveries of an adapter', () => {
  for (const [name, , adapter] of MEDIA_APIS) {
    const upstream = testUpstream({ adapter, baseUrl: 'http://127.0.0.1:9' });
    after(() => upstream.close());

    for (const [kind, requests] of [
      ['image', imageRequests()],
      ['video', videoRequests()],
    ] as const) {
      const traits = adapter.kinds[kind];
      if (!traits) continue;

      it(`hold for ${kind}s at ${name}: each of ${requests.length} requests is sent unchanged, or refused`, () => {
        const sent = requests.filter((request) => isPrepared(upstream, request));
        expect(sent).to.not.have.length(0);
        for (const request of requests) {
          expect(sent.includes(request), describeRequest(request)).to.equal(isDeclared(traits, request));
        }
        const bodies = sent.map((request) => fingerprintOf(upstream.prepare(request).body));
        // A word for a resolution and the sizes of its shape and tier are one request.
        expect(new Set(bodies).size).to.equal(new Set(sent.map((request) => meaningOf(traits, request))).size);
      });
    }
  }
});

function imageRequests(): readonly RenderRequest[] {
  const usual = imageRequest({ model: 'owner/name', fields: { background: { to: 'background' } } });
  return IMAGE_TIERS.flatMap((tier) =>
    RATIOS.flatMap((ratio) =>
      ['auto', 'transparent'].map((background) => ({ ...usual, ...imageSizeFor(tier, ratio), background })),
    ),
  );
}

function videoRequests(): readonly RenderRequest[] {
  const usual = videoRequest({ model: 'owner/name' });
  return RESOLUTIONS.flatMap((resolution) =>
    RATIOS.flatMap((aspectRatio) =>
      [2, 5, 8, 15, 30].map((durationSeconds) => ({ ...usual, resolution, aspectRatio, durationSeconds })),
    ),
  );
}

function isPrepared(upstream: MediaUpstream, request: RenderRequest): boolean {
  try {
    upstream.prepare(request);
    return true;
  } catch (error) {
    if (error instanceof JobRefusedError) return false;
    throw error;
  }
}

function isDeclared({ range, resolutions }: KindTraits, request: RenderRequest): boolean {
  const { kind, width = 1, height = 1, aspectRatio = '', durationSeconds = 0, resolution = '', background } = request;
  const { tiers, aspectRatios, seconds, transparency } = range;
  if (background === 'transparent' && !transparency) return false;
  if (kind === 'image') {
    return (
      (tiers === 'any' || tiers.includes(imageTierOf({ width, height }))) &&
      (aspectRatios === 'any' || aspectRatios.some((ratio) => isShape(ratio, width / height)))
    );
  }
  return (
    (!resolutions || Object.keys(resolutions).includes(resolution)) &&
    (aspectRatios === 'any' || aspectRatios.includes(aspectRatio)) &&
    (seconds === 'any' || (durationSeconds >= seconds.min && durationSeconds <= seconds.max))
  );
}

function isShape(ratio: string, shape: number): boolean {
  const [across = 1, down = 1] = ratio.split(':').map(Number);
  return Math.abs(across / down / shape - 1) <= 0.03;
}

function meaningOf({ resolutions }: KindTraits, request: RenderRequest): string {
  const { resolution = '', background, ...size } = request;
  const word = resolutions ? resolutions[resolution] : resolution;
  const { width, height, aspectRatio, durationSeconds } = size;
  return JSON.stringify([word, aspectRatio, durationSeconds, width, height, background === 'transparent']);
}

function describeRequest({
  resolution,
  aspectRatio,
  durationSeconds,
  width,
  height,
  background,
}: RenderRequest): string {
  return JSON.stringify({ resolution, aspectRatio, durationSeconds, width, height, background });
}
