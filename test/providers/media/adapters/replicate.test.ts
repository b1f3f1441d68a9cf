import type { RequestListener } from 'node:http';
import { expect } from 'chai';
import Replicate, { validateWebhook } from 'replicate';
import { replicate } from '../../../../providers/media/adapters/replicate.ts';
import { InvalidCallbackError } from '../../../../providers/media/callbacks.ts';
import { fingerprintOf } from '../../../../providers/media/json.ts';
import { NotTakenError, ProviderUnreachableError } from '../../../../providers/media/outcomes.ts';
import type { MediaUpstream } from '../../../../providers/media/upstream.ts';
import {
  endOf,
  imageRequest,
  findJobs,
  submit,
  testUpstream,
  usingVendor,
  videoRequest,
  LINKS,
} from '../../../support/media.ts';
import { rejectionOf } from '../../../support/rejection.ts';
import { announcementFrom, itFollowsTheRules, useSimulatedVendor } from '../../../support/simulated-vendor.ts';

const signal = new AbortController().signal;
const CREDENTIAL = { apiKey: 'r8_of-the-operator' };
const SECRET = `whsec_${Buffer.from('the secret of the account').toString('base64')}`;
const SDXL = 'stability-ai/sdxl:7762fd07cf82c948538e41f63f77d685e02b063e37e496e96eefd46c929f9bdc';

describe('Replicate’s predictions', () => {
  const { upstream, vendor } = useSimulatedVendor(
    'replicate',
    { ...CREDENTIAL, callbackSecret: SECRET },
    ({ baseUrl, ...settings }) =>
      testUpstream({ adapter: replicate, baseUrl: `${baseUrl}/v1`, callbackSecret: SECRET, ...settings }),
  );

  const video = (overrides: Parameters<typeof videoRequest>[0] = {}) =>
    videoRequest({ model: 'google/veo-3.1-fast', durationSeconds: 4, ...overrides });

  /** The state of a prediction that the vendor shows so. */
  async function stateShown(status: number, prediction: object): Promise<unknown> {
    return usingVendor(
      replicate,
      { id: 'p1', ...prediction },
      (other) => other.status('p1', signal).catch((error: unknown) => error),
      { status },
    );
  }

  it('the simulator behaves as Replicate’s own client expects', async () => {
    const client = new Replicate({ auth: CREDENTIAL.apiKey, baseUrl: `${vendor.baseUrl}/v1`, useFileOutput: false });
    const input = { prompt: 'A lighthouse', duration: 4 };
    const created = await client.predictions.create({ model: 'google/veo-3.1-fast', input });
    const ended = await client.wait(created, { interval: 10 });
    expect(ended.status).to.equal('succeeded');
    expect(ended.output).to.be.a('string');
    const listed = await client.predictions.list();
    expect(listed.results.find(({ id }) => id === created.id)?.input).to.deep.equal(input);
    const output = await client.run(SDXL, { input: { prompt: 'A lighthouse [sim:files=2]' } });
    expect(output).to.have.length(2);
    const stuck = await client.predictions.create({ model: 'google/veo-3.1-fast', input: { prompt: '[sim:stuck]' } });
    expect((await client.predictions.cancel(stuck.id)).status).to.equal('canceled');
    const refused = await rejectionOf(client.predictions.create({ model: 'google/veo-3.1-fast', input: {} }));
    expect(refused).to.have.nested.property('response.status', 422);
  });

  it('render with a version of a model, to several files', async () => {
    const request = imageRequest({ model: SDXL, prompt: '[sim:files=2]' });
    const state = await endOf(upstream, await submit(upstream, request));
    expect(state).to.have.property('state', 'succeeded');
    if (state.state === 'succeeded') expect(state.results).to.have.length(2);
  });

  for (const [what, request, body] of [
    [
      'a video, by the usual names',
      videoRequest({ images: LINKS.slice(0, 1) }),
      {
        input: {
          prompt: 'A lighthouse at dusk',
          image: LINKS[0],
          duration: 2,
          aspect_ratio: '16:9',
          resolution: '720p',
        },
      },
    ],
    [
      'an image, by the usual names',
      imageRequest(),
      { input: { prompt: 'A lighthouse, isolated', width: 1024, height: 640 } },
    ],
    [
      'what the route names, a version, and the callback',
      videoRequest({
        model: 'owner/name:abc',
        images: LINKS.slice(0, 2),
        imagesAs: 'first_and_last_frame',
        fields: {
          image: { to: 'start_image' },
          last_image: { to: 'end_image' },
          resolution: null,
          aspect_ratio: null,
          size: { to: 'size' },
        },
        params: { generate_audio: false },
        callbackUrl: 'https://gateway.example/v1/provider-callbacks/replicate/task_1',
      }),
      {
        version: 'abc',
        input: {
          prompt: 'A lighthouse at dusk',
          start_image: LINKS[0],
          end_image: LINKS[1],
          duration: 2,
          size: '1280x720',
          generate_audio: false,
        },
        webhook: 'https://gateway.example/v1/provider-callbacks/replicate/task_1',
        webhook_events_filter: ['start', 'completed'],
      },
    ],
  ] as const) {
    it(`predictions are created for ${what}`, () => {
      expect(upstream.prepare(request).body).to.deep.equal({ json: body });
    });
  }

  it('predictions are created without waiting for the output, and stopped by the vendor at the deadline', () => {
    const request = video({ deadlineAt: new Date(Date.now() + 600_000) });
    const { headers = {} } = upstream.prepare(request);
    expect(Object.keys(headers)).to.deep.equal(['cancel-after']);
    expect(Number.parseInt(headers['cancel-after'] ?? '', 10)).to.be.within(599, 602);
    expect(upstream.prepare(request).headers).to.deep.equal(headers);
  });

  it('predictions are found by the sent request', async () => {
    const request = video({ prompt: '[sim:drop_submit] Found again' });
    await rejectionOf(submit(upstream, request));
    const found = await findJobs(upstream, request);
    expect(found).to.have.length(1);
    expect(await endOf(upstream, found?.[0] ?? '')).to.include({ state: 'succeeded' });
    expect(await findJobs(upstream, video({ prompt: 'Never sent' }))).to.deep.equal([]);
  });

  describe('whose list', () => {
    const request = videoRequest({ model: 'owner/name' });
    const since = new Date(Date.now() - 100_000);
    const input = { prompt: 'A lighthouse at dusk', duration: 2, aspect_ratio: '16:9', resolution: '720p' };
    const ours = { id: 'ours', model: 'owner/name', input, created_at: new Date().toISOString() };

    /** The predictions found in a list of these pages. */
    async function findIn(...pages: readonly (readonly object[])[]): Promise<unknown> {
      const asked: string[] = [];
      const list: RequestListener = ({ url }, response) => {
        asked.push(url ?? '');
        const next = asked.length < pages.length ? `https://elsewhere.example/?cursor=page-${asked.length}` : null;
        response.end(JSON.stringify({ next, results: pages[asked.length - 1] }));
      };
      const fingerprint = fingerprintOf({ model: 'owner/name', input });
      const found = await usingVendor(replicate, list, (other) =>
        other.find({ request, fingerprint, since }, signal).catch((error: unknown) => error),
      );
      expect(asked.slice(1)).to.deep.equal(
        pages.slice(1).map((_page, index) => `/v1/predictions?cursor=page-${index + 1}`),
      );
      return found;
    }

    it('the list of predictions is read page by page, at the address that the operator configured', async () => {
      expect(await findIn([], [ours])).to.deep.equal(['ours']);
    });

    it('may name the vendor’s defaults beside the sent fields', async () => {
      expect(await findIn([{ ...ours, input: { ...input, seed: 7, negative_prompt: '' } }])).to.deep.equal(['ours']);
    });

    it('also has predictions of other models, with other fields, and earlier ones', async () => {
      const others = [
        { ...ours, model: 'owner/other' },
        { ...ours, input: { ...input, duration: 3 } },
        { ...ours, created_at: new Date(since.getTime() - 1_000).toISOString() },
      ];
      expect(await findIn(others)).to.deep.equal([]);
    });

    it('proves that a prediction does not exist only if it has later ones', async () => {
      const soonAfter = new Date(since.getTime() + 40_000).toISOString();
      const other = { ...ours, model: 'owner/other' };
      expect(await findIn([{ ...other, created_at: soonAfter }])).to.be.instanceOf(ProviderUnreachableError);
      expect(await findIn([other])).to.deep.equal([]);
    });

    it('proves nothing once the sent request has been deleted', async () => {
      for (const gone of [{ data_removed: true }, { input: null }]) {
        expect(await findIn([{ ...ours, ...gone }])).to.be.instanceOf(ProviderUnreachableError);
      }
    });
  });

  it('exclude the route when a model or version does not exist', async () => {
    for (const request of [video({ model: 'google/nothing' }), imageRequest({ model: 'stability-ai/sdxl:nothing' })]) {
      expect(await rejectionOf(submit(upstream, request)))
        .to.be.instanceOf(NotTakenError)
        .with.property('isRouteExcluded', true);
    }
  });

  it('wait the time in the message, where no header has one', async () => {
    const answer = { detail: 'Your rate limit resets in ~9s.' };
    const submitted = (other: MediaUpstream) => rejectionOf(submit(other, video()));
    expect(await usingVendor(replicate, answer, submitted, { status: 429 })).to.include({ retryAfterMs: 9_000 });
  });

  for (const code of ['content_policy_violation', 'processing_timeout', 'processing_failed'] as const) {
    it(`fail as ${code}, and are charged`, async () => {
      const state = await endOf(upstream, await submit(upstream, video({ prompt: `[sim:fail=${code}]` })));
      expect(state).to.include({ state: 'failed', code });
      expect(state).to.have.nested.property('cost.unit', 'seconds');
    });
  }

  for (const [what, prediction, expected] of [
    ['that was flagged', { status: 'failed', error: 'NSFW content detected.' }, 'content_policy_violation'],
    ['that ran out of memory', { status: 'failed', error: 'Model out of memory (E1001)' }, 'processing_failed'],
    [
      'that its deadline stopped',
      { status: 'aborted', deadline: '2026-11-22T12:00:00Z', completed_at: '2026-11-22T12:00:01Z' },
      'processing_timeout',
    ],
    [
      'that somebody stopped',
      { status: 'canceled', deadline: '2026-11-22T12:00:00Z', completed_at: '2026-11-22T11:00:00Z' },
      'processing_failed',
    ],
  ] as const) {
    it(`reads a prediction ${what} as ${expected}`, async () => {
      expect(await stateShown(200, prediction)).to.include({ state: 'failed', code: expected });
    });
  }

  for (const [what, output, results] of [
    ['a link', 'https://example.com/a.mp4', [['a.mp4', 'video/mp4']]],
    ['a link without an extension', 'https://example.com/a', [['a', null]]],
    [
      'a list',
      ['https://example.com/0.PNG', 'https://example.com/1.png?x=1.mp4'],
      [
        ['0.PNG', 'image/png'],
        ['1.png?x=1.mp4', 'image/png'],
      ],
    ],
    [
      'an object',
      { image: 'https://example.com/still.jpg', video: 'https://example.com/a.mp4', seed: 7, note: 'none', mask: null },
      [
        ['still.jpg', 'image/jpeg'],
        ['a.mp4', 'video/mp4'],
      ],
    ],
    ['an object with a list', { images: ['https://example.com/0.webp'] }, [['0.webp', 'image/webp']]],
    ['an object without links', { text: 'A lighthouse' }, []],
  ] as const) {
    it(`reads the files of ${what}`, async () => {
      const files = results.map(([name, mimeType]) => ({ url: `https://example.com/${name}`, mimeType }));
      expect(await stateShown(200, { status: 'succeeded', output })).to.deep.include({ results: files });
    });
  }

  it('predictions are not ended by output while they run, nor by an answer of the gateway', async () => {
    const processing = { status: 'processing', output: ['https://example.com/0.png'] };
    expect(await stateShown(200, processing)).to.include({ state: 'running', detail: 'processing' });
    expect(await stateShown(200, { status: 'booting' })).to.include({ state: 'running', detail: 'booting' });
    expect(await stateShown(502, {})).to.be.instanceOf(ProviderUnreachableError);
  });

  it('have their end announced with the signature of the account, as Replicate’s client checks it', async () => {
    const { jobId, headers, rawBody } = await announcementFrom(upstream, (origin) =>
      video({ callbackUrl: `${origin}/v1/provider-callbacks/replicate/task_1` }),
    );
    const delivery = {
      id: headers['webhook-id'] ?? '',
      timestamp: headers['webhook-timestamp'] ?? '',
      signature: headers['webhook-signature'] ?? '',
      body: rawBody.toString(),
      secret: SECRET,
    };
    expect(await validateWebhook(delivery)).to.equal(true);
    const read = (changes: object) =>
      upstream.readCallback({ headers, rawBody, ...changes }, 'task_1', new URLSearchParams());
    expect(await read({})).to.deep.equal({ jobId });
    const two = `v1,${Buffer.alloc(32).toString('base64')} ${headers['webhook-signature']}`;
    expect(await read({ headers: { ...headers, 'webhook-signature': two } })).to.deep.equal({ jobId });
    for (const changes of [
      { rawBody: Buffer.from('{}') },
      { headers: { ...headers, 'webhook-id': 'another' } },
      { headers: { ...headers, 'webhook-timestamp': '1' } },
      { headers: { ...headers, 'webhook-signature': (headers['webhook-signature'] ?? '').replace('v1,', 'v2,') } },
      { headers: {} },
    ]) {
      expect(await rejectionOf(read(changes))).to.be.instanceOf(InvalidCallbackError);
    }
  });

  itFollowsTheRules(upstream, video, {
    rendered: ['1080p', { codedSize: [1080, 1920], durationSeconds: 4, cost: { amount: '4.25', unit: 'seconds' } }],
    refused: [video({ images: LINKS }), video({ referenceVideos: LINKS }), video({ referenceAudios: LINKS })],
    missingJob: 'nowhere',
    other: () => ({ adapter: replicate, baseUrl: vendor.baseUrl }),
    refusedProbe: 401,
    isStoppable: true,
  });
});
