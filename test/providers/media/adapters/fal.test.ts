import type { RequestListener } from 'node:http';
import { createFalClient, ValidationError } from '@fal-ai/client';
import { expect } from 'chai';
import { fal } from '../../../../providers/media/adapters/fal.ts';
import { addressMac, InvalidCallbackError } from '../../../../providers/media/callbacks.ts';
import { fingerprintOf } from '../../../../providers/media/json.ts';
import { ProviderUnreachableError } from '../../../../providers/media/outcomes.ts';
import {
  endOf,
  imageRequest,
  findJobs,
  submit,
  testUpstream,
  usingVendor,
  videoRequest,
} from '../../../support/media.ts';
import { readMp4 } from '../../../support/mp4.ts';
import { serveLocally } from '../../../../lab/stack/local-server.ts';
import { rejectionOf } from '../../../support/rejection.ts';
import {
  announcementFrom,
  itFollowsTheRules,
  resultOf,
  useSimulatedVendor,
} from '../../../support/simulated-vendor.ts';

const signal = new AbortController().signal;
const LINKS = ['https://example.com/1.png', 'https://example.com/2.png'];
const CREDENTIAL = { apiKey: 'id:secret' };

describe('fal’s queue', () => {
  const { upstream, vendor } = useSimulatedVendor('fal', CREDENTIAL, ({ baseUrl, ...settings }) => {
    const addresses = { keysUrl: `${baseUrl}/jwks.json`, addresses: { requests: baseUrl } };
    return testUpstream({ adapter: fal, baseUrl, ...addresses, ...settings });
  });

  const video = (overrides: Parameters<typeof videoRequest>[0] = {}) =>
    videoRequest({
      model: 'fal-ai/veo3.1',
      durationSeconds: 4,
      fields: { duration: { to: 'duration', as: 'seconds' } },
      ...overrides,
    });

  it('the simulator behaves as fal’s own client expects', async () => {
    const client = createFalClient({
      credentials: 'id:secret',
      fetch: (address, init) => {
        const { href } = new URL(address instanceof Request ? address.url : address);
        return fetch(href.replace('https://queue.fal.run', vendor.baseUrl), init);
      },
    });
    const model = 'fal-ai/veo3.1/image-to-video';
    const input = { prompt: 'A lighthouse', image_url: 'https://example.com/1.png', duration: '4s' as const };
    const { request_id: requestId, ...queued } = await client.queue.submit(model, { input });
    expect(queued.status).to.equal('IN_QUEUE');
    expect((await client.queue.status(model, { requestId })).status).to.equal('COMPLETED');
    const { data } = await client.queue.result(model, { requestId });
    expect(data.video).to.include({ content_type: 'video/mp4' });
    const refused = await rejectionOf(client.queue.submit(model, { input: { ...input, prompt: '' } }));
    expect(refused).to.be.instanceOf(ValidationError);
    if (refused instanceof ValidationError) expect(refused.getFieldErrors('prompt')).to.have.length(1);
  });

  it('renders the requested video', async () => {
    const jobId = await submit(upstream, video({ resolution: '1080p', aspectRatio: '9:16' }));
    expect(jobId).to.match(/^fal-ai\/veo3\.1\|/);
    const facts = readMp4(await resultOf(upstream, await endOf(upstream, jobId)));
    expect([facts.codedSize, facts.durationSeconds]).to.deep.equal([[1080, 1920], 4]);
  });

  it('names its jobs without the path after the app, so that they are found', async () => {
    const model = 'fal-ai/flux-2/edit';
    const fields = { image: null, images: { to: 'image_urls' } };
    const jobId = await submit(upstream, imageRequest({ model, fields, images: LINKS }));
    expect(jobId).to.match(/^fal-ai\/flux-2\|/);
    expect(await endOf(upstream, jobId)).to.include({ state: 'succeeded' });
  });

  for (const [what, request, body] of [
    [
      'a video, by the usual names',
      videoRequest({ images: LINKS.slice(0, 1) }),
      {
        prompt: 'A lighthouse at dusk',
        image_url: LINKS[0],
        duration: 2,
        aspect_ratio: '16:9',
        resolution: '720p',
      },
    ],
    [
      'an image, by the usual names',
      imageRequest(),
      {
        prompt: 'A lighthouse, isolated',
        image_size: { width: 1024, height: 640 },
      },
    ],
    [
      'what the route names',
      videoRequest({
        images: LINKS,
        imagesAs: 'first_and_last_frame',
        fields: {
          image: { to: 'start_image_url' },
          last_image: { to: 'tail_image_url' },
          duration: { to: 'duration', as: 'string' },
          resolution: null,
          size: { to: 'size' },
        },
        params: { generate_audio: false },
      }),
      {
        prompt: 'A lighthouse at dusk',
        start_image_url: LINKS[0],
        tail_image_url: LINKS[1],
        duration: '2',
        aspect_ratio: '16:9',
        size: '1280x720',
        generate_audio: false,
      },
    ],
    [
      'an image by its ratio, and from links in lists',
      imageRequest({
        width: 1200,
        height: 800,
        images: LINKS.slice(0, 1),
        fields: { image: { to: 'image_urls', as: 'list' }, size: null, aspect_ratio: { to: 'aspect_ratio' } },
      }),
      { prompt: 'A lighthouse, isolated', image_urls: LINKS.slice(0, 1), aspect_ratio: '3:2' },
    ],
  ] as const) {
    it(`receives a request for ${what}`, () => {
      expect(upstream.prepare(request).body).to.deep.equal({ json: body });
    });
  }

  it('receives in headers to use no other model, the time to wait, and how long a task needs its files', () => {
    const headers = upstream.prepare(video({ deadlineAt: new Date(Date.now() + 600_000) })).headers ?? {};
    expect(headers).to.include({ 'x-app-fal-disable-fallback': 'true', 'x-app-fal-disable-fallbacks': 'true' });
    expect(Number(headers['x-fal-request-timeout'])).to.be.within(590, 601);
    const lifecycle: unknown = JSON.parse(headers['x-fal-object-lifecycle-preference'] ?? '');
    const seconds = Number(headers['x-fal-request-timeout']) + 3 * 3_600;
    expect(lifecycle).to.deep.equal({ expiration_duration_seconds: seconds });
  });

  it('finds a request by its content, and never takes its absence from a list as proof', async () => {
    const request = video({ prompt: '[sim:drop_submit] Found again' });
    await rejectionOf(submit(upstream, request));
    const found = await findJobs(upstream, request);
    expect(found).to.have.length(1);
    expect(await endOf(upstream, found?.[0] ?? '')).to.include({ state: 'succeeded' });
    const fingerprint = 'of something else';
    const since = new Date(Date.now() - 60_000);
    expect(await rejectionOf(upstream.find({ request, fingerprint, since }, signal))).to.be.instanceOf(
      ProviderUnreachableError,
    );
    expect(await upstream.find({ request, fingerprint, since: new Date(0) }, signal)).to.equal(null);
  });

  it('reads every page of the list, and requests the version once', async () => {
    const asked: string[] = [];
    const server = await serveLocally(({ url }, response) => {
      asked.push(url ?? '');
      const next_cursor = asked.length === 1 ? 'next' : null;
      response.end(JSON.stringify({ items: [{ request_id: `r${asked.length}`, json_input: { a: 1 } }], next_cursor }));
    });
    const other = testUpstream({ adapter: fal, baseUrl: vendor.baseUrl, addresses: { requests: `${server.url}/v1` } });
    const sent = { request: video(), fingerprint: fingerprintOf({ a: 1 }), since: new Date(0) };
    expect(await other.find(sent, signal)).to.deep.equal(['fal-ai/veo3.1|r1', 'fal-ai/veo3.1|r2']);
    expect(asked[0]).to.match(/^\/v1\/models\/requests\/by-endpoint\?endpoint_id=fal-ai%2Fveo3\.1&/);
    expect(asked[1]).to.contain('cursor=next');
    await other.close();
    await server.close();
  });

  for (const code of ['content_policy_violation', 'bad_request', 'processing_failed']) {
    it(`fails as ${code}, although it has completed`, async () => {
      expect(await endOf(upstream, await submit(upstream, video({ prompt: `[sim:fail=${code}]` })))).to.include({
        state: 'failed',
        code,
      });
    });
  }

  for (const [what, status, body, expected] of [
    [
      'a picture that was blacked out',
      200,
      { images: [{ url: LINKS[0] }], has_nsfw_concepts: [true] },
      'content_policy_violation',
    ],
    ['a start that came too late', 504, { detail: 'Timed out', error_type: 'request_timeout' }, 'processing_timeout'],
    [
      'an input that cannot be read',
      422,
      { detail: [{ loc: ['body'], msg: 'No', type: 'image_load_error' }] },
      'bad_request',
    ],
    ['a request that is not done', 400, { detail: 'Request is still in progress' }, 'running'],
    ['a gateway’s own error', 502, { detail: 'Bad gateway' }, 'unreachable'],
    ['a refused key', 401, { detail: 'Unauthorized' }, 'unreachable'],
  ] as const) {
    it(`reads the response of ${what} as ${expected}`, async () => {
      const answer: RequestListener = ({ url }, response) => {
        const isStatus = url?.endsWith('/status') ?? false;
        response.writeHead(isStatus ? 200 : status).end(JSON.stringify(isStatus ? { status: 'COMPLETED' } : body));
      };
      const state = await usingVendor(fal, answer, (other) =>
        other.status('fal-ai/x|1', signal).catch((error: unknown) => error),
      );
      if (expected === 'unreachable') expect(state).to.be.instanceOf(ProviderUnreachableError);
      else
        expect(state).to.include(expected === 'running' ? { state: 'running' } : { state: 'failed', code: expected });
    });
  }

  it('fails as its status says, where the infrastructure answers in the place of the model', async () => {
    const endings = [
      ['runner_disconnected', 'processing_failed'],
      ['startup_timeout', 'processing_timeout'],
      ['invented', 'unreachable'],
    ] as const;
    for (const [error_type, expected] of endings) {
      const completed = { status: 'COMPLETED', error: 'No runner', error_type };
      const answer: RequestListener = ({ url }, response) => {
        if (url?.endsWith('/status')) response.end(JSON.stringify(completed));
        else response.writeHead(503).end('<html>');
      };
      const state = await usingVendor(fal, answer, (other) =>
        other.status('fal-ai/x|1', signal).catch((error: unknown) => error),
      );
      if (expected === 'unreachable') expect(state).to.be.instanceOf(ProviderUnreachableError);
      else expect(state).to.include({ state: 'failed', code: expected, detail: 'No runner' });
    }
  });

  it('announces the end with a signature of its published keys, and names the job', async () => {
    const mac = addressMac('id:secret', 'task_1');
    const { jobId, headers, rawBody, searchParams } = await announcementFrom(upstream, (origin) =>
      video({ callbackUrl: `${origin}/v1/provider-callbacks/fal/task_1?mac=${mac}` }),
    );
    const read = (changes: object) => upstream.readCallback({ headers, rawBody, ...changes }, 'task_1', searchParams);
    expect(await read({})).to.deep.equal({ jobId });
    const [nameless, open] = [new URLSearchParams({ mac }), new URLSearchParams({ app: 'fal-ai/veo3.1' })];
    expect(await upstream.readCallback({ headers, rawBody }, 'task_1', nameless)).to.deep.equal({ jobId: null });
    expect(await rejectionOf(upstream.readCallback({ headers, rawBody }, 'task_1', open))).to.be.instanceOf(
      InvalidCallbackError,
    );
    for (const changes of [
      { rawBody: Buffer.from('{}') },
      { headers: { ...headers, 'x-fal-webhook-user-id': 'another' } },
      { headers: { ...headers, 'x-fal-webhook-timestamp': '1' } },
      { headers: { ...headers, 'x-fal-webhook-signature': 'zz' } },
      { headers: {} },
    ]) {
      expect(await rejectionOf(read(changes))).to.be.instanceOf(InvalidCallbackError);
    }
  });

  itFollowsTheRules(upstream, video, {
    refused: [
      video({ images: LINKS }),
      video({ referenceVideos: LINKS }),
      video({ referenceAudios: LINKS }),
      // No ratio expresses this shape.
      imageRequest({ width: 1024, height: 640, fields: { size: null, aspect_ratio: { to: 'aspect_ratio' } } }),
    ],
    missingJob: 'fal-ai/veo3.1|nowhere',
    other: () => ({ adapter: fal, baseUrl: vendor.baseUrl }),
    isStoppable: true,
  });
});
