import { expect } from 'chai';
import { kling } from '../../../../providers/media/adapters/kling.ts';
import { NotTakenError } from '../../../../providers/media/outcomes.ts';
import { endOf, imageRequest, submit, testUpstream, videoRequest, LINKS } from '../../../support/media.ts';
import { rejectionOf } from '../../../support/rejection.ts';
import {
  announcementFrom,
  itFollowsTheRules,
  itTakesEachIdOnce,
  useSimulatedVendor,
} from '../../../support/simulated-vendor.ts';

const SECRET = `whsec_${Buffer.from('a secret of the account').toString('base64')}`;

describe('Kling’s standard API', () => {
  const adapter = kling.apis?.['standard'] ?? kling;

  const { upstream, vendor } = useSimulatedVendor('kling', { apiKey: 'secret', callbackSecret: SECRET }, (settings) => {
    const callbackBase = 'https://genway.example/v1/provider-callbacks';
    return testUpstream({ adapter, ...settings, callbackSecret: SECRET }, { callbackBase });
  });

  const video = (overrides: Parameters<typeof videoRequest>[0] = {}) =>
    videoRequest({ model: 'kling-2.6', durationSeconds: 5, ...overrides });

  it('renders images at the older address, which reports their status', async () => {
    const request = imageRequest({ width: 1024, height: 1024 });
    expect(upstream.prepare(request).path).to.equal('v1/images/generations');
    expect(await endOf(upstream, await submit(upstream, request))).to.include({ state: 'succeeded' });
  });

  it('reports the status of tasks that were submitted to the older API', async () => {
    const older = testUpstream({ adapter: kling, baseUrl: vendor.baseUrl, credential: { apiKey: 'secret' } });
    const [theirs, ours] = [await submit(older, video({ model: 'kling-v2-6' })), await submit(upstream, video())];
    expect(await endOf(upstream, theirs)).to.include({ state: 'succeeded' });
    expect(await endOf(older, ours)).to.include({ state: 'succeeded' });
    await older.close();
  });

  for (const [what, overrides, path, body] of [
    [
      'text',
      {},
      'text-to-video/kling-2.6',
      { prompt: 'A lighthouse at dusk', settings: { resolution: '720p', duration: 5, aspect_ratio: '16:9' } },
    ],
    [
      'a first frame, whose shape it has',
      { images: LINKS.slice(0, 1) },
      'image-to-video/kling-2.6',
      {
        contents: [
          { type: 'prompt', text: 'A lighthouse at dusk' },
          { type: 'first_frame', url: LINKS[0] },
        ],
        settings: { resolution: '720p', duration: 5 },
      },
    ],
    [
      'a first and a last frame',
      { images: LINKS.slice(0, 2), imagesAs: 'first_and_last_frame', resolution: '1080p' },
      'image-to-video/kling-2.6',
      {
        contents: [
          { type: 'prompt', text: 'A lighthouse at dusk' },
          { type: 'first_frame', url: LINKS[0] },
          { type: 'last_frame', url: LINKS[1] },
        ],
        settings: { resolution: '1080p', duration: 5 },
      },
    ],
    [
      'references of every kind',
      {
        model: 'kling-3.0-omni',
        images: LINKS.slice(0, 1),
        imagesAs: 'references',
        referenceVideos: ['https://example.com/1.mp4'],
      },
      'omni-video/kling-3.0-omni',
      {
        contents: [
          { type: 'prompt', text: 'A lighthouse at dusk' },
          { type: 'refer_image', url: LINKS[0] },
          { type: 'feature_video', url: 'https://example.com/1.mp4' },
        ],
        settings: { resolution: '720p', duration: 5, aspect_ratio: '16:9' },
      },
    ],
  ] as const) {
    it(`receives a request for a video from ${what}`, async () => {
      const request = video({ aspectRatio: '16:9', resolution: '720p', ...overrides });
      const call = upstream.prepare(request);
      expect(call.path).to.equal(path);
      const options = { external_task_id: request.taskId };
      expect(call.body).to.deep.equal({ json: { ...body, options } });
      await submit(upstream, request);
    });
  }

  itTakesEachIdOnce(upstream, video);

  it('reports a model that it does not have as the operator’s error', async () => {
    const error = await rejectionOf(submit(upstream, video({ model: 'kling-9' })));
    expect(error).to.be.instanceOf(NotTakenError).with.property('isRouteExcluded', true);
  });

  it('announces the end of a task, signed with the account’s secret', async () => {
    const request = video();
    const callback = await announcementFrom(upstream, (callbackUrl) => ({ ...request, callbackUrl }));
    const { jobId, headers } = callback;
    const body = callback.rawBody.toString();
    const read = (text: string) =>
      upstream.readCallback({ headers, rawBody: Buffer.from(text) }, request.taskId, new URLSearchParams());
    expect(await read(body)).to.deep.equal({ jobId, taskId: request.taskId });
    await rejectionOf(read(`${body} `));
  });

  it('renders 30 seconds of Kling 4.0 in 2k from five reference videos, which older models refuse', async () => {
    const references = { imagesAs: 'references', referenceVideos: [...LINKS, ...LINKS].slice(0, 5) } as const;
    const request = video({
      model: 'kling-4.0',
      durationSeconds: 30,
      resolution: '1440p',
      aspectRatio: '21:9',
      ...references,
    });
    await submit(upstream, request);
    const older = submit(upstream, video({ model: 'kling-3.0-omni', ...references }));
    expect(await rejectionOf(older)).to.have.property('code', 'bad_request');
  });

  itFollowsTheRules(upstream, video, {
    rendered: ['1080p', { codedSize: [1080, 1920], durationSeconds: 5, cost: { amount: '1.5', unit: 'units' } }],
    refused: [
      video({ images: LINKS.slice(0, 2) }),
      video({ images: LINKS, imagesAs: 'first_and_last_frame' }),
      video({ referenceVideos: LINKS }),
      video({ referenceVideos: [...LINKS, ...LINKS], imagesAs: 'references' }),
      video({ durationSeconds: 31 }),
      video({ referenceAudios: LINKS }),
      video({ resolution: '480p' }),
    ],
    missingJob: 'tasks|nowhere',
    other: () => ({ adapter, baseUrl: vendor.baseUrl }),
    refusedProbe: 401,
  });
});
