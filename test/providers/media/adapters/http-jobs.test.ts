import { expect } from 'chai';
import type { RenderRequest } from '../../../../providers/media/adapter.ts';
import type { ResultFile } from '../../../../providers/media/result-file.ts';
import {
  JobRefusedError,
  NotTakenError,
  OutcomeUnknownError,
  ProviderUnreachableError,
} from '../../../../providers/media/outcomes.ts';
import type { MediaUpstream } from '../../../../providers/media/upstream.ts';
import { createSimulator, type Simulator } from '../../../../simulator/simulator.ts';
import { endOf, imageRequest, findJobs, submit, testUpstream, videoRequest } from '../../../support/media.ts';
import { readMp4 } from '../../../support/mp4.ts';
import { rejectionOf } from '../../../support/rejection.ts';

const signal = new AbortController().signal;

describe('the client of the HTTP job protocol, against the simulator', () => {
  let simulator: Simulator;
  let baseUrl: string;
  let provider: MediaUpstream;

  before(async () => {
    simulator = createSimulator({ apiKey: 'studio-key', renderMs: 0 });
    baseUrl = await simulator.listen(0, '127.0.0.1');
    provider = testUpstream({ baseUrl });
  });

  after(async () => {
    await provider.close();
    await simulator.close();
  });

  const submitVideo = (prompt: string): Promise<string> => submit(provider, videoRequest({ prompt }));

  const resultOf = async (request: RenderRequest): Promise<ResultFile> => {
    const state = await endOf(provider, await submit(provider, request));
    if (state.state !== 'succeeded' || !state.results[0]) throw new Error(`no result: ${JSON.stringify(state)}`);
    return state.results[0];
  };

  const download = async (result: ResultFile): Promise<Buffer> => {
    const { body } = await provider.fetchResult(result, signal);
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    return Buffer.concat(chunks);
  };

  const inspect = async (path: string): Promise<Record<string, unknown>[]> => {
    const response = await fetch(`${baseUrl}/_sim/${path}`);
    const { data } = (await response.json()) as { data: Record<string, unknown>[] };
    return data;
  };

  it('renders the requested video', async () => {
    const result = await resultOf(videoRequest({ resolution: '1080p', aspectRatio: '9:16', durationSeconds: 3 }));
    const facts = readMp4(await download(result));
    expect(result.mimeType).to.equal('video/mp4');
    expect(facts.codedSize).to.deep.equal([1080, 1920]);
    expect(facts.durationSeconds).to.equal(3);
  });

  it('renders the requested image', async () => {
    const result = await resultOf(imageRequest({ width: 1280, height: 656, background: 'transparent' }));
    const file = await download(result);
    expect(result.mimeType).to.equal('image/png');
    expect([file.readUInt32BE(16), file.readUInt32BE(20)]).to.deep.equal([1280, 656]);
  });

  it('sends the whole request, the task id as the idempotency key and the credential', async () => {
    const request = videoRequest({
      images: ['https://example.com/a.png'],
      callbackUrl: 'https://gateway.example/callback',
    });
    await submit(provider, request);
    const [seen] = await inspect('requests?limit=1');
    expect(seen).to.deep.include({ method: 'POST', path: '/v1/jobs' });
    expect(seen?.['headers']).to.include({ authorization: 'Bearer studio-key', 'idempotency-key': request.taskId });
    expect(seen?.['body']).to.deep.equal({
      kind: 'video',
      model: 'studio-video',
      prompt: 'A lighthouse at dusk',
      images: ['https://example.com/a.png'],
      duration_seconds: 2,
      aspect_ratio: '16:9',
      resolution: '720p',
      callback_url: 'https://gateway.example/callback',
    });
  });

  it('finds the job of a task, and none for a task that was never submitted', async () => {
    const request = videoRequest();
    const jobId = await submit(provider, request);
    expect(await findJobs(provider, request)).to.deep.equal([jobId]);
    expect(await findJobs(provider, videoRequest())).to.deep.equal([]);
  });

  it('reports an unknown job of the upstream as unknown', async () => {
    expect(await provider.status('job_nowhere', signal)).to.deep.equal({ state: 'unknown' });
  });

  describe('directives', () => {
    it('render_ms: the job runs, and reports progress, for this time', async () => {
      const state = await provider.status(await submitVideo('[sim:render_ms=600000]'), signal);
      expect(state).to.include({ state: 'running', progressPercent: null });
    });

    it('stuck: the job never ends, and reports its progress', async () => {
      const state = await provider.status(await submitVideo('[sim:stuck]'), signal);
      expect(state.state).to.equal('running');
      expect(state).to.have.property('progressPercent').that.is.within(1, 99);
      expect(state).to.have.property('detail').that.matches(/done/);
    });

    it('fail: a code that no task can have counts as processing_failed', async () => {
      expect(await endOf(provider, await submitVideo('[sim:fail=insufficient_credits]'))).to.include({
        code: 'processing_failed',
      });
    });

    it('drop_submit: the answer is lost, but the job exists and is not created again', async () => {
      const request = videoRequest({ prompt: '[sim:drop_submit]' });
      const error = await rejectionOf(submit(provider, request));
      expect(error).to.be.instanceOf(OutcomeUnknownError);
      const found = await findJobs(provider, request);
      expect(found).to.deep.equal([await submit(provider, request)]);
      expect(await inspect(`jobs?key=${request.taskId}`)).to.have.length(1);
    });

    it('poll_errors: this many polls give no verdict, the next one does', async () => {
      const jobId = await submitVideo('[sim:poll_errors=2]');
      for (let poll = 0; poll < 2; poll++) {
        expect(await rejectionOf(provider.status(jobId, signal))).to.be.instanceOf(ProviderUnreachableError);
      }
      expect(await provider.status(jobId, signal)).to.include({ state: 'succeeded' });
    });

    it('result=truncated: the download breaks off with an error instead of ending early', async () => {
      const result = await resultOf(videoRequest({ prompt: '[sim:result=truncated]' }));
      expect(await rejectionOf(download(result))).to.be.instanceOf(ProviderUnreachableError);
    });

    it('refuses a directive with an invalid value', async () => {
      const error = await rejectionOf(submitVideo('[sim:render_ms=soon]'));
      expect(error).to.be.instanceOf(JobRefusedError).with.property('code', 'bad_request');
      expect(error.message).to.contain('render_ms');
    });
  });

  describe('cancel', () => {
    it('ends a running job', async () => {
      const request = videoRequest({ prompt: '[sim:stuck]' });
      const jobId = await submit(provider, request);
      await provider.cancel(jobId, signal);
      expect(await provider.status(jobId, signal)).to.include({ state: 'failed', code: 'processing_failed' });
      expect((await inspect(`jobs?key=${request.taskId}`))[0]).to.include({ status: 'cancelled' });
    });

    it('leaves a finished job unchanged', async () => {
      const jobId = await submitVideo('A boat');
      await endOf(provider, jobId);
      await provider.cancel(jobId, signal);
      expect(await provider.status(jobId, signal)).to.include({ state: 'succeeded' });
    });

    it('cancelling a job that the upstream does not know is no error', async () => {
      await provider.cancel('job_nowhere', signal);
      expect(await provider.status('job_nowhere', signal)).to.deep.equal({ state: 'unknown' });
    });
  });

  it('attributes a refused credential to the upstream, not to the client', async () => {
    const stranger = testUpstream({ baseUrl, credential: { apiKey: 'wrong' } });
    const error = await rejectionOf(submit(stranger, videoRequest()));
    expect(error).to.be.instanceOf(NotTakenError).with.property('isRouteExcluded', true);
    expect(await rejectionOf(stranger.status('job_1', signal))).to.be.instanceOf(ProviderUnreachableError);
    await stranger.close();
  });
});
