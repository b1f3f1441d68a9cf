import { expect } from 'chai';
import { bfl } from '../../../../providers/media/adapters/bfl.ts';
import { ProviderUnreachableError } from '../../../../providers/media/outcomes.ts';
import { LINKS, submit, testUpstream, videoRequest } from '../../../support/media.ts';
import { rejectionOf } from '../../../support/rejection.ts';
import { itFollowsTheRules, useSimulatedVendor } from '../../../support/simulated-vendor.ts';

const signal = new AbortController().signal;
const VIDEO = 'https://example.com/1.mp4';

describe('Black Forest Labs', () => {
  const { upstream, vendor } = useSimulatedVendor('bfl', { apiKey: 'bfl-key' }, (settings) =>
    testUpstream({ adapter: bfl, ...settings }),
  );

  const video = (overrides: Parameters<typeof videoRequest>[0] = {}) =>
    videoRequest({ model: 'flux-3-video', durationSeconds: 5, ...overrides });

  for (const [what, inputs, fields] of [
    ['text', {}, { mode: 't2v', aspect_ratio: '16:9' }],
    ['a first frame, whose shape it has', { images: LINKS.slice(0, 1) }, { mode: 'i2v', keyframes: LINKS.slice(0, 1) }],
    [
      'two frames',
      { images: LINKS.slice(0, 2), imagesAs: 'first_and_last_frame' },
      { mode: 'i2v', keyframes: LINKS.slice(0, 2) },
    ],
    ['a video, which it continues', { referenceVideos: [VIDEO] }, { mode: 'v2v', start_video: VIDEO }],
  ] as const) {
    it(`receives a request for a video from ${what}`, async () => {
      const request = video(inputs);
      expect(upstream.prepare(request).body).to.deep.equal({
        json: { prompt: request.prompt, duration: 5, resolution: 'hd', ...fields },
      });
      await submit(upstream, request);
    });
  }

  it('sends its key to the host of a region, and to no other host', async () => {
    const direct = testUpstream({ adapter: bfl, baseUrl: null, credential: { apiKey: 'bfl-key' } });
    const proxy = testUpstream({ adapter: bfl, baseUrl: vendor.baseUrl, credential: { apiKey: 'bfl-key' } });
    const elsewhere = /another origin/;
    for (const [used, address] of [
      [direct, 'https://example.com/v1/get_result?id=1'],
      [direct, 'http://api.us1.bfl.ai/v1/get_result?id=1'],
      [direct, 'https://api.us1.bfl.ai.example.com/v1/get_result?id=1'],
      [proxy, 'https://api.us1.bfl.ai/v1/get_result?id=1'],
    ] as const) {
      expect(await rejectionOf(used.status(address, signal)), address)
        .to.be.instanceOf(ProviderUnreachableError)
        .with.property('message')
        .that.matches(elsewhere);
    }
    const aborted = AbortSignal.abort(new Error('tried to connect'));
    const regional = await rejectionOf(direct.status('https://api.us1.bfl.ai/v1/get_result?id=1', aborted));
    expect(regional).to.have.property('message', 'tried to connect');
    await Promise.all([direct.close(), proxy.close()]);
  });

  itFollowsTheRules(upstream, video, {
    rendered: ['1080p', { codedSize: [1080, 1920], durationSeconds: 5, cost: { amount: '145', unit: 'credits' } }],
    refused: [
      video({ images: LINKS.slice(0, 2) }),
      video({ images: LINKS.slice(0, 1), imagesAs: 'references' }),
      video({ images: LINKS.slice(0, 1), referenceVideos: [VIDEO] }),
      video({ referenceVideos: [VIDEO, VIDEO] }),
      video({ referenceAudios: ['https://example.com/1.mp3'] }),
      video({ durationSeconds: 4 }),
      video({ resolution: '4k' }),
    ],
    missingJob: 'v1/get_result?id=nowhere',
    other: () => ({ adapter: bfl, baseUrl: vendor.baseUrl }),
    refusedProbe: 403,
  });
});
