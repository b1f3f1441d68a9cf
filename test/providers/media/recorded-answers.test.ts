import { expect } from 'chai';
import type { ResultFile } from '../../../providers/media/result-file.ts';
import type { JobState, MediaAdapter } from '../../../providers/media/adapter.ts';
import {
  JobRefusedError,
  NotTakenError,
  OutcomeUnknownError,
  ProviderUnreachableError,
} from '../../../providers/media/outcomes.ts';
import { MEDIA_PROTOCOLS } from '../../../providers/media/protocols.ts';
import type { MediaUpstream } from '../../../providers/media/upstream.ts';
import { imageRequest, findJobs, testUpstream, videoRequest } from '../../support/media.ts';
import {
  type RecordedAnswer,
  type RecordedApi,
  type RecordedOutcome,
  type Recording,
  readRecordedApis,
} from '../../support/recorded-answers.ts';
import { useLocalServer } from '../../support/receiver.ts';

const MIN_KINDS = 8;
const signal = new AbortController().signal;

for (const api of readRecordedApis()) {
  describe(`recorded answers of ${api.name}`, () => {
    let upstream: MediaUpstream;
    let answers: readonly RecordedAnswer[] = [];
    let count = 0;

    const vendor = useLocalServer((request, response) => {
      request.resume();
      const { status, headers, body } = answers[Math.min(count, answers.length - 1)] ?? { status: 500, headers: {} };
      count += 1;
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
    before(() => {
      const { url } = vendor;
      upstream = testUpstream({ adapter: adapterOf(api), baseUrl: url, addresses: { requests: url } });
    });
    after(() => upstream.close());

    it(`the recorded answers are of at least ${MIN_KINDS} kinds`, () => {
      expect(new Set(api.recordings.map(({ kind }) => kind)).size).to.be.at.least(MIN_KINDS);
    });

    for (const recording of api.recordings) {
      it(recording.title, async () => {
        ({ answers } = recording);
        count = 0;
        const { message, ...outcome } = await outcomeOf(upstream, api, recording);
        const { message: expectedMessage, ...expected } = recording.outcome;
        expect(outcome).to.deep.equal(expected);
        // Genway adds what the client can change.
        if (expectedMessage !== undefined) expect(message?.startsWith(expectedMessage), message).to.equal(true);
      });
    }
  });
}

function adapterOf({ protocol, api }: RecordedApi): MediaAdapter {
  const adapter = api === undefined ? MEDIA_PROTOCOLS[protocol] : MEDIA_PROTOCOLS[protocol].apis?.[api];
  if (adapter) return adapter;
  throw new Error(`${protocol} has no API ${api}`);
}

async function outcomeOf(
  upstream: MediaUpstream,
  { job }: RecordedApi,
  { call, media, request: overrides }: Recording,
): Promise<RecordedOutcome> {
  const request = media === 'image' ? imageRequest(overrides) : videoRequest({ durationSeconds: 5, ...overrides });
  try {
    switch (call) {
      case 'submit': {
        const accepted = await upstream.submit(upstream.prepare(request), request, signal);
        if ('jobId' in accepted) return { accepted: accepted.jobId };
        return { files: accepted.files.map(fileIn), ...(accepted.cost && { cost: accepted.cost }) };
      }
      case 'status':
        return stateIn(await upstream.status(job, signal));
      case 'find':
        return { found: await findJobs(upstream, request) };
      default:
        await upstream.cancel(job, signal);
        return { stopped: true };
    }
  } catch (error) {
    return faultIn(error);
  }
}

/** Replaces links, except for the vendor's own address, and the sizes of files. */
function fileIn(file: ResultFile): string | number {
  return 'url' in file ? file.url.replace(/^http:\/\/127\.0\.0\.1:\d+/, '') : file.bytes.byteLength;
}

function stateIn(state: JobState): RecordedOutcome {
  switch (state.state) {
    case 'succeeded':
      return { files: state.results.map(fileIn), ...(state.cost && { cost: state.cost }) };
    case 'failed':
      return { failed: state.code, message: state.message, ...(state.cost && { cost: state.cost }) };
    default:
      return { state: state.state === 'running' ? 'running' : 'missing' };
  }
}

function faultIn(error: unknown): RecordedOutcome {
  if (error instanceof JobRefusedError) return { failed: error.code, message: error.message };
  if (error instanceof NotTakenError && error.reason !== 'unreachable') {
    const { reason, retryAfterMs } = error;
    return {
      notTaken: reason === 'busy' ? 'busy' : 'access_refused',
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    };
  }
  if (error instanceof OutcomeUnknownError) return { state: 'unknown' };
  if (error instanceof ProviderUnreachableError) return { state: 'unclear' };
  throw error;
}
