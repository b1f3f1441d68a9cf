import { expect } from 'chai';
import { kling } from '../../../../providers/media/adapters/kling.ts';
import { JobRefusedError, NotTakenError } from '../../../../providers/media/outcomes.ts';
import {
  endOf,
  imageRequest,
  sizeOf,
  submit,
  testUpstream,
  usingVendor,
  videoRequest,
  LINKS,
} from '../../../support/media.ts';
import { rejectionOf } from '../../../support/rejection.ts';
import {
  itFollowsTheRules,
  itTakesEachIdOnce,
  resultOf,
  useSimulatedVendor,
} from '../../../support/simulated-vendor.ts';

describe('Kling’s API', () => {
  let count = 0;

  const { upstream, vendor } = useSimulatedVendor('kling', { apiKey: 'secret' }, (settings) =>
    testUpstream({ adapter: kling, ...settings, credential: { accessKey: 'access', secretKey: 'secret' } }),
  );

  /** The vendor accepts each of our ids once. */
  const video = (overrides: Parameters<typeof videoRequest>[0] = {}) =>
    videoRequest({ taskId: `task_${(count += 1)}`, durationSeconds: 5, ...overrides });

  it('accepts a signed token of an access key and a secret key, a plain key, and no other', async () => {
    await submit(upstream, video());
    for (const [credential, isTaken] of [
      [{ apiKey: 'secret' }, true],
      [{ apiKey: 'wrong' }, false],
      [{ accessKey: 'access', secretKey: 'wrong' }, false],
    ] as const) {
      const other = testUpstream({ adapter: kling, baseUrl: vendor.baseUrl, credential });
      const outcome = await submit(other, video()).catch((error: unknown) => error);
      if (isTaken) expect(outcome).to.be.a('string');
      else expect(outcome).to.be.instanceOf(NotTakenError).with.property('isRouteExcluded', true);
      await other.close();
    }
  });

  it('renders images', async () => {
    const request = imageRequest({ taskId: 'task_of_an_image', width: 1280, height: 720 });
    expect(upstream.prepare(request).body).to.deep.include({
      json: {
        model_name: request.model,
        prompt: request.prompt,
        n: 1,
        resolution: '1k',
        aspect_ratio: '16:9',
        external_task_id: request.taskId,
      },
    });
    expect(await endOf(upstream, await submit(upstream, request))).to.include({ state: 'succeeded' });
  });

  it('renders images in the sold size', async () => {
    for (const [width, height, size] of [
      [1024, 1024, [1024, 1024]],
      [2048, 2048, [2048, 2048]],
    ] as const) {
      const state = await endOf(upstream, await submit(upstream, imageRequest({ width, height })));
      expect(await sizeOf(await resultOf(upstream, state))).to.deep.equal(size);
    }
  });

  for (const [what, overrides, path, fields] of [
    ['text', {}, 'v1/videos/text2video', { aspect_ratio: '16:9', mode: 'std' }],
    ['a first frame', { images: LINKS.slice(0, 1) }, 'v1/videos/image2video', { image: LINKS[0] }],
    [
      'a first and a last frame',
      { images: LINKS.slice(0, 2), imagesAs: 'first_and_last_frame' },
      'v1/videos/image2video',
      { image: LINKS[0], image_tail: LINKS[1] },
    ],
    [
      'references',
      { images: LINKS, imagesAs: 'references' },
      'v1/videos/multi-image2video',
      { image_list: LINKS.map((image) => ({ image })), aspect_ratio: '16:9' },
    ],
  ] as const) {
    it(`receives a request for a video from ${what}`, async () => {
      const request = video({ aspectRatio: '16:9', resolution: '720p', ...overrides });
      const call = upstream.prepare(request);
      expect(call.path).to.equal(path);
      expect(call.body)
        .to.have.property('json')
        .that.deep.includes({ ...fields, external_task_id: request.taskId });
      await submit(upstream, request);
    });
  }

  itTakesEachIdOnce(upstream, video);

  it('refuses by its code under HTTP 200 as well', async () => {
    const answer = { code: 1301, message: 'sensitive' };
    const error = await usingVendor(kling, answer, (other) => rejectionOf(submit(other, video())));
    expect(error).to.be.instanceOf(JobRefusedError).with.property('code', 'content_policy_violation');
  });

  itFollowsTheRules(upstream, video, {
    rendered: ['1080p', { codedSize: [1080, 1920], durationSeconds: 5, cost: { amount: '3.5', unit: 'units' } }],
    refused: [
      video({ images: LINKS.slice(0, 2) }),
      video({ images: LINKS, imagesAs: 'first_and_last_frame' }),
      video({ referenceVideos: LINKS }),
      video({ referenceAudios: LINKS }),
      video({ resolution: '480p' }),
      video({ aspectRatio: '21:9' }),
      video({ durationSeconds: 16 }),
      imageRequest({ width: 3840, height: 2160 }),
      imageRequest({ width: 1536, height: 512 }),
      imageRequest({ width: 1024, height: 1024, background: 'transparent' }),
    ],
    missingJob: 'text2video|nowhere',
    other: () => ({ adapter: kling, baseUrl: vendor.baseUrl }),
  });
});
