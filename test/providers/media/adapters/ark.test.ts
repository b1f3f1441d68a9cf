import { expect } from 'chai';
import { ark } from '../../../../providers/media/adapters/ark.ts';
import {
  filesIn,
  imageRequest,
  submit,
  testUpstream,
  usingVendor,
  videoRequest,
  LINKS,
} from '../../../support/media.ts';
import { rejectionOf } from '../../../support/rejection.ts';
import { itFollowsTheRules, itListsTasks, useSimulatedVendor } from '../../../support/simulated-vendor.ts';

describe('Ark', () => {
  const { upstream } = useSimulatedVendor('ark', { apiKey: 'ark-key' }, ({ baseUrl, ...settings }) =>
    testUpstream({ adapter: ark, baseUrl: `${baseUrl}/api/v3`, ...settings }),
  );

  const video = (overrides: Parameters<typeof videoRequest>[0] = {}) =>
    videoRequest({ durationSeconds: 5, ...overrides });
  const image = (overrides: Parameters<typeof imageRequest>[0] = {}) =>
    imageRequest({ width: 2048, height: 2048, ...overrides });

  it('returns an image with its file', async () => {
    const request = image({ prompt: 'A lighthouse [sim:files=1]' });
    const accepted = await filesIn(upstream, request);
    expect(accepted.files).to.have.length(1);
    expect(accepted.cost).to.deep.equal({ amount: '50638', unit: 'tokens' });
  });

  it('receives the same body for the same task, so that a submission can be repeated', () => {
    const request = video();
    expect(upstream.prepare(request)).to.deep.equal(upstream.prepare(request));
  });

  for (const [what, inputs, roles] of [
    ['a first frame', { images: LINKS.slice(0, 1) }, ['first_frame']],
    [
      'a first and a last frame',
      { images: LINKS.slice(0, 2), imagesAs: 'first_and_last_frame' },
      ['first_frame', 'last_frame'],
    ],
    [
      'references of every kind',
      {
        images: LINKS.slice(0, 1),
        referenceVideos: ['https://example.com/1.mp4'],
        referenceAudios: ['https://example.com/1.mp3'],
      },
      ['reference_image', 'reference_video', 'reference_audio'],
    ],
  ] as const) {
    it(`receives a request for a video from ${what}`, async () => {
      const request = video(inputs);
      const { body } = upstream.prepare(request);
      if (!body || !('json' in body)) throw new Error('the body is not JSON');
      expect(body.json).to.have.property('content').that.is.an('array');
      const sent: { content: { role?: string }[] } = JSON.parse(JSON.stringify(body.json));
      expect(sent.content.slice(1).map(({ role }) => role)).to.deep.equal(roles);
      await submit(upstream, request);
    });
  }

  itListsTasks(upstream, video, { model: 'seedance-listed', count: 1 });

  it('has an empty answer read as no verdict, and a failed image as failed', async () => {
    const failed = { data: [{ error: { code: 'InternalServiceError', message: 'x' } }] };
    for (const [request, body, expected] of [
      [video(), {}, { name: 'OutcomeUnknownError' }],
      [image(), failed, { name: 'JobRefusedError', code: 'processing_failed' }],
    ] as const) {
      const outcome = await usingVendor(ark, body, (other) => rejectionOf(submit(other, request)));
      expect(outcome).to.include(expected);
    }
  });

  itFollowsTheRules(upstream, video, {
    rendered: ['1080p', { codedSize: [1080, 1920], durationSeconds: 5, cost: { amount: '50638', unit: 'tokens' } }],
    refused: [
      video({ images: LINKS.slice(0, 2) }),
      video({ images: LINKS, imagesAs: 'first_and_last_frame' }),
      image({ background: 'transparent' }),
    ],
    missingJob: 'cgt-nowhere',
    sendImage: (other, overrides) => submit(other, image(overrides)),
    keepsEnded: true,
  });
});
