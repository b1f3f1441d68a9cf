import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { Agent } from 'undici';
import {
  JobRefusedError,
  NotTakenError,
  OutcomeUnknownError,
  ProviderUnreachableError,
} from '../../../../providers/media/outcomes.ts';
import type { MediaUpstream, MediaUpstreamOptions } from '../../../../providers/media/upstream.ts';
import { findJobs, submit, testUpstream, videoRequest } from '../../../support/media.ts';
import { type LocalServer, serveLocally } from '../../../../lab/stack/local-server.ts';
import { rejectionOf } from '../../../support/rejection.ts';

const signal = new AbortController().signal;

describe('the client of the HTTP job protocol, against an upstream that misbehaves', () => {
  const open: { close(): Promise<void> }[] = [];

  afterEach(async () => {
    for (const resource of open.splice(0)) await resource.close();
  });

  const upstream = async (listener: RequestListener): Promise<LocalServer> => {
    const server = await serveLocally(listener);
    open.push(server);
    return server;
  };

  const connect = (baseUrl: string, options: MediaUpstreamOptions = {}): MediaUpstream => {
    const provider = testUpstream({ baseUrl }, options);
    open.unshift(provider);
    return provider;
  };

  const answering = async (
    status: number,
    body: unknown,
    options: MediaUpstreamOptions = {},
  ): Promise<MediaUpstream> => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const server = await upstream((_request, response) => response.writeHead(status).end(text));
    return connect(server.url, options);
  };

  /** The refusal of a submission. */
  const refusal = async (status: number, body: unknown): Promise<Error> =>
    rejectionOf(submit(await answering(status, body), videoRequest()));

  /** An upstream whose results are on another origin. */
  const withForeignFiles = async (files: RequestListener): Promise<LocalServer> => {
    const store = await upstream(files);
    return upstream((_request, response) => respondSucceeded(response, `${store.url}/1.mp4?signature=abc`));
  };

  /** A client of an upstream that answers the download of its only result with this. */
  const servingFile = async (status: number): Promise<MediaUpstream> => {
    const server = await upstream((request, response) => {
      if (request.url === '/v1/jobs/job_1') respondSucceeded(response, '/file');
      else response.writeHead(status, { location: '/elsewhere' }).end('no file');
    });
    return connect(server.url);
  };

  describe('gives no verdict when the upstream', () => {
    for (const status of [301, 408, 425, 429, 500, 502, 503, 504]) {
      it(`answers ${status}`, async () => {
        const provider = await answering(status, { error: { code: 'bad_request', message: 'no' } });
        const isNotTaken = status === 429 || status === 503;
        expect(await rejectionOf(submit(provider, videoRequest()))).to.be.instanceOf(
          isNotTaken ? NotTakenError : OutcomeUnknownError,
        );
        for (const call of [
          () => findJobs(provider, videoRequest({ taskId: 'task_1' })),
          () => provider.status('job_1', signal),
          () => provider.cancel('job_1', signal),
        ]) {
          expect(await rejectionOf(call())).to.be.instanceOf(ProviderUnreachableError);
        }
      });
    }

    for (const [what, body] of [
      ['an empty body', ''],
      ['something that is not JSON', '<html>'],
      ['a list', []],
      ['no id', { status: 'queued' }],
      ['another job', { id: 'job_2', status: 'succeeded', results: [{ url: '/files/2.mp4' }] }],
      ['an id that is a path', { id: '../admin', data: [{ id: '../admin', key: 'task_1' }] }],
      ['the job of another key', { id: 'job_2', data: [{ id: 'job_2', key: 'task_2' }] }],
      ['an id that is a number', { id: 7, data: [{ id: 7, key: 'task_1' }] }],
    ] as const) {
      it(`answers 200 with ${what}`, async () => {
        const provider = await answering(200, body);
        expect(await rejectionOf(provider.status('job_1', signal))).to.be.instanceOf(ProviderUnreachableError);
        expect(await rejectionOf(findJobs(provider, videoRequest({ taskId: 'task_1' })))).to.be.instanceOf(
          ProviderUnreachableError,
        );
      });
    }

    it('accepts a submission without naming its job', async () => {
      const request = videoRequest();
      for (const named of [{}, { id: 'job_1' }, { key: request.taskId }, { id: 'job_1', key: 'task_2' }]) {
        const provider = await answering(201, { ...named, status: 'queued' });
        expect(await rejectionOf(submit(provider, request))).to.be.instanceOf(ProviderUnreachableError);
      }
    });

    it('never stops answering', async () => {
      const server = await upstream((_request, response) => endless(response));
      const provider = connect(server.url, { timings: { maxResponseBytes: 10_000 } });
      const error = await rejectionOf(provider.status('job_1', signal));
      expect(error).to.be.instanceOf(ProviderUnreachableError);
      expect(error.message).to.contain('10000 bytes');
    });

    it('answers 404 in words other than the protocol’s', async () => {
      const provider = await answering(404, '<h1>No such site</h1>');
      expect(await rejectionOf(provider.status('job_1', signal))).to.be.instanceOf(ProviderUnreachableError);
    });
  });

  describe('a refusal', () => {
    for (const status of [400, 413, 415, 422, 424]) {
      it(`with ${status} and without a code of the protocol counts as bad_request`, async () => {
        for (const body of ['<html>', '', { error: 'no' }, { error: { code: 'invalid_aspect_ratio' } }]) {
          const error = await refusal(status, body);
          expect(error).to.be.instanceOf(JobRefusedError).with.property('code', 'bad_request');
        }
      });
    }

    it('with another status and without a code of the protocol counts as processing_failed', async () => {
      for (const status of [405, 409, 410]) {
        const error = await refusal(status, { error: { code: 'internal_error' } });
        expect(error).to.be.instanceOf(JobRefusedError).with.property('code', 'processing_failed');
      }
    });

    it('for the operator’s balance or an unknown address says nothing about the job', async () => {
      for (const status of [402, 404]) {
        const error = await refusal(status, { error: { code: 'no_such_model' } });
        expect(error).to.be.instanceOf(NotTakenError).with.property('isRouteExcluded', true);
      }
    });

    it('for the operator’s credential says nothing about the job, whatever its body', async () => {
      for (const status of [401, 403]) {
        const error = await refusal(status, { error: { code: 'bad_request', message: 'key sk-123 expired' } });
        expect(error).to.be.instanceOf(NotTakenError).with.property('isRouteExcluded', true);
        expect(error.message).not.to.contain('sk-123');
      }
    });

    it('shows the upstream’s message where the client can act on them, and with what to check', async () => {
      const error = await refusal(422, { error: { code: 'bad_request', message: 'The second image is a GIF.' } });
      expect(error.message).to.match(/^The second image is a GIF\. Check the prompt/);
    });

    it('shows the upstream’s message nowhere else', async () => {
      const error = await refusal(422, { error: { code: 'processing_failed', message: 'gpu-17.internal is on fire' } });
      expect(error.message).not.to.contain('gpu-17');
    });

    it('has a message that is short, on one line and free of control characters', async () => {
      const message = `a\r\nb\u0000c\u202Ed\u2028e${'x'.repeat(10_000)}`;
      const error = await refusal(422, { error: { code: 'bad_request', message } });
      expect(error.message).to.match(/^a b c d ex+…?\. Check the prompt/);
      expect(error.message.length).to.be.at.most(500);
    });
  });

  it('reports no file of a job whose list has one that could not be fetched', async () => {
    for (const results of [undefined, [], [{}], [{ url: 'http://' }], [{ url: 'file:///etc/passwd' }], 'none']) {
      const provider = await answering(200, { id: 'job_1', status: 'succeeded', results });
      const state = await provider.status('job_1', signal);
      expect(state).to.deep.equal({ state: 'succeeded', results: [] });
    }
  });

  it('ignores invalid progress', async () => {
    for (const progress of [-1, 101, '50', null]) {
      const provider = await answering(200, { id: 'job_1', status: 'running', progress_percent: progress });
      expect(await provider.status('job_1', signal)).to.include({ state: 'running', progressPercent: null });
    }
  });

  it('throws the caller’s own reason when the caller gives up', async () => {
    const server = await upstream(() => undefined);
    const caller = new AbortController();
    const pending = connect(server.url).status('job_1', caller.signal);
    caller.abort(new Error('the task was cancelled'));
    expect((await rejectionOf(pending)).message).to.equal('the task was cancelled');
  });

  describe('resolves links', () => {
    for (const [link, expected] of [
      ['v1/jobs/job_1/results/0', '/studio/v1/jobs/job_1/results/0'],
      ['/files/1.mp4', '/files/1.mp4'],
    ] as const) {
      it(`fetches ${link} under the base with the credential`, async () => {
        const seen: (string | undefined)[][] = [];
        const server = await upstream((request, response) => {
          if (request.url === '/studio/v1/jobs/job_1') respondSucceeded(response, link);
          else {
            seen.push([request.url, request.headers.authorization]);
            response.end('file');
          }
        });
        const provider = connect(`${server.url}/studio`);
        expect(await downloadFirst(provider)).to.equal('file');
        expect(seen).to.deep.equal([[expected, 'Bearer studio-key']]);
      });
    }

    it('fetches from another origin through the guarded dispatcher, without the credential', async () => {
      const seen: IncomingMessage[] = [];
      const server = await withForeignFiles((request, response) => {
        seen.push(request);
        response.end('file');
      });
      const externalDispatcher = new Agent();
      open.push(externalDispatcher);
      expect(await downloadFirst(connect(server.url, { externalDispatcher }))).to.equal('file');
      expect(seen.map(({ url }) => url)).to.deep.equal(['/1.mp4?signature=abc']);
      expect(seen[0]?.headers).not.to.have.property('authorization');
    });

    it('fetches nothing from another origin without a guarded dispatcher', async () => {
      let requests = 0;
      const server = await withForeignFiles((_request, response) => {
        requests += 1;
        response.end('file');
      });
      const error = await rejectionOf(downloadFirst(connect(server.url)));
      expect(error).to.have.property('code', 'result_transfer_failed');
      expect(requests).to.equal(0);
    });

    for (const status of [302, 401, 403, 404, 410]) {
      it(`treats ${status} as a file that does not exist`, async () => {
        const error = await rejectionOf(downloadFirst(await servingFile(status)));
        expect(error).to.be.instanceOf(JobRefusedError).with.property('code', 'result_transfer_failed');
      });
    }

    for (const status of [429, 500, 503]) {
      it(`treats ${status} as a file that may exist later`, async () => {
        expect(await rejectionOf(downloadFirst(await servingFile(status)))).to.be.instanceOf(ProviderUnreachableError);
      });
    }
  });

  it('reads only as much as its consumer, however large the file', async () => {
    let sent = 0;
    const server = await upstream((_request, response) => {
      endless(response, (bytes) => (sent += bytes));
    });
    const provider = connect(server.url);
    const { body } = await provider.fetchResult({ url: `${server.url}/file`, mimeType: null }, signal);
    const reader = body.getReader();
    await reader.read();
    await new Promise((resolve) => {
      setTimeout(resolve, 100);
    });
    expect(sent).to.be.below(64 * 2 ** 20);
    await reader.cancel();
  });

  it('ends a stalled download', async () => {
    const server = await upstream((_request, response) => response.writeHead(200).write('begin'));
    const provider = connect(server.url, { timings: { downloadIdleTimeoutMs: 20 } });
    const { body } = await provider.fetchResult({ url: `${server.url}/file`, mimeType: null }, signal);
    const reader = body.getReader();
    await reader.read();
    expect(await rejectionOf(reader.read())).to.be.instanceOf(ProviderUnreachableError);
  });
});

function respondSucceeded(response: ServerResponse, link: string): void {
  response.end(JSON.stringify({ id: 'job_1', status: 'succeeded', results: [{ url: link, mime_type: 'video/mp4' }] }));
}

async function downloadFirst(provider: MediaUpstream): Promise<string> {
  const state = await provider.status('job_1', signal);
  const result = state.state === 'succeeded' ? state.results[0] : undefined;
  if (!result) throw new Error('the job has no result');
  const { body } = await provider.fetchResult(result, signal);
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Writes as fast as the other side reads, until it closes. */
function endless(response: ServerResponse, onSent: (bytes: number) => void = () => undefined): void {
  const piece = Buffer.alloc(64 * 1024, ' ');
  const writeMore = (): void => {
    while (!response.destroyed && response.write(piece)) onSent(piece.length);
  };
  response.on('drain', writeMore);
  writeMore();
}
