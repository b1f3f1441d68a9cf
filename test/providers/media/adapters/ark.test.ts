import { expect } from 'chai';
import { ark } from '../../../../providers/media/adapters/ark.ts';
import { JobRefusedError } from '../../../../providers/media/outcomes.ts';
import type { MediaUpstream } from '../../../../providers/media/upstream.ts';
import { createSimulator, type Simulator } from '../../../../lab/simulator/simulator.ts';
import { endOf, filesIn, imageRequest, submit, testUpstream, videoRequest } from '../../../support/media.ts';
import { readMp4 } from '../../../support/mp4.ts';
import { startReceiver } from '../../../support/receiver.ts';
import { rejectionOf } from '../../../support/rejection.ts';

const signal = new AbortController().signal;
const LINKS = ['https://example.com/1.png', 'https://example.com/2.png', 'https://example.com/3.png'];

describe('Ark', () => {
  let simulator: Simulator;
  let baseUrl: string;
  let upstream: MediaUpstream;

  before(async () => {
    simulator = createSimulator({ apiKey: 'ark-key', renderMs: 0 });
    baseUrl = `${await simulator.listen(0, '127.0.0.1')}/vendors/ark`;
    const { origin } = new URL(baseUrl.replace('127.0.0.1', 'localhost'));
    const credential = { apiKey: 'ark-key' };
    upstream = testUpstream({ adapter: ark, baseUrl: `${baseUrl}/api/v3`, credential, resultOrigins: [origin] });
  });

  after(async () => {
    await upstream.close();
    await simulator.close();
  });

  const video = (overrides: Parameters<typeof videoRequest>[0] = {}) =>
    videoRequest({ durationSeconds: 5, ...overrides });
  const image = (overrides: Parameters<typeof imageRequest>[0] = {}) =>
    imageRequest({ width: 2048, height: 2048, ...overrides });

  it('renders the requested video, and reports its tokens', async () => {
    const state = await endOf(upstream, await submit(upstream, video({ resolution: '1080p', aspectRatio: '9:16' })));
    if (state.state !== 'succeeded' || !state.results[0]) throw new Error(`no result: ${JSON.stringify(state)}`);
    expect(state.cost).to.deep.equal({ amount: '50638', unit: 'tokens' });
    const { body } = await upstream.fetchResult(state.results[0], signal);
    const facts = readMp4(Buffer.from(await new Response(body).arrayBuffer()));
    expect([facts.codedSize, facts.durationSeconds]).to.deep.equal([[1080, 1920], 5]);
  });

  it('answers an image with its file', async () => {
    const request = image({ prompt: 'A lighthouse [sim:files=1]' });
    const accepted = await filesIn(upstream, request);
    expect(accepted.files).to.have.length(1);
    expect(accepted.cost).to.deep.equal({ amount: '50638', unit: 'tokens' });
  });

  it('gets the same body for the same task, so that a submission can be repeated', () => {
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
    it(`is asked for a video from ${what}`, async () => {
      const request = video(inputs);
      const { body } = upstream.prepare(request);
      if (!body || !('json' in body)) throw new Error('the body is not JSON');
      expect(body.json).to.have.property('content').that.is.an('array');
      const sent: { content: { role?: string }[] } = JSON.parse(JSON.stringify(body.json));
      expect(sent.content.slice(1).map(({ role }) => role)).to.deep.equal(roles);
      await submit(upstream, request);
    });
  }

  it('lists the tasks of the model that were made since, whatever they are about', async () => {
    const request = video({ model: 'seedance-listed', prompt: '[sim:drop_submit]' });
    await rejectionOf(submit(upstream, request));
    const since = new Date(Date.now() - 30_000);
    const found = await upstream.find({ request, fingerprint: '', since }, signal);
    expect(found).to.have.length(1);
    expect(await upstream.status(found?.[0] ?? '', signal)).to.not.include({ state: 'unknown' });
    const other = { ...request, model: 'another' };
    expect(await upstream.find({ request: other, fingerprint: '', since }, signal)).to.deep.equal([]);
    const later = new Date(Date.now() + 60_000);
    expect(await upstream.find({ request, fingerprint: '', since: later }, signal)).to.deep.equal([]);
  });

  for (const [directive, outcome] of [
    ['reject=content_policy_violation', { code: 'content_policy_violation' }],
    ['reject=bad_request', { code: 'bad_request' }],
    ['broke', { leavesRoute: true }],
    ['limited=1', { leavesRoute: false, retryAfterMs: 1_000 }],
  ] as const) {
    it(`says by its code what is wrong: ${directive}`, async () => {
      for (const request of [video, image]) {
        const prompt = `${request === video ? 'A video' : 'An image'} [sim:${directive}]`;
        expect(await rejectionOf(submit(upstream, request({ prompt })))).to.include(outcome);
      }
    });
  }

  it('treats an empty answer as no verdict, and an image that failed as failed', async () => {
    const failed = { data: [{ error: { code: 'InternalServiceError', message: 'x' } }] };
    for (const [request, body, expected] of [
      [video(), {}, { name: 'OutcomeUnknownError' }],
      [image(), failed, { name: 'JobRefusedError', code: 'processing_failed' }],
    ] as const) {
      const server = await startReceiver((_request, response) => response.end(JSON.stringify(body)));
      const other = testUpstream({ adapter: ark, baseUrl: server.url });
      expect(await rejectionOf(submit(other, request))).to.include(expected);
      await other.close();
      await server.close();
    }
  });

  it('refuses what it has no field for', () => {
    const requests = [
      video({ images: LINKS.slice(0, 2) }),
      video({ images: LINKS, imagesAs: 'first_and_last_frame' }),
      image({ background: 'transparent' }),
    ];
    for (const request of requests) expect(() => upstream.prepare(request)).to.throw(JobRefusedError);
  });

  it('distinguishes a render that moderation stopped from one that failed', async () => {
    for (const code of ['content_policy_violation', 'processing_failed']) {
      const state = await endOf(upstream, await submit(upstream, video({ prompt: `[sim:fail=${code}]` })));
      expect(state).to.include({ state: 'failed', code });
    }
  });

  it('keeps a task that has ended when asked to stop it, and reports a missing one as unknown', async () => {
    const jobId = await submit(upstream, video());
    await endOf(upstream, jobId);
    await upstream.cancel(jobId, signal);
    expect(await upstream.status(jobId, signal)).to.include({ state: 'succeeded' });
    expect(await upstream.status('cgt-nowhere', signal)).to.deep.equal({ state: 'unknown' });
  });
});
