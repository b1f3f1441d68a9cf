import type { RequestListener } from 'node:http';
import { expect } from 'chai';
import type { VendorCost } from '../../../../domain/media-route.ts';
import { endIn } from '../../../../providers/media/json.ts';
import { MEDIA_PROTOCOLS, type MediaProtocol } from '../../../../providers/media/protocols.ts';
import { OutcomeUnknownError } from '../../../../providers/media/outcomes.ts';
import type { MediaUpstream } from '../../../../providers/media/upstream.ts';
import { filesIn, imageRequest, testUpstream } from '../../../support/media.ts';
import { type Receiver, startReceiver } from '../../../support/receiver.ts';
import { rejectionOf } from '../../../support/rejection.ts';

const ENDED_AT = new Date('2026-11-22T12:00:00Z');
const SECONDS = ENDED_AT.getTime() / 1000;

interface Ended {
  /** The name that the adapter gives the job. */
  readonly jobId: string;
  /** What the vendor answers about a job that it finished and that has no file. */
  readonly document: object;
  /** Where the vendor says when a job ended. */
  readonly endedAt: Date | undefined;
}

/** Those with jobs; the files of `openai-videos` have an address that follows from the job. */
const ENDED: Readonly<Partial<Record<MediaProtocol, Ended>>> = {
  'http-jobs': {
    jobId: 'job_1',
    document: { id: 'job_1', status: 'succeeded', results: [], ended_at: ENDED_AT.toISOString() },
    endedAt: ENDED_AT,
  },
  ark: { jobId: 'job_1', document: { status: 'succeeded', content: {}, updated_at: SECONDS }, endedAt: ENDED_AT },
  fal: { jobId: 'fal-ai/flux|job_1', document: { status: 'COMPLETED', images: [] }, endedAt: undefined },
  google: { jobId: 'operations/job_1', document: { done: true, response: {} }, endedAt: undefined },
  kling: {
    jobId: 'text2video|job_1',
    document: { code: 0, data: { task_status: 'succeed', task_result: {}, updated_at: SECONDS * 1000 } },
    endedAt: ENDED_AT,
  },
  minimax: {
    jobId: 'job_1',
    document: { task: { status: 'succeeded', content: {}, updated_at: SECONDS } },
    endedAt: ENDED_AT,
  },
  replicate: {
    jobId: 'job_1',
    document: { status: 'succeeded', output: null, completed_at: '2026-11-22T12:00:00.000000Z' },
    endedAt: ENDED_AT,
  },
};

/** What vendors answer that render at once, when there is no image, and the cost in it. */
const WITHOUT_IMAGE: readonly (readonly [MediaProtocol, document: object, cost?: VendorCost])[] = [
  ['openai-images', { data: [], usage: { output_tokens: 7 } }, { amount: '7', unit: 'output_tokens' }],
  ['openai-images', { data: [{ b64_json: null, url: null }] }],
  ['ark', { data: [], usage: { output_tokens: 7 } }, { amount: '7', unit: 'tokens' }],
  ['ark', { data: [{ size: '1024x1024' }] }],
  ['google', { candidates: [], usageMetadata: { totalTokenCount: 7 } }],
];

let vendor: Receiver;
let answer: RequestListener;

before(async () => {
  vendor = await startReceiver((request, response) => answer(request, response));
});
after(() => vendor.close());

/** @param document what the vendor answers to everything */
async function withUpstream<Result>(
  protocol: string,
  document: object,
  use: (upstream: MediaUpstream) => Promise<Result>,
): Promise<Result> {
  answer = (_request, response) => void response.end(JSON.stringify(document));
  const adapter = Object.entries(MEDIA_PROTOCOLS).find(([name]) => name === protocol)?.[1];
  if (!adapter) throw new Error(`there is no protocol ${protocol}`);
  const upstream = testUpstream({ adapter, baseUrl: vendor.url });
  try {
    return await use(upstream);
  } finally {
    await upstream.close();
  }
}

describe('a render that comes in the answer', () => {
  for (const [protocol, document, cost] of WITHOUT_IMAGE) {
    it(`has no file, and its cost, where ${protocol} answers ${JSON.stringify(document)}`, async () => {
      const accepted = await withUpstream(protocol, document, (upstream) =>
        filesIn(upstream, imageRequest({ height: 1024 })),
      );
      expect(accepted).to.deep.equal({ files: [], ...(cost && { cost }) });
    });
  }

  for (const protocol of ['openai-images', 'ark', 'google'] as const) {
    it(`is unknown where ${protocol} answers with success and nothing that can be understood`, async () => {
      const submitted = withUpstream(protocol, {}, (upstream) => filesIn(upstream, imageRequest({ height: 1024 })));
      expect(await rejectionOf(submitted)).to.be.instanceOf(OutcomeUnknownError);
    });
  }
});

describe('a job that the vendor finished', () => {
  for (const [protocol, { jobId, document, endedAt }] of Object.entries(ENDED)) {
    it(`is a success without files when ${protocol} names none, and has the vendor's time of its end`, async () => {
      const { signal } = new AbortController();
      const state = await withUpstream(protocol, document, (upstream) => upstream.status(jobId, signal));
      expect(state).to.deep.equal({ state: 'succeeded', results: [], ...(endedAt && { endedAt }) });
    });
  }

  it('ended at a time in seconds, in milliseconds or in words, and at none that is not one', () => {
    for (const time of [SECONDS, SECONDS * 1000, ENDED_AT.toISOString()]) {
      expect(endIn(time)).to.deep.equal({ endedAt: ENDED_AT });
    }
    for (const time of [undefined, null, '', 'soon', -1, 0, Number.NaN, Infinity, 1e300, {}]) {
      expect(endIn(time)).to.deep.equal({});
    }
  });
});
