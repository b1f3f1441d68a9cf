import { expect } from 'chai';
import { kling } from '../../../../providers/media/adapters/kling.ts';
import { JobRefusedError, NotTakenError, OutcomeUnknownError } from '../../../../providers/media/outcomes.ts';
import type { MediaUpstream } from '../../../../providers/media/upstream.ts';
import { createSimulator, type Simulator } from '../../../../lab/simulator/simulator.ts';
import { endOf, imageRequest, lookUp, sizeOf, submit, testUpstream, videoRequest } from '../../../support/media.ts';
import { readMp4 } from '../../../support/mp4.ts';
import { startReceiver } from '../../../support/receiver.ts';
import { rejectionOf } from '../../../support/rejection.ts';

const signal = new AbortController().signal;
const LINKS = ['https://example.com/1.png', 'https://example.com/2.png', 'https://example.com/3.png'];

describe('Kling’s API', () => {
  let simulator: Simulator;
  let baseUrl: string;
  let upstream: MediaUpstream;
  let count = 0;

  before(async () => {
    simulator = createSimulator({ apiKey: 'secret', renderMs: 0 });
    baseUrl = `${await simulator.listen(0, '127.0.0.1')}/vendors/kling`;
    const credential = { accessKey: 'access', secretKey: 'secret' };
    const { origin } = new URL(baseUrl.replace('127.0.0.1', 'localhost'));
    upstream = testUpstream({ adapter: kling, baseUrl, credential, resultOrigins: [origin] });
  });

  after(async () => {
    await upstream.close();
    await simulator.close();
  });

  /** The vendor takes each id of ours once. */
  const video = (overrides: Parameters<typeof videoRequest>[0] = {}) =>
    videoRequest({ taskId: `task_${(count += 1)}`, durationSeconds: 5, ...overrides });

  it('takes a signed token of an access key and a secret key, a plain key, and no other', async () => {
    await submit(upstream, video());
    for (const [credential, isTaken] of [
      [{ apiKey: 'secret' }, true],
      [{ apiKey: 'wrong' }, false],
      [{ accessKey: 'access', secretKey: 'wrong' }, false],
    ] as const) {
      const other = testUpstream({ adapter: kling, baseUrl, credential });
      const outcome = await submit(other, video()).catch((error: unknown) => error);
      if (isTaken) expect(outcome).to.be.a('string');
      else expect(outcome).to.be.instanceOf(NotTakenError).with.property('leavesRoute', true);
      await other.close();
    }
  });

  it('renders the requested video, and reports its cost', async () => {
    const state = await endOf(upstream, await submit(upstream, video({ resolution: '1080p', aspectRatio: '9:16' })));
    if (state.state !== 'succeeded' || !state.results[0]) throw new Error(`no result: ${JSON.stringify(state)}`);
    expect(state.cost).to.deep.equal({ amount: '3.5', unit: 'units' });
    const { body } = await upstream.fetchResult(state.results[0], signal);
    const facts = readMp4(Buffer.from(await new Response(body).arrayBuffer()));
    expect([facts.codedSize, facts.durationSeconds]).to.deep.equal([[1080, 1920], 5]);
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

  it('renders images in the size that was sold', async () => {
    for (const [width, height, size] of [
      [1024, 1024, [1024, 1024]],
      [2048, 2048, [2048, 2048]],
    ] as const) {
      const state = await endOf(upstream, await submit(upstream, imageRequest({ width, height })));
      if (state.state !== 'succeeded' || !state.results[0]) throw new Error(`no result: ${JSON.stringify(state)}`);
      const { body } = await upstream.fetchResult(state.results[0], signal);
      expect(await sizeOf(new Uint8Array(await new Response(body).arrayBuffer()))).to.deep.equal(size);
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
    it(`is asked for a video from ${what}`, async () => {
      const request = video({ aspectRatio: '16:9', resolution: '720p', ...overrides });
      const call = upstream.prepare(request);
      expect(call.path).to.equal(path);
      expect(call.body)
        .to.have.property('json')
        .that.deep.includes({ ...fields, external_task_id: request.taskId });
      await submit(upstream, request);
    });
  }

  it('finds a task by our id, and none that it was not given', async () => {
    const request = video({ prompt: '[sim:drop_submit]' });
    await rejectionOf(submit(upstream, request));
    const found = await lookUp(upstream, request);
    expect(found).to.have.length(1);
    expect(await upstream.status(found?.[0] ?? '', signal)).to.not.include({ state: 'unknown' });
    expect(await lookUp(upstream, video())).to.deep.equal([]);
  });

  it('answers a second submission under our id without revealing the outcome of the first', async () => {
    const request = video();
    await submit(upstream, request);
    expect(await rejectionOf(submit(upstream, request))).to.be.instanceOf(OutcomeUnknownError);
  });

  for (const [directive, outcome] of [
    ['reject=content_policy_violation', { code: 'content_policy_violation' }],
    ['reject=bad_request', { code: 'bad_request' }],
    ['broke', { leavesRoute: true }],
    ['limited=1', { leavesRoute: false, retryAfterMs: 1_000 }],
  ] as const) {
    it(`says by its code what is wrong: ${directive}`, async () => {
      expect(await rejectionOf(submit(upstream, video({ prompt: `[sim:${directive}]` })))).to.include(outcome);
    });
  }

  it('refuses by its code under HTTP 200 as well', async () => {
    const server = await startReceiver((_request, response) => response.end('{"code": 1301, "message": "sensitive"}'));
    const other = testUpstream({ adapter: kling, baseUrl: server.url, credential: { apiKey: 'key' } });
    const error = await rejectionOf(submit(other, video()));
    expect(error).to.be.instanceOf(JobRefusedError).with.property('code', 'content_policy_violation');
    await other.close();
    await server.close();
  });

  it('refuses what it has no field for', () => {
    for (const inputs of [
      { images: LINKS.slice(0, 2) },
      { images: LINKS, imagesAs: 'first_and_last_frame' as const },
      { referenceVideos: LINKS },
      { referenceAudios: LINKS },
      { resolution: '480p' },
      { aspectRatio: '21:9' },
      { durationSeconds: 16 },
    ]) {
      expect(() => upstream.prepare(video(inputs)), JSON.stringify(inputs)).to.throw(JobRefusedError);
    }
    for (const inputs of [
      { width: 3840, height: 2160 },
      { width: 1536, height: 512 },
      { width: 1024, height: 1024, background: 'transparent' },
    ]) {
      expect(() => upstream.prepare(imageRequest(inputs)), JSON.stringify(inputs)).to.throw(JobRefusedError);
    }
  });

  it('distinguishes a render that moderation stopped from one that failed', async () => {
    for (const code of ['content_policy_violation', 'processing_failed']) {
      const state = await endOf(upstream, await submit(upstream, video({ prompt: `[sim:fail=${code}]` })));
      expect(state).to.include({ state: 'failed', code });
    }
  });

  it('reports a missing task as unknown', async () => {
    expect(await upstream.status('text2video|nowhere', signal)).to.deep.equal({ state: 'unknown' });
  });
});
