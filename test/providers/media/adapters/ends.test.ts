import { expect } from 'chai';
import type { VendorCost } from '../../../../domain/media-route.ts';
import { endIn } from '../../../../providers/media/json.ts';
import { MEDIA_PROTOCOLS, type MediaProtocol } from '../../../../providers/media/protocols.ts';
import { OutcomeUnknownError } from '../../../../providers/media/outcomes.ts';
import { filesIn, imageRequest, usingVendor } from '../../../support/media.ts';
import { rejectionOf } from '../../../support/rejection.ts';

const ENDED_AT = new Date('2026-11-22T12:00:00Z');
const SECONDS = ENDED_AT.getTime() / 1000;

/**
 * The answers of vendors with jobs about a finished job without a file, and the fields of its end. The files of
 * `openai-videos` have an address that follows from the job.
 */
const ENDED: readonly (readonly [MediaProtocol, jobId: string, document: object, endedAt?: Date])[] = [
  ['http-jobs', 'job_1', { id: 'job_1', status: 'succeeded', results: [], ended_at: ENDED_AT.toISOString() }, ENDED_AT],
  ['ark', 'job_1', { status: 'succeeded', content: {}, updated_at: SECONDS }, ENDED_AT],
  ['fal', 'fal-ai/flux|job_1', { status: 'COMPLETED', images: [] }],
  ['google', 'v1_1', { status: 'completed', updated: ENDED_AT.toISOString() }, ENDED_AT],
  [
    'kling',
    'text2video|job_1',
    { code: 0, data: { task_status: 'succeed', task_result: {}, updated_at: SECONDS * 1000 } },
    ENDED_AT,
  ],
  ['minimax', 'job_1', { task: { status: 'succeeded', content: {}, updated_at: SECONDS } }, ENDED_AT],
  ['bfl', 'v1/get_result?id=job_1', { status: 'Ready', result: {} }],
  ['dashscope', 'job_1', { output: { task_status: 'SUCCEEDED' } }],
  ['vertex', 'projects/p/locations/l/publishers/google/models/veo/operations/job_1', { done: true, response: {} }],
  ['xai', 'job_1', { status: 'done', video: { url: '' } }],
  ['replicate', 'job_1', { status: 'succeeded', output: null, completed_at: '2026-11-22T12:00:00.000000Z' }, ENDED_AT],
];

/** The answers of vendors that render at once, without an image, and the cost in them. */
const WITHOUT_IMAGE: readonly (readonly [MediaProtocol, document: object, cost?: VendorCost])[] = [
  ['openai-images', { data: [], usage: { output_tokens: 7 } }, { amount: '7', unit: 'output_tokens' }],
  ['openai-images', { data: [{ b64_json: null, url: null }] }],
  ['ark', { data: [], usage: { output_tokens: 7 } }, { amount: '7', unit: 'tokens' }],
  ['ark', { data: [{ size: '1024x1024' }] }],
  ['google', { candidates: [], usageMetadata: { totalTokenCount: 7 } }],
];

describe('a render that is returned in the answer', () => {
  for (const [protocol, document, cost] of WITHOUT_IMAGE) {
    it(`has no file, and its cost, where ${protocol} answers ${JSON.stringify(document)}`, async () => {
      const accepted = await usingVendor(MEDIA_PROTOCOLS[protocol], document, (upstream) =>
        filesIn(upstream, imageRequest({ height: 1024 })),
      );
      expect(accepted).to.deep.equal({ files: [], ...(cost && { cost }) });
    });
  }

  for (const protocol of ['openai-images', 'ark', 'google'] as const) {
    it(`is unknown where ${protocol} answers with success and no readable content`, async () => {
      const submitted = usingVendor(MEDIA_PROTOCOLS[protocol], {}, (upstream) =>
        filesIn(upstream, imageRequest({ height: 1024 })),
      );
      expect(await rejectionOf(submitted)).to.be.instanceOf(OutcomeUnknownError);
    });
  }
});

describe('a finished job of a vendor', () => {
  for (const [protocol, jobId, document, endedAt] of ENDED) {
    it(`is a success without files when ${protocol} names none, and has the vendor's time of its end`, async () => {
      // contract 3:8
      const { signal } = new AbortController();
      const state = await usingVendor(MEDIA_PROTOCOLS[protocol], document, (upstream) =>
        upstream.status(jobId, signal),
      );
      expect(state).to.deep.equal({ state: 'succeeded', results: [], ...(endedAt && { endedAt }) });
    });
  }

  it('has an end in seconds, in milliseconds or in words, and none from invalid text', () => {
    for (const time of [SECONDS, SECONDS * 1000, ENDED_AT.toISOString()]) {
      expect(endIn(time)).to.deep.equal({ endedAt: ENDED_AT });
    }
    for (const time of [undefined, null, '', 'soon', -1, 0, Number.NaN, Infinity, 1e300, {}]) {
      expect(endIn(time)).to.deep.equal({});
    }
  });
});
