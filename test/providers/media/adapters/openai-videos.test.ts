import { expect } from 'chai';
import OpenAI, { APIError, toFile } from 'openai';
import { openaiVideos } from '../../../../providers/media/adapters/openai-videos.ts';
import { findJobs, submit, testUpstream, usingVendor, videoRequest, LINKS } from '../../../support/media.ts';
import { readMp4 } from '../../../support/mp4.ts';
import { rejectionOf } from '../../../support/rejection.ts';
import { itFollowsTheRules, useSimulatedVendor } from '../../../support/simulated-vendor.ts';

const signal = new AbortController().signal;

describe('the wire format of OpenAI’s videos', () => {
  const { upstream, vendor } = useSimulatedVendor('openai-videos', { apiKey: 'relay-key' }, (settings) =>
    testUpstream({ adapter: openaiVideos, ...settings }),
  );

  it('is implemented by the simulator as the client of OpenAI expects', async () => {
    const client = new OpenAI({ apiKey: 'relay-key', baseURL: `${vendor.baseUrl}/v1`, maxRetries: 0 });
    const created = await client.videos.create({
      model: 'sora-2',
      prompt: 'A lighthouse',
      seconds: '4',
      size: '1280x720',
      input_reference: await toFile(Buffer.from('PNG'), 'a.png', { type: 'image/png' }),
    });
    const done = await client.videos.retrieve(created.id);
    expect(done).to.include({ object: 'video', status: 'completed', model: 'sora-2', seconds: '4', size: '1280x720' });
    const content = await client.videos.downloadContent(created.id);
    expect(readMp4(Buffer.from(await content.arrayBuffer())).codedSize).to.deep.equal([1280, 720]);
    const listed: string[] = [];
    for await (const { id } of client.videos.list({ limit: 1 })) listed.push(id);
    expect(listed).to.include(created.id);
    expect(await client.videos.delete(created.id)).to.include({ deleted: true });
    const refused = await rejectionOf(client.videos.create({ prompt: '[sim:reject=content_policy_violation]' }));
    expect(refused).to.be.instanceOf(APIError).with.property('code', 'moderation_blocked');
    const unknown = await rejectionOf(client.post('/videos', { body: { prompt: 'x', colour: 'red' } }));
    expect(unknown).to.be.instanceOf(APIError).with.property('status', 400);
  });

  it('finds a video by the sent request, among those created since', async () => {
    const request = videoRequest({ prompt: 'Found again [sim:drop_submit]' });
    await rejectionOf(submit(upstream, request));
    const found = await findJobs(upstream, request);
    expect(found).to.have.length(1);
    expect(await findJobs(upstream, { ...request, durationSeconds: 7 })).to.deep.equal([]);
    const since = new Date(Date.now() + 60_000);
    expect(await upstream.find({ request, fingerprint: '', since }, signal)).to.deep.equal([]);
  });

  it('cannot find a video where the gateway lists nothing, or lists videos without the sent request', async () => {
    for (const [status, body] of [
      [404, { error: {} }],
      [200, { data: [{ id: 'video_1', created_at: 1, object: 'video' }] }],
    ] as const) {
      const found = usingVendor(openaiVideos, body, (other) => findJobs(other, videoRequest()), { status });
      expect(await found).to.equal(null);
    }
  });

  const MODERATED = { code: 'moderation_blocked', message: 'Moderation stopped the video.' };
  for (const [document, expected] of [
    [{ id: 'video_1', status: 'succeeded' }, { state: 'succeeded' }],
    [{ id: 'video_1', status: 'SUCCESS' }, { state: 'succeeded' }],
    [
      { code: 'success', message: '', data: { task_id: 'video_1', status: 'SUCCESS', progress: '100%' } },
      { state: 'succeeded' },
    ],
    [{ status: 'success', data: { id: 'video_1', status: 'processing', progress: '40%' } }, { progressPercent: 40 }],
    [
      { code: 'success', data: { task_id: 'v', status: 'IN_PROGRESS', data: { id: 'v', status: 'completed' } } },
      { state: 'running', detail: 'IN_PROGRESS' },
    ],
    [
      { id: 'video_1', status: 'FAILED' },
      { state: 'failed', code: 'processing_failed' },
    ],
    [
      { id: 'video_1', status: 'cancelled' },
      { state: 'failed', code: 'processing_failed' },
    ],
    [
      { id: 'video_1', status: 'expired' },
      { state: 'failed', code: 'processing_timeout' },
    ],
    [
      { data: { task_id: 'v', status: 'FAILURE', fail_reason: 'Stopped by the safety system' } },
      {
        state: 'failed',
        code: 'content_policy_violation',
        message: 'Stopped by the safety system. Change the prompt or the inputs.',
      },
    ],
    [{ id: 'video_1', status: 'completed', error: null }, { state: 'succeeded' }],
    [{ id: 'video_1', status: 'completed', error: { code: null, message: '' } }, { state: 'succeeded' }],
    [
      { id: 'video_1', status: 'completed', error: MODERATED },
      {
        state: 'failed',
        code: 'content_policy_violation',
        message: `${MODERATED.message} Change the prompt or the inputs.`,
      },
    ],
    [
      { id: 'video_1', status: 'completed', error: { code: 'out_of_memory' } },
      { state: 'failed', code: 'processing_failed' },
    ],
  ] as const) {
    it(`is read in the words of relays: ${JSON.stringify(document)}`, async () => {
      const state = await usingVendor(openaiVideos, document, (other) => other.status('video_1', signal));
      expect(state).to.include(expected);
      expect(state).to.not.have.property('unknownWord');
    });
  }

  it('is refused with 200 only by a clear code and without an id', async () => {
    const answeredWith = (body: object) =>
      rejectionOf(usingVendor(openaiVideos, body, (other) => submit(other, videoRequest())));
    const error = { code: 'insufficient_quota', message: 'x' };
    expect(await answeredWith({ error })).to.include({ isRouteExcluded: true });
    expect(await answeredWith({ id: null, error: MODERATED })).to.include({ code: 'content_policy_violation' });
    for (const body of [{ error: { message: 'x' } }, { error: { code: 'server_error' } }, { data: { id: 7 }, error }]) {
      expect(await answeredWith(body)).to.have.property('name', 'OutcomeUnknownError');
    }
    expect(
      await usingVendor(openaiVideos, { id: 'video_1', error }, (other) => submit(other, videoRequest())),
    ).to.equal('video_1');
  });

  it('has its id at the top or in an envelope', async () => {
    for (const answer of [
      { id: 'video_1' },
      { task_id: 'video_1' },
      { code: 'success', data: { task_id: 'video_1' } },
      { status: 'success', data: { id: 'video_1' } },
    ]) {
      expect(await usingVendor(openaiVideos, answer, (other) => submit(other, videoRequest()))).to.equal('video_1');
    }
  });

  itFollowsTheRules(upstream, videoRequest, {
    rendered: ['1080p', { codedSize: [1080, 1920], durationSeconds: 2 }],
    refused: [
      videoRequest({ images: LINKS.slice(0, 2) }),
      videoRequest({ referenceVideos: LINKS }),
      videoRequest({ referenceAudios: LINKS }),
    ],
    missingJob: 'video_nowhere',
    other: () => ({ adapter: openaiVideos, baseUrl: vendor.baseUrl }),
    refusedProbe: 401,
    isStoppable: true,
  });
});
