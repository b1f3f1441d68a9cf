import { expect } from 'chai';
import { xai } from '../../../../providers/media/adapters/xai.ts';
import { endOf, LINKS, submit, testUpstream, videoRequest } from '../../../support/media.ts';
import { itFollowsTheRules, useSimulatedVendor } from '../../../support/simulated-vendor.ts';

const signal = new AbortController().signal;

describe('xAI', () => {
  const { upstream, vendor } = useSimulatedVendor('xai', { apiKey: 'xai-key' }, (settings) =>
    testUpstream({ adapter: xai, ...settings }),
  );

  const video = (overrides: Parameters<typeof videoRequest>[0] = {}) =>
    videoRequest({ model: 'grok-imagine-video-1.5', durationSeconds: 5, ...overrides });

  for (const [what, inputs, fields] of [
    ['text', {}, { aspect_ratio: '16:9' }],
    ['a first frame, whose shape it has', { images: LINKS.slice(0, 1) }, { image: { url: LINKS[0] } }],
    [
      'references',
      { images: LINKS.slice(0, 2), imagesAs: 'references' },
      { aspect_ratio: '16:9', reference_images: [{ url: LINKS[0] }, { url: LINKS[1] }] },
    ],
  ] as const) {
    it(`receives a request for a video from ${what}`, async () => {
      const request = video(inputs);
      expect(upstream.prepare(request).body).to.deep.equal({
        json: {
          model: 'grok-imagine-video-1.5',
          prompt: request.prompt,
          duration: 5,
          resolution: '720p',
          ...fields,
        },
      });
      await submit(upstream, request);
    });
  }

  it('charges for a video that moderation stopped', async () => {
    const state = await endOf(
      upstream,
      await submit(upstream, video({ prompt: '[sim:fail=content_policy_violation]' })),
    );
    expect(state).to.have.property('cost').that.deep.equals({ amount: '0.7', unit: 'usd' });
    expect(upstream.traitsOf('video')).to.include({ isRefusalBilled: true, recovery: 'none' });
  });

  itFollowsTheRules(upstream, video, {
    rendered: ['1080p', { codedSize: [1080, 1920], durationSeconds: 5, cost: { amount: '1.25', unit: 'usd' } }],
    refused: [
      video({ images: LINKS.slice(0, 2) }),
      video({ images: LINKS.slice(0, 2), imagesAs: 'references', resolution: '1080p' }),
      video({ referenceVideos: ['https://example.com/1.mp4'] }),
      video({ referenceAudios: ['https://example.com/1.mp3'] }),
      video({ durationSeconds: 16 }),
      video({ aspectRatio: '21:9' }),
      video({ resolution: '4k' }),
    ],
    missingJob: 'nowhere',
    other: () => ({ adapter: xai, baseUrl: vendor.baseUrl }),
    refusedProbe: 400,
  });

  it('lists its models when it is probed', async () => {
    const { document } = await upstream.probe(signal);
    expect(xai.modelsIn?.(document)).to.include('grok-imagine-video-1.5-lite');
  });
});
