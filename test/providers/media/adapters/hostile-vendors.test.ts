import type { RequestListener } from 'node:http';
import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { VendorCost } from '../../../../domain/media-route.ts';
import type { TaskKind } from '../../../../domain/task.ts';
import { isTaskErrorCode } from '../../../../domain/errors.ts';
import { createGuardedClient } from '../../../../providers/guard/address-guard.ts';
import { InvalidCallbackError } from '../../../../providers/media/callbacks.ts';
import { PLAIN_AMOUNT } from '../../../../providers/media/json.ts';
import {
  isName,
  JobRefusedError,
  NotTakenError,
  ProviderUnreachableError,
} from '../../../../providers/media/outcomes.ts';
import { MEDIA_APIS, MEDIA_PROTOCOLS } from '../../../../providers/media/protocols.ts';
import type { MediaUpstream } from '../../../../providers/media/upstream.ts';
import { imageRequest, findJobs, testUpstream, videoRequest } from '../../../support/media.ts';
import { runsAll } from '../../../support/properties.ts';
import { rejectionOf } from '../../../support/rejection.ts';
import { useLocalServer } from '../../../support/receiver.ts';

const signal = new AbortController().signal;

/** A job as the adapter of each protocol would have named it. */
const JOBS: Readonly<Record<string, string>> = {
  'http-jobs': 'job_1',
  fal: 'fal-ai/flux|job_1',
  replicate: 'job_1',
  'openai-images': 'job_1',
  google: 'job_1',
  ark: 'job_1',
  minimax: 'job_1',
  kling: 'text2video|job_1',
  'kling-standard': 'tasks|job_1',
  'openai-videos': 'job_1',
  xai: 'job_1',
  vertex: 'projects/p/locations/l/publishers/google/models/veo/operations/job_1',
  dashscope: 'job_1',
  bfl: 'v1/get_result?id=job_1',
};

const odd = (value: unknown): string => JSON.stringify(value);
const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

/** The same value under every field name that some vendor uses. */
function everywhere(value: string): string {
  const error = `{"code":${value},"type":${value},"message":${value},"status":${value},"details":[${value}]}`;
  const file = `{"url":${value},"b64_json":${value},"content_type":${value}}`;
  const names = [
    'id',
    'name',
    'request_id',
    'task_id',
    'response_url',
    'key',
    'created_at',
    'created',
    'model',
    'prompt',
  ];
  const states = [
    'code',
    'message',
    'detail',
    'title',
    'error_type',
    'progress',
    'progress_percent',
    'output',
    'metrics',
  ];
  const own = [...names, ...states].map((name) => `"${name}":${value}`).join(',');
  const lists = `"items":[{"id":${value}}],"results":[{"url":${value}}],"candidates":[{"content":{"parts":[${value}]}}]`;
  const more = `"usage":{"cost_in_usd_ticks":${value},"completion_tokens":${value},"output_tokens":${value},"total_seconds":${value}},"base_resp":{"status_code":${value}}`;
  return `{${own},"error":${error},"images":[${file}],"polling_url":${value},"cost":${value},"result":{"sample":${value}},"final_unit_deduction":${value},${lists},${more}`;
}

const VALUES: Readonly<Record<string, string>> = {
  nothing: 'null',
  'a huge number': '1e999',
  'a number beyond those that are exact': '123456789012345678901234567890',
  'a negative number': '-7',
  'a name that every object has': odd('constructor'),
  'another of these': odd('__proto__'),
  'an object that is not a text': '{"toString":1,"valueOf":1}',
  'control characters': odd('a\u0000b\r\nx-header: 1'),
  'half a character': '"\\ud800"',
  'a very long text': odd('x'.repeat(10_000)),
  'a list in a list': '[[[["x"]]]]',
  'a list without end': nested(5_000),
  'an address of the machine': odd('http://169.254.169.254/latest/meta-data'),
  'a file of the machine': odd('file:///etc/passwd'),
};

/** The words for a job that succeeded, and for one that failed. */
const STATES: Readonly<Record<string, readonly string[]>> = {
  'http-jobs': ['succeeded', 'failed'],
  fal: ['COMPLETED'],
  replicate: ['succeeded', 'failed'],
  'openai-images': [],
  google: ['completed', 'failed'],
  ark: ['succeeded', 'failed'],
  minimax: ['succeeded', 'failed'],
  kling: ['succeed', 'failed'],
  'openai-videos': ['completed', 'failed'],
  xai: ['done', 'failed'],
  vertex: ['done'],
  dashscope: ['SUCCEEDED', 'FAILED'],
  bfl: ['Ready', 'Error'],
};

type Body = readonly [what: string, status: number, body: string | Buffer];

const WHOLE: readonly Body[] = [
  ['an answer that is cut off', 200, '{"id":"job_1","status":"succ'],
  ['an empty answer', 200, ''],
  ['a page for people', 200, '<html>gateway</html>'],
];

/** Every client has the limits of one reader, so without `--all` one client reads these. */
const LARGE: readonly Body[] = [
  ['a compressed answer that is large', 200, gzipSync(Buffer.alloc(20 * 2 ** 20))],
  ['an answer of 10 MB', 200, odd({ id: 'x'.repeat(10 * 2 ** 20) })],
  ['a list without end', 200, nested(200_000)],
];

const ODD: readonly Body[] = [200, 400].flatMap((status) =>
  Object.entries(VALUES).map(([what, value]): Body => [`${what} everywhere`, status, `${everywhere(value)}}`]),
);

/** Answers about a finished job, in which everything else is invalid. */
function endings(state: string): readonly Body[] {
  return Object.entries(VALUES).map(([what, value]): Body => {
    const task = `"task":{"status":"${state}","content":{"url":${value}},"usage":{"total_seconds":${value}}}`;
    const data = `"data":{"task_status":"${state}","final_unit_deduction":${value},"task_result":{"videos":[{"url":${value}}]}}`;
    const named = `"id":"job_1","status":"${state}","done":true,"code":0,"content":{"video_url":${value}}`;
    const output = `"output":{"task_id":"job_1","task_status":"${state}","code":${value},"message":${value},"video_url":${value}}`;
    const stored = `"response":{"videos":[{"gcsUri":${value},"bytesBase64Encoded":${value},"mimeType":${value}}]}`;
    const video = `"video":{"url":${value},"respect_moderation":${value}}`;
    const steps = `"steps":[{"type":"model_output","content":[{"type":"video","uri":${value},"data":${value}}]}]`;
    return [
      `${what} in a job that is ${state}`,
      200,
      `${everywhere(value)},${named},${video},${stored},${output},${steps},${task},${data}}`,
    ];
  });
}

/** Answers about several jobs, one of which is finished. */
function listedEndings(state: string): readonly Body[] {
  return Object.entries(VALUES).map(([what, value]): Body => {
    const billing = `[{"charge_type":${value},"amount":${value},"currency":${value}},{"charge_type":"unit","amount":${value}}]`;
    const job = `{"id":"job_1","status":"${state}","message":${value},"outputs":[{"type":"video","url":${value}}],"billing":${billing}}`;
    return [`${what} in a listed job that is ${state}`, 200, `{"code":0,"data":[${value},${job}]}`];
  });
}

const LISTED_ENDINGS: Readonly<Record<string, readonly Body[]>> = {
  'kling-standard': ['succeeded', 'failed'].flatMap(listedEndings),
};

describe('every client of a vendor', () => {
  let answer: RequestListener;
  const upstreams = new Map<string, MediaUpstream>();
  const guard = createGuardedClient({ allowPrivateAddresses: false });

  const vendor = useLocalServer((request, response) => answer(request, response));
  before(() => {
    for (const [name, , adapter] of MEDIA_APIS) {
      const settings = { adapter, baseUrl: vendor.url, addresses: { requests: vendor.url } };
      const options = {
        externalDispatcher: guard.dispatcher,
        timings: { answerTimeoutMs: 300, downloadIdleTimeoutMs: 300 },
      };
      upstreams.set(name, testUpstream(settings, options));
    }
  });
  after(async () => {
    await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
    await guard.close();
  });

  function upstreamOf(protocol: string): MediaUpstream {
    const upstream = upstreams.get(protocol);
    if (!upstream) throw new Error('it was opened before');
    return upstream;
  }

  for (const [protocol] of MEDIA_APIS) {
    it(`reads each answer of ${protocol} as a result that can be stored and shown, or as none`, async () => {
      const upstream = upstreamOf(protocol);
      const kinds = (['image', 'video'] as const).filter((kind) => upstream.traitsOf(kind));
      for (const [what, status, body] of [
        ...WHOLE,
        ...(runsAll || protocol === 'http-jobs' ? LARGE : []),
        ...ODD,
        ...(STATES[protocol] ?? []).flatMap(endings),
        ...(LISTED_ENDINGS[protocol] ?? []),
      ]) {
        answer = (_request, response) => void response.writeHead(status, { 'retry-after': '-1' }).end(body);
        const faults = await Promise.all([
          ...kinds.map((kind) => faultOf(submit(upstream, kind))),
          faultOf(ended(upstream, JOBS[protocol] ?? '')),
          ...kinds.map((kind) => faultOf(found(upstream, kind))),
        ]);
        expect(
          faults.filter((fault) => fault !== null),
          `${status}, ${what}`,
        ).to.deep.equal([]);
      }
    });
  }

  for (const [protocol, , adapter] of MEDIA_APIS) {
    if (!adapter.status) continue;
    it(`reads the time to retry from each 429 of ${protocol}`, async () => {
      answer = (_request, response) => void response.writeHead(429, { 'retry-after': '7' }).end('{}');
      const upstream = upstreamOf(protocol);
      const errors = await Promise.all([
        rejectionOf(upstream.status(JOBS[protocol] ?? '', signal)),
        ...(adapter.find ? [rejectionOf(findJobs(upstream, videoRequest({ durationSeconds: 5 })))] : []),
        ...(adapter.cancel ? [rejectionOf(upstream.cancel(JOBS[protocol] ?? '', signal))] : []),
      ]);
      for (const error of errors) {
        expect(error).to.be.instanceOf(ProviderUnreachableError).with.property('retryAfterMs', 7_000);
      }
    });
  }

  it('waits neither for answers that trickle nor for endless ones', async () => {
    answer = (_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('[ '), 20);
      response.on('close', () => clearInterval(timer));
    };
    for (const protocol of ['http-jobs', 'fal', 'kling'] as const) {
      const upstream = upstreamOf(protocol);
      const [submitted, asked] = await Promise.all([
        rejectionOf(submit(upstream, 'video')),
        rejectionOf(ended(upstream, JOBS[protocol] ?? '')),
      ]);
      expect([submitted, asked].map(({ name }) => name)).to.deep.equal([
        'OutcomeUnknownError',
        'ProviderUnreachableError',
      ]);
    }
  });

  it('ignores a second answer on one connection', async () => {
    const twice = createServer((socket) => {
      socket.on('error', () => undefined);
      const body = '{"status":"IN_QUEUE"}';
      const one = `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
      socket.on('data', () => socket.write(one + one.replaceAll('IN_QUEUE', 'REPEATED')));
    });
    await new Promise<void>((resolve) => void twice.listen(0, '127.0.0.1', resolve));
    const address = twice.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const upstream = testUpstream({ adapter: MEDIA_PROTOCOLS.fal, baseUrl: `http://127.0.0.1:${port}` });
    for (let time = 0; time < 5; time += 1) {
      const state = await upstream.status('fal-ai/flux|job_1', signal).catch((error: unknown) => error);
      if (state instanceof Error) expect(state).to.be.instanceOf(ProviderUnreachableError);
      else expect(state).to.deep.equal({ state: 'running', progressPercent: null, detail: 'IN_QUEUE' });
    }
    await upstream.close();
    await new Promise((resolve) => twice.close(resolve));
  });

  it('ignores announcements whose job has a name that cannot be stored', async () => {
    const adapter = { ...MEDIA_PROTOCOLS.ark };
    const upstream = testUpstream(
      { adapter, baseUrl: vendor.url, callbackSecret: 'the-secret-of-the-operator' },
      { callbackBase: 'https://gateway.example/v1/provider-callbacks' },
    );
    const query = new URL(upstream.callbackUrl('task_1') ?? '').searchParams;
    for (const id of ['a\u0000b', 'x'.repeat(3_000), ' ']) {
      const callback = { headers: {}, rawBody: Buffer.from(odd({ id })) };
      expect(await rejectionOf(upstream.readCallback(callback, 'task_1', query))).to.be.instanceOf(
        InvalidCallbackError,
      );
    }
    await upstream.close();
  });
});

/** @returns what is wrong about the outcome of a call; null if nothing is */
async function faultOf(call: Promise<string | null>): Promise<string | null> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof JobRefusedError && !isTaskErrorCode(error.code)) return `the code ${String(error.code)}`;
    const isTyped = [JobRefusedError, NotTakenError, ProviderUnreachableError].some((type) => error instanceof type);
    if (!(error instanceof Error) || !isTyped) return `another error: ${String(error)}`;
    return isName(error.message) ? null : `the message ${String(error.message)}`;
  }
}

async function submit(upstream: MediaUpstream, kind: TaskKind): Promise<string | null> {
  const request = kind === 'video' ? videoRequest({ durationSeconds: 4 }) : imageRequest({ width: 1024, height: 1024 });
  const accepted = await upstream.submit(upstream.prepare(request), request, signal);
  if ('files' in accepted) return costFault(accepted.cost);
  return isName(accepted.jobId) ? null : 'a job without a name';
}

async function found(upstream: MediaUpstream, kind: TaskKind): Promise<string | null> {
  const jobs = await findJobs(
    upstream,
    kind === 'video' ? videoRequest({ durationSeconds: 4 }) : imageRequest({ width: 1024, height: 1024 }),
  );
  return jobs?.every(isName) === false ? 'a listed job without a name' : null;
}

/** Requests the state of a job, and fetches its file if it has one. */
async function ended(upstream: MediaUpstream, jobId: string): Promise<string | null> {
  const state = await upstream.status(jobId, signal).catch((error: Error) => {
    // Vendors that answer with files have no jobs.
    if (/has no jobs/.test(error.message)) return { state: 'unknown' as const };
    throw error;
  });
  if (state.state === 'failed' && !isTaskErrorCode(state.code)) return `the code ${String(state.code)}`;
  if (state.state === 'failed' && !isName(state.message)) return 'a message that cannot be shown';
  if (state.state === 'running')
    return state.detail === null || isName(state.detail) ? null : 'a detail that cannot be shown';
  if (state.state === 'succeeded' && state.results[0]) {
    const download = await upstream.fetchResult(state.results[0], signal);
    await download.body.cancel();
  }
  return 'cost' in state ? costFault(state.cost) : null;
}

function costFault(cost: VendorCost | undefined): string | null {
  return cost === undefined || PLAIN_AMOUNT.test(cost.amount) ? null : `a cost of ${JSON.stringify(cost)}`;
}
