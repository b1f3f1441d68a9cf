import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { httpJobs } from '../../../../providers/media/adapters/http-jobs.ts';
import {
  type Announcement,
  type CallbackRequest,
  InvalidCallbackError,
} from '../../../../providers/media/callbacks.ts';
import { createSimulator } from '../../../../simulator/simulator.ts';
import { eventually } from '../../../support/eventually.ts';
import { submit, testUpstream, videoRequest } from '../../../support/media.ts';
import { serveLocally } from '../../../../lab/stack/local-server.ts';

const SECRET = 'example-callback-secret';
const SENT_AT_SECONDS = 1_767_225_600;

function signed(body: string, timestamp: string = String(SENT_AT_SECONDS), secret: string = SECRET): CallbackRequest {
  const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  return {
    headers: { 'x-job-timestamp': timestamp, 'x-job-signature': signature },
    rawBody: Buffer.from(body),
  };
}

/** Verifies the callback this long after it was sent. */
function verify(callback: CallbackRequest, ageSeconds = 0): Announcement | Promise<Announcement> | undefined {
  const nowMs = (SENT_AT_SECONDS + ageSeconds) * 1000;
  return httpJobs.callbacks?.read(callback, {
    secret: SECRET,
    keys: { some: async () => false },
    query: new URLSearchParams(),
    nowMs,
  });
}

describe('callbacks of the HTTP job protocol', () => {
  const body = JSON.stringify({ id: 'job_1', key: 'task_1', status: 'succeeded' });

  it('name the job and the task when they are signed and fresh', () => {
    expect(verify(signed(body), 299)).to.deep.equal({ jobId: 'job_1', taskId: 'task_1' });
  });

  it('are accepted as in the example of the documentation', async () => {
    const text = await readFile('docs/provider-protocol.md', 'utf8');
    const [, timestamp, signature, example] =
      /X-Job-Timestamp: (\d+)\nX-Job-Signature: (\w+)\n\n(.+)\n/.exec(text) ?? [];
    const headers = { 'x-job-timestamp': timestamp, 'x-job-signature': signature };
    const callback = { headers, rawBody: Buffer.from(example ?? '') };
    expect(verify(callback)).to.have.property('jobId', 'job_7d1f');
  });

  it('are refused with another secret', () => {
    expect(() => verify(signed(body, undefined, 'guessed'))).to.throw(InvalidCallbackError, 'signature');
  });

  it('are refused with a body that was changed by a single byte', () => {
    const { headers } = signed(body);
    expect(() => verify({ headers, rawBody: Buffer.from(`${body} `) })).to.throw(InvalidCallbackError, 'signature');
  });

  it('are refused with a changed timestamp', () => {
    const { headers, rawBody } = signed(body);
    const moved = { ...headers, 'x-job-timestamp': String(SENT_AT_SECONDS + 1) };
    expect(() => verify({ headers: moved, rawBody })).to.throw(InvalidCallbackError, 'signature');
  });

  it('are refused when more than five minutes old or early', () => {
    for (const age of [301, -301]) expect(() => verify(signed(body), age)).to.throw(InvalidCallbackError, 'timestamp');
  });

  it('are refused with a timestamp that is not a number, even when it is signed', () => {
    expect(() => verify(signed(body, 'soon'))).to.throw(InvalidCallbackError, 'timestamp');
  });

  it('are refused without headers or with a signature that is not hexadecimal', () => {
    const { headers, rawBody } = signed(body);
    for (const changed of [{}, { 'x-job-timestamp': '1' }, { ...headers, 'x-job-signature': 'zz' }]) {
      expect(() => verify({ headers: changed, rawBody })).to.throw(InvalidCallbackError);
    }
  });

  it('are refused with a signed body that names no job', () => {
    for (const text of ['', 'null', '[]', '{"id":1,"key":"task_1"}', '{"id":"job_1"}']) {
      expect(() => verify(signed(text))).to.throw(InvalidCallbackError);
    }
  });

  it('are sent by the simulator when a job ends, and can be verified', async () => {
    const received: CallbackRequest[] = [];
    const receiver = await serveLocally((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        received.push({ headers: request.headers, rawBody: Buffer.concat(chunks) });
        response.writeHead(received.length === 1 ? 500 : 204).end();
      });
    });
    const simulator = createSimulator({ callbackSecret: SECRET, renderMs: 1 });
    const baseUrl = await simulator.listen(0, '127.0.0.1');
    const provider = testUpstream({ baseUrl, callbackSecret: SECRET });
    const request = videoRequest({ callbackUrl: receiver.url });
    const jobId = await submit(provider, request);

    const second = await eventually(() => received[1]);
    expect(await provider.readCallback(second, request.taskId, new URLSearchParams())).to.deep.equal({
      jobId,
      taskId: request.taskId,
    });
    await provider.close();
    await simulator.close();
    await receiver.close();
  });
});
