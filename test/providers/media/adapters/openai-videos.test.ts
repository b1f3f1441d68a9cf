import { expect } from 'chai';
import OpenAI, { APIError, toFile } from 'openai';
import { openaiVideos } from '../../../../providers/media/adapters/openai-videos.ts';
import { JobRefusedError, NotTakenError } from '../../../../providers/media/outcomes.ts';
import type { MediaUpstream } from '../../../../providers/media/upstream.ts';
import { lookUp, submit, testUpstream, videoRequest } from '../../../support/media.ts';
import { startReceiver } from '../../../support/receiver.ts';
import { readMp4 } from '../../../support/mp4.ts';
import { rejectionOf } from '../../../support/rejection.ts';
import { renderVideo, useSimulatedVendor } from '../../../support/simulated-vendor.ts';

const signal = new AbortController().signal;

describe('the wire format of OpenAI’s videos', () => {
  let baseUrl: string;
  let upstream: MediaUpstream;

  useSimulatedVendor('openai-videos', { apiKey: 'relay-key' }, (address) => {
    baseUrl = address;
    upstream = testUpstream({ adapter: openaiVideos, baseUrl, credential: { apiKey: 'relay-key' } });
    return upstream;
  });

  it('is spoken by the simulator as the client of OpenAI expects it', async () => {
    const client = new OpenAI({ apiKey: 'relay-key', baseURL: `${baseUrl}/v1`, maxRetries: 0 });
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

  it('renders the requested video', async () => {
    const request = videoRequest({ resolution: '1080p', aspectRatio: '9:16', durationSeconds: 3 });
    expect(await renderVideo(upstream, request)).to.deep.include({ codedSize: [1080, 1920], durationSeconds: 3 });
  });

  it('is found again by what was sent, among those that were made since', async () => {
    const request = videoRequest({ prompt: 'Found again [sim:drop_submit]' });
    await rejectionOf(submit(upstream, request));
    const found = await lookUp(upstream, request);
    expect(found).to.have.length(1);
    expect(await lookUp(upstream, { ...request, durationSeconds: 7 })).to.deep.equal([]);
    const since = new Date(Date.now() + 60_000);
    expect(await upstream.find({ request, fingerprint: '', since }, signal)).to.deep.equal([]);
  });

  it('cannot be found again where the gateway lists nothing, or lists videos without what was sent', async () => {
    for (const [status, body] of [
      [404, '{"error": {}}'],
      [200, '{"data": [{"id": "video_1", "created_at": 1, "object": "video"}]}'],
    ] as const) {
      const relay = await startReceiver((_request, response) => response.writeHead(status).end(body));
      const other = testUpstream({ adapter: openaiVideos, baseUrl: `${relay.url}/v1` });
      expect(await lookUp(other, videoRequest())).to.equal(null);
      await other.close();
      await relay.close();
    }
  });

  it('refuses what it has no field for', () => {
    const links = ['https://example.com/1.png', 'https://example.com/2.png'];
    for (const inputs of [{ images: links }, { referenceVideos: links }, { referenceAudios: links }]) {
      expect(() => upstream.prepare(videoRequest(inputs))).to.throw(JobRefusedError);
    }
  });

  it('hides from the client that the operator’s account has no money', async () => {
    const error = await rejectionOf(submit(upstream, videoRequest({ prompt: '[sim:broke]' })));
    expect(error).to.be.instanceOf(NotTakenError).with.property('leavesRoute', true);
  });

  it('stops a render, and reports a missing one as unknown', async () => {
    const jobId = await submit(upstream, videoRequest({ prompt: '[sim:stuck]' }));
    await upstream.cancel(jobId, signal);
    expect(await upstream.status(jobId, signal)).to.include({ state: 'failed' });
    await upstream.cancel('video_nowhere', signal);
    expect(await upstream.status('video_nowhere', signal)).to.deep.equal({ state: 'unknown' });
  });
});
