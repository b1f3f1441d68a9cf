/** Factories of requests to media upstreams and of their answers. */
import type { RequestListener } from 'node:http';
import { newId } from '../../domain/ids.ts';
import { serveLocally } from '../../lab/stack/local-server.ts';
import { fingerprintOf } from '../../providers/media/json.ts';
import { Agent } from 'undici';
import type { Accepted, JobState, MediaAdapter, RenderRequest } from '../../providers/media/adapter.ts';
import { MEDIA_PROTOCOLS } from '../../providers/media/protocols.ts';
import type { ResultFile } from '../../providers/media/result-file.ts';
import {
  createMediaUpstream,
  type MediaUpstream,
  type MediaUpstreamOptions,
  type MediaUpstreamSettings,
} from '../../providers/media/upstream.ts';
import { inspectMedia } from '../../storage/media-inspector.ts';
import { eventually } from './eventually.ts';

/** The links of pictures that nothing fetches. */
export const LINKS = ['https://example.com/1.png', 'https://example.com/2.png', 'https://example.com/3.png'];

/** A complete video request; each call has a task id of its own. */
export function videoRequest(overrides: Partial<RenderRequest> = {}): RenderRequest {
  return {
    ...anyRequest(),
    kind: 'video',
    model: 'studio-video',
    imagesAs: 'first_frame',
    prompt: 'A lighthouse at dusk',
    durationSeconds: 2,
    aspectRatio: '16:9',
    resolution: '720p',
    ...overrides,
  };
}

/** A complete image request; each call has a task id of its own. */
export function imageRequest(overrides: Partial<RenderRequest> = {}): RenderRequest {
  return {
    ...anyRequest(),
    kind: 'image',
    model: 'studio-image',
    imagesAs: 'references',
    prompt: 'A lighthouse, isolated',
    width: 1024,
    height: 640,
    background: 'auto',
    ...overrides,
  };
}

function anyRequest() {
  const deadlineAt = new Date(Date.now() + 1_800_000);
  return { taskId: newId('task'), accountId: newId('account'), params: {}, fields: {}, deadlineAt, files: new Map() };
}

/** An upstream of the HTTP job protocol by default. */
export function testUpstream(
  settings: Partial<MediaUpstreamSettings> & Pick<MediaUpstreamSettings, 'baseUrl'>,
  options: MediaUpstreamOptions = {},
): MediaUpstream {
  return createMediaUpstream(
    {
      name: 'studio',
      protocol: 'http-jobs',
      adapter: MEDIA_PROTOCOLS['http-jobs'],
      credential: { apiKey: 'studio-key' },
      callbackSecret: null,
      keysUrl: null,
      addresses: {},
      onUnknown: 'give_up',
      resultOrigins: [],
      poll: null,
      ...settings,
    },
    options,
  );
}

/**
 * Connects to an upstream whose vendor is that server, and closes both.
 *
 * @param answer the vendor's answer to every call, as JSON; or a listener
 */
export async function usingVendor<Result>(
  adapter: MediaAdapter,
  answer: object | RequestListener,
  use: (upstream: MediaUpstream) => Promise<Result>,
  settings: Partial<MediaUpstreamSettings> & { readonly status?: number } = {},
): Promise<Result> {
  const { status = 200, ...others } = settings;
  const answerAll: RequestListener = (_request, response) => response.writeHead(status).end(JSON.stringify(answer));
  const vendor = await serveLocally(isListener(answer) ? answer : answerAll);
  const upstream = testUpstream({ adapter, baseUrl: vendor.url, ...others });
  try {
    return await use(upstream);
  } finally {
    await upstream.close();
    await vendor.close();
  }
}

function isListener(answer: object | RequestListener): answer is RequestListener {
  return typeof answer === 'function';
}

/** Reads the announcements of an upstream of that name. @param baseUrl for cancellations; by default nothing listens */
export function callbackReaders(
  name: string,
  callbackSecret: string,
  baseUrl = 'http://127.0.0.1:9',
): ReadonlyMap<string, MediaUpstream> {
  const upstream = testUpstream({ name, baseUrl, callbackSecret }, { dispatcher: new Agent() });
  return new Map([[name, upstream]]);
}

/** Submits a request. @returns the job's id @throws SubmissionError */
export async function submit(upstream: MediaUpstream, request: RenderRequest): Promise<string> {
  const accepted = await upstream.submit(upstream.prepare(request), request, new AbortController().signal);
  if ('jobId' in accepted) return accepted.jobId;
  throw new Error('the upstream answered with files');
}

/** Submits a request that is answered with files. @throws SubmissionError */
export async function filesIn(
  upstream: MediaUpstream,
  request: RenderRequest,
): Promise<Extract<Accepted, { files: unknown }>> {
  const accepted = await upstream.submit(upstream.prepare(request), request, new AbortController().signal);
  if ('files' in accepted) return accepted;
  throw new Error('the upstream answered with a job');
}

/** The width and height of a picture. */
export async function sizeOf(picture: Uint8Array): Promise<readonly [width: number, height: number]> {
  const inspected = inspectMedia(new Blob([Uint8Array.from(picture)]).stream());
  for await (const _ of inspected.body);
  const { width, height } = inspected.facts();
  return [width, height];
}

/** The widths and heights of the pictures in an answer. */
export function sizesOf(files: readonly ResultFile[]): Promise<readonly (readonly [number, number])[]> {
  return Promise.all(
    files.map((file) => {
      if ('bytes' in file) return sizeOf(file.bytes);
      throw new Error(`the file is a link: ${file.url}`);
    }),
  );
}

/** Polls a job until it has ended. */
export function endOf(upstream: MediaUpstream, jobId: string): Promise<Exclude<JobState, { state: 'running' }>> {
  return eventually(async () => {
    const state = await upstream.status(jobId, new AbortController().signal);
    return state.state === 'running' ? undefined : state;
  });
}

/** Finds the jobs of a request at the upstream. */
export async function findJobs(upstream: MediaUpstream, request: RenderRequest): Promise<readonly string[] | null> {
  const { identity, body } = upstream.prepare(request);
  const fingerprint = fingerprintOf(identity ?? body);
  return upstream.find({ request, fingerprint, since: new Date(0) }, new AbortController().signal);
}
