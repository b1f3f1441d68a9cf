import { expect } from 'chai';
import type { JobState } from '../../../../providers/media/adapter.ts';
import { MEDIA_APIS } from '../../../../providers/media/protocols.ts';
import { NotTakenError, OutcomeUnknownError, ProviderUnreachableError } from '../../../../providers/media/outcomes.ts';
import { imageRequest, submit, filesIn, usingVendor, videoRequest } from '../../../support/media.ts';
import { rejectionOf } from '../../../support/rejection.ts';

const { signal } = new AbortController();

/** For each API with jobs: a job, its answer with a word for the state, and the words of a job that waits or runs. */
const APIS: Readonly<Record<string, readonly [string, (word: unknown) => object, readonly string[]]>> = {
  'http-jobs': ['job_1', (status) => ({ id: 'job_1', status }), ['queued', 'running']],
  ark: ['job_1', (status) => ({ status }), ['queued', 'running']],
  google: ['v1_1', (status) => ({ id: 'v1_1', status }), ['queued', 'in_progress']],
  fal: ['fal-ai/flux|job_1', (status) => ({ status }), ['IN_QUEUE', 'IN_PROGRESS']],
  kling: ['text2video|job_1', (word) => ({ code: 0, data: { task_status: word } }), ['submitted', 'processing']],
  'kling-standard': [
    'tasks|job_1',
    (status) => ({ code: 0, data: [{ id: 'job_1', status }] }),
    ['submitted', 'processing'],
  ],
  minimax: ['job_1', (status) => ({ task: { status } }), ['queued', 'running']],
  'openai-videos': ['job_1', (status) => ({ id: 'job_1', status }), ['queued', 'in_progress', 'NOT_START', 'RUNNING']],
  replicate: ['job_1', (status) => ({ status }), ['starting', 'processing']],
  xai: ['job_1', (status) => ({ status }), ['pending']],
  dashscope: ['job_1', (word) => ({ output: { task_status: word } }), ['PENDING', 'RUNNING', 'SUSPENDED']],
  bfl: ['v1/get_result?id=job_1', (status) => ({ id: 'job_1', status }), ['Pending', 'Queued']],
};

/** Operations have a name and no word for their state. */
const WITHOUT_WORDS = ['vertex'];

describe('the state of a job at a vendor', () => {
  for (const [name, , adapter] of MEDIA_APIS) {
    if (!adapter.status || WITHOUT_WORDS.includes(name)) continue;
    const [jobId, answerOf, words] = APIS[name] ?? [];

    it(`runs without a warning for the words of ${name}, and with a warning for any other word`, async () => {
      if (!jobId || !answerOf || !words) throw new Error(`this table needs the words of ${name}`);
      const stateFor = (word: unknown): Promise<JobState> =>
        usingVendor(adapter, answerOf(word), (upstream) => upstream.status(jobId, signal));
      for (const word of words) {
        const state = await stateFor(word);
        expect(state).to.include({ state: 'running' });
        expect(state, word).to.not.have.property('unknownWord');
      }
      for (const [word, shown] of [
        ['reheating', 'reheating'],
        ['constructor', 'constructor'],
        ['x'.repeat(100), 'x'.repeat(40)],
        [7, '7'],
        [undefined, 'none'],
        [null, 'none'],
      ] as const) {
        const state = await stateFor(word);
        expect(state).to.include({ state: 'running', unknownWord: shown });
      }
    });
  }

  for (const [api, jobId, answer, waitMs] of [
    ['kling', 'text2video|job_1', { code: 1302, message: 'too fast' }, 1_000],
    ['kling', 'images|job_1', { code: 1303, message: 'too many' }, 1_000],
    ['kling-standard', 'tasks|job_1', { code: 1302, message: 'too fast' }, 1_000],
    ['kling', 'text2video|job_1', { code: 5001, message: 'maintenance' }, undefined],
    ['minimax', 'job_1', { base_resp: { status_code: 1002, status_msg: 'rate limit' } }, undefined],
  ] as const) {
    it(`is not read from an error of ${api} under status 200 (${JSON.stringify(answer)}), and its wait is kept`, async () => {
      const adapter = MEDIA_APIS.find(([name]) => name === api)?.[2];
      if (!adapter) throw new Error(`${api} has an adapter`);
      for (const [headers, expected] of [
        [{}, waitMs],
        [{ 'retry-after': '7' }, 7_000],
      ] as const) {
        const error = await usingVendor(
          adapter,
          (_request, response) => response.writeHead(200, headers).end(JSON.stringify(answer)),
          (upstream) => rejectionOf(upstream.status(jobId, signal)),
        );
        expect(error).to.be.instanceOf(ProviderUnreachableError).with.property('retryAfterMs', expected);
      }
    });
  }
});

describe('a submission', () => {
  const OVERLOADED = { message: 'The engine is currently overloaded, please try again later', type: 'server_error' };
  for (const [api, status, answer, isTaken] of [
    ['openai-images', 503, { error: OVERLOADED }, false],
    ['openai-images', 429, { error: { ...OVERLOADED, code: 'server_error' } }, false],
    ['openai-images', 500, { error: OVERLOADED }, true],
    ['openai-videos', 503, { error: OVERLOADED }, false],
    ['kling', 503, { code: 5001, message: 'maintenance' }, false],
    ['kling', 500, { code: 5000, message: 'internal' }, true],
    ['ark', 503, { error: { code: 'InternalServiceError', message: 'internal' } }, false],
    ['minimax', 503, { error: { message: 'internal (1000)' } }, false],
  ] as const) {
    it(`${isTaken ? 'may have been taken' : 'was not taken'} when ${api} answers ${status} with ${JSON.stringify(answer)}`, async () => {
      const adapter = MEDIA_APIS.find(([name]) => name === api)?.[2];
      if (!adapter) throw new Error(`${api} has an adapter`);
      const error = await usingVendor(
        adapter,
        answer,
        (upstream) =>
          rejectionOf(
            upstream.traitsOf('video')
              ? submit(upstream, videoRequest({ durationSeconds: 5 }))
              : filesIn(upstream, imageRequest()),
          ),
        { status },
      );
      expect(error).to.be.instanceOf(isTaken ? OutcomeUnknownError : NotTakenError);
      if (!isTaken) expect(error).to.include({ isRouteExcluded: false });
    });
  }
});
