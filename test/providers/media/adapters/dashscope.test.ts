import { expect } from 'chai';
import { dashscope } from '../../../../providers/media/adapters/dashscope.ts';
import { LINKS, submit, testUpstream, videoRequest } from '../../../support/media.ts';
import { itFollowsTheRules, itListsTasks, useSimulatedVendor } from '../../../support/simulated-vendor.ts';

const VIDEO = 'https://example.com/1.mp4';

describe('Alibaba Model Studio', () => {
  const { upstream, vendor } = useSimulatedVendor(
    'dashscope',
    { apiKey: 'dashscope-key' },
    ({ baseUrl, ...settings }) => testUpstream({ adapter: dashscope, baseUrl: `${baseUrl}/api/v1`, ...settings }),
  );

  const video = (overrides: Parameters<typeof videoRequest>[0] = {}) =>
    videoRequest({ model: 'wan2.7-t2v', durationSeconds: 5, ...overrides });

  for (const [what, inputs, types, ratio] of [
    ['text', {}, undefined, '16:9'],
    [
      'a first frame, whose shape it has',
      { model: 'wan2.7-i2v', images: LINKS.slice(0, 1) },
      ['first_frame'],
      undefined,
    ],
    [
      'a first and a last frame',
      { model: 'wan2.7-i2v', images: LINKS.slice(0, 2), imagesAs: 'first_and_last_frame' },
      ['first_frame', 'last_frame'],
      undefined,
    ],
    [
      'references of two kinds',
      { model: 'wan2.7-r2v', images: LINKS.slice(0, 1), imagesAs: 'references', referenceVideos: [VIDEO] },
      ['reference_image', 'reference_video'],
      '16:9',
    ],
  ] as const) {
    it(`receives a request for a video from ${what}`, async () => {
      const request = video(inputs);
      const { body } = upstream.prepare(request);
      const { input, parameters } = JSON.parse(JSON.stringify(body)).json;
      expect(input.media?.map(({ type }: { type: string }) => type)).to.deep.equal(types);
      expect(parameters).to.deep.equal({ resolution: '720P', duration: 5, watermark: false, ...(ratio && { ratio }) });
      await submit(upstream, request);
    });
  }

  itListsTasks(upstream, video, { model: 'happyhorse-1.1-t2v', count: 105 });

  itFollowsTheRules(upstream, video, {
    rendered: ['1080p', { codedSize: [1080, 1920], durationSeconds: 5, cost: { amount: '5', unit: 'seconds' } }],
    refused: [
      video({ images: LINKS.slice(0, 2) }),
      video({ images: LINKS, imagesAs: 'first_and_last_frame' }),
      video({ referenceAudios: ['https://example.com/1.mp3'] }),
      video({ durationSeconds: 16 }),
      video({ resolution: '4k' }),
    ],
    missingJob: 'nowhere',
    other: () => ({ adapter: dashscope, baseUrl: vendor.baseUrl }),
    refusedProbe: 401,
    keepsEnded: true,
  });
});
