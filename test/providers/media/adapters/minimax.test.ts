import { expect } from 'chai';
import { minimax } from '../../../../providers/media/adapters/minimax.ts';
import { OutcomeUnknownError, ProviderUnreachableError } from '../../../../providers/media/outcomes.ts';
import { submit, testUpstream, usingVendor, videoRequest, LINKS } from '../../../support/media.ts';
import { rejectionOf } from '../../../support/rejection.ts';
import { itFollowsTheRules, itListsTasks, useSimulatedVendor } from '../../../support/simulated-vendor.ts';

const signal = new AbortController().signal;

describe('MiniMax', () => {
  const { upstream, vendor } = useSimulatedVendor('minimax', { apiKey: 'minimax-key' }, ({ baseUrl, ...settings }) =>
    testUpstream({ adapter: minimax, baseUrl: `${baseUrl}/v2`, ...settings }),
  );

  const video = (overrides: Parameters<typeof videoRequest>[0] = {}) =>
    videoRequest({ durationSeconds: 5, resolution: '768p', ...overrides });

  for (const [what, inputs, roles, ratio] of [
    ['text', {}, [], '16:9'],
    ['a first frame, whose shape it has', { images: LINKS.slice(0, 1) }, ['first_frame'], undefined],
    [
      'a first and a last frame',
      { images: LINKS.slice(0, 2), imagesAs: 'first_and_last_frame' },
      ['first_frame', 'last_frame'],
      undefined,
    ],
    [
      'references of every kind',
      {
        images: LINKS.slice(0, 1),
        referenceVideos: ['https://example.com/1.mp4'],
        referenceAudios: ['https://example.com/1.mp3'],
      },
      ['reference_image', 'reference_video', 'reference_audio'],
      '16:9',
    ],
  ] as const) {
    it(`receives a request for a video from ${what}`, async () => {
      const request = video(inputs);
      const { body } = upstream.prepare(request);
      if (!body || !('json' in body)) throw new Error('the body is not JSON');
      const sent: { content: { role?: string }[]; ratio?: string } = JSON.parse(JSON.stringify(body.json));
      expect(sent.content.slice(1).map(({ role }) => role)).to.deep.equal(roles);
      expect(sent.ratio).to.equal(ratio);
      await submit(upstream, request);
    });
  }

  it('receives requests in the vendor’s resolutions', () => {
    const sizes = ['480p', '720p', '768p', '1440p'].map((resolution) => upstream.prepare(video({ resolution })).body);
    expect(sizes.map((body) => JSON.parse(JSON.stringify(body)).json.resolution)).to.deep.equal([
      '480P',
      '768P',
      '768P',
      '2K',
    ]);
  });

  itListsTasks(upstream, video, { model: 'MiniMax-listed', count: 25 });

  for (const [what, list] of [
    [
      'a list in another order',
      {
        items: [
          { id: '1', created_at: 1 },
          { id: '2', created_at: 2 },
        ],
      },
    ],
    ['a list without times', { items: [{ id: '1' }, { id: '2' }] }],
    ['no list', { total: 0 }],
  ] as const) {
    it(`gives no conclusion from ${what}`, async () => {
      const sent = { request: video(), fingerprint: '', since: new Date() };
      const error = await usingVendor(minimax, list, (other) => rejectionOf(other.find(sent, signal)));
      expect(error).to.be.instanceOf(ProviderUnreachableError);
    });
  }

  for (const [code, outcome] of [
    [1002, { isRouteExcluded: false }],
    [1004, { isRouteExcluded: true }],
    [1008, { isRouteExcluded: true }],
    [1026, { code: 'content_policy_violation' }],
    [2013, { code: 'bad_request' }],
  ] as const) {
    it(`reads the code ${code} of an answer that has the status 200`, async () => {
      const answer = { base_resp: { status_code: code, status_msg: 'no' } };
      expect(await usingVendor(minimax, answer, (other) => rejectionOf(submit(other, video())))).to.include(outcome);
    });
  }

  it('has an empty answer and an unknown code read as an unknown outcome', async () => {
    for (const answer of [{}, { base_resp: { status_code: 1000 } }]) {
      const error = await usingVendor(minimax, answer, (other) => rejectionOf(submit(other, video())));
      expect(error).to.be.instanceOf(OutcomeUnknownError);
    }
  });

  itFollowsTheRules(upstream, video, {
    rendered: ['1440p', { codedSize: [1440, 2560], durationSeconds: 5, cost: { amount: '5', unit: 'seconds' } }],
    refused: [
      video({ resolution: '1080p' }),
      video({ images: LINKS.slice(0, 2) }),
      video({ images: LINKS, imagesAs: 'first_and_last_frame' }),
    ],
    missingJob: 'nowhere',
    other: () => ({ adapter: minimax, baseUrl: vendor.baseUrl }),
    refusedProbe: 401,
    keepsEnded: true,
  });
});
