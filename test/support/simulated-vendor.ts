/** Shared tests of vendors' adapters: the simulated vendor, and the results that every adapter must report. */
import { expect } from 'chai';
import type { SimulatorOptions } from '../../simulator/simulator.ts';
import type { JobState, RenderRequest } from '../../providers/media/adapter.ts';
import { JobRefusedError, NotTakenError, OutcomeUnknownError } from '../../providers/media/outcomes.ts';
import type { MediaUpstream, MediaUpstreamSettings } from '../../providers/media/upstream.ts';
import { endOf, findJobs, submit, testUpstream } from './media.ts';
import { readMp4 } from './mp4.ts';
import { startRecordingReceiver } from './receiver.ts';
import { rejectionOf } from './rejection.ts';
import { useSimulator } from './simulator.ts';
import { useMade } from './started.ts';

/** What an upstream of a simulated vendor needs. */
type VendorSettings = Pick<MediaUpstreamSettings, 'baseUrl' | 'credential' | 'resultOrigins'> & {
  readonly baseUrl: string;
};

/**
 * Runs the simulator, and closes it and the upstream after the tests of the current suite. The returned objects are
 * for tests and hooks.
 */
export function useSimulatedVendor(
  name: string,
  options: SimulatorOptions & { readonly apiKey: string },
  connect: (settings: VendorSettings) => MediaUpstream,
): { readonly upstream: MediaUpstream; readonly vendor: { readonly baseUrl: string } } {
  const simulator = useSimulator({ renderMs: 0, ...options });
  const vendor = useMade(async () => ({ baseUrl: `${simulator.url}/vendors/${name}` }));
  let connected: MediaUpstream | undefined;
  const upstream = useMade(async () => {
    const resultOrigins = [new URL(vendor.baseUrl.replace('127.0.0.1', 'localhost')).origin];
    connected = connect({ baseUrl: vendor.baseUrl, credential: { apiKey: options.apiKey }, resultOrigins });
    return connected;
  });
  after(() => connected?.close());
  return { upstream, vendor };
}

/** Makes a request for a video. */
type VideoOf = (overrides?: Partial<RenderRequest>) => RenderRequest;

/** Renders a video. @returns the facts of its file, and the vendor's report */
export async function renderVideo(upstream: MediaUpstream, request: RenderRequest) {
  const state = await endOf(upstream, await submit(upstream, request));
  const file = await resultOf(upstream, state);
  const { codedSize, durationSeconds } = readMp4(file);
  return { codedSize, durationSeconds, cost: state.state === 'succeeded' ? state.cost : undefined };
}

/** The first file of a job that succeeded. */
export async function resultOf(upstream: MediaUpstream, state: JobState): Promise<Buffer> {
  if (state.state !== 'succeeded' || !state.results[0]) throw new Error(`no result: ${JSON.stringify(state)}`);
  const { body } = await upstream.fetchResult(state.results[0], new AbortController().signal);
  return Buffer.from(await new Response(body).arrayBuffer());
}

type UpstreamSettings = Parameters<typeof testUpstream>[0];
type Send = (upstream: MediaUpstream, overrides?: Partial<RenderRequest>) => Promise<unknown>;

/** What the rules that adapters follow need to know of a vendor. Rules whose facts are absent do not apply. */
interface VendorFacts {
  /** The resolution of an upright video, and the size, the seconds and the cost of its render. */
  readonly rendered?: readonly [resolution: string, expected: object];
  /** The requests for which the vendor has no field. */
  readonly refused: readonly RenderRequest[];
  /** The adapter's name for a job that the vendor does not know. */
  readonly missingJob?: string;
  /** Submits an image, if the vendor renders images too. */
  readonly sendImage?: Send;
  /** Another upstream of the vendor, which gets a wrong credential. */
  readonly other?: () => UpstreamSettings;
  /** The status of a probe with a wrong credential, if the simulator answers probes. */
  readonly refusedProbe?: number;
  /** Whether the vendor stops renders. */
  readonly isStoppable?: true;
  /** Whether a request to stop an ended job changes nothing. */
  readonly keepsEnded?: true;
}

/** The rules that the adapters of simulated vendors follow. @param video a request of another task each time */
export function itFollowsTheRules(upstream: MediaUpstream, video: VideoOf, vendor: VendorFacts): void {
  const { rendered, refused, missingJob, sendImage, other, refusedProbe, isStoppable, keepsEnded } = vendor;
  const sendVideo: Send = (to, overrides) => submit(to, video(overrides));
  const senders = [sendVideo, ...(sendImage ? [sendImage] : [])];

  itReadsRefusals(upstream, senders);
  it('refuses fields that the vendor does not have', () => {
    for (const request of refused) {
      expect(() => upstream.prepare(request), JSON.stringify(request)).to.throw(JobRefusedError);
    }
  });
  it('distinguishes a render that moderation stopped from one that failed', async () => {
    for (const code of ['content_policy_violation', 'processing_failed']) {
      const jobId = await submit(upstream, video({ prompt: `[sim:fail=${code}]` }));
      expect(await endOf(upstream, jobId)).to.include({ state: 'failed', code });
    }
  });
  if (rendered) itRenders(upstream, video, ...rendered);
  if (missingJob !== undefined) itReportsAMissingJob(upstream, missingJob);
  if (other) itLeavesTheRoute(other, senders);
  if (other && refusedProbe) itCanBeProbed(upstream, other, refusedProbe);
  if (isStoppable) itStopsARender(upstream, video, missingJob);
  if (keepsEnded) itKeepsWhatHasEnded(upstream, video);
}

function itReadsRefusals(upstream: MediaUpstream, senders: readonly Send[]): void {
  for (const [directive, outcome] of [
    ['reject=content_policy_violation', { code: 'content_policy_violation' }],
    ['reject=bad_request', { code: 'bad_request' }],
    ['broke', { isRouteExcluded: true }],
    ['limited=1', { isRouteExcluded: false, retryAfterMs: 1_000 }],
  ] as const) {
    it(`reads why the vendor refuses a submission: ${directive}`, async () => {
      // Each with a prompt of its own, by which the simulator counts.
      for (const [kind, send] of senders.entries()) {
        const prompt = `A prompt of kind ${kind} [sim:${directive}]`;
        expect(await rejectionOf(send(upstream, { prompt }))).to.include(outcome);
      }
    });
  }
}

function itRenders(upstream: MediaUpstream, video: VideoOf, resolution: string, expected: object): void {
  it('renders the requested video, and reports its cost', async () => {
    const request = video({ resolution, aspectRatio: '9:16' });
    expect(await renderVideo(upstream, request)).to.deep.include(expected);
  });
}

function itReportsAMissingJob(upstream: MediaUpstream, jobId: string): void {
  it('reports a missing job as unknown', async () => {
    expect(await upstream.status(jobId, new AbortController().signal)).to.deep.equal({ state: 'unknown' });
  });
}

function itLeavesTheRoute(other: () => UpstreamSettings, senders: readonly Send[]): void {
  it('excludes the route when the credential is refused', async () => {
    const upstream = testUpstream({ ...other(), credential: { apiKey: 'wrong' } });
    for (const send of senders) {
      expect(await rejectionOf(send(upstream)))
        .to.be.instanceOf(NotTakenError)
        .with.property('isRouteExcluded', true);
    }
    await upstream.close();
  });
}

function itCanBeProbed(upstream: MediaUpstream, other: () => UpstreamSettings, refused: number): void {
  it('can be probed with its credential', async () => {
    const { signal } = new AbortController();
    const locked = testUpstream({ ...other(), credential: { apiKey: 'wrong' } });
    const statuses = [(await locked.probe(signal)).status, (await upstream.probe(signal)).status];
    expect(statuses).to.deep.equal([refused, 200]);
    await locked.close();
  });
}

/** @param missing the adapter's name for a job that the vendor does not know */
function itStopsARender(upstream: MediaUpstream, video: VideoOf, missing = 'nowhere'): void {
  it('stops a render, and does nothing where there is no job', async () => {
    const { signal } = new AbortController();
    const jobId = await submit(upstream, video({ prompt: '[sim:stuck]' }));
    await upstream.cancel(jobId, signal);
    expect(await upstream.status(jobId, signal)).to.include({ state: 'failed' });
    await upstream.cancel(missing, signal);
  });
}

function itKeepsWhatHasEnded(upstream: MediaUpstream, video: VideoOf): void {
  it('keeps an ended job when it is asked to stop it', async () => {
    const { signal } = new AbortController();
    const jobId = await submit(upstream, video());
    await endOf(upstream, jobId);
    await upstream.cancel(jobId, signal);
    expect(await upstream.status(jobId, signal)).to.include({ state: 'succeeded' });
  });
}

/** For vendors that keep our id of a task. @param video a request of another task each time */
export function itTakesEachIdOnce(upstream: MediaUpstream, video: VideoOf): void {
  it('finds a task by our id, and none under an id that was not sent', async () => {
    const request = video({ prompt: '[sim:drop_submit]' });
    await rejectionOf(submit(upstream, request));
    const found = await findJobs(upstream, request);
    expect(found).to.have.length(1);
    const state = await upstream.status(found?.[0] ?? '', new AbortController().signal);
    expect(state).to.not.include({ state: 'unknown' });
    expect(await findJobs(upstream, video())).to.deep.equal([]);
  });

  it('answers a second submission under our id without revealing the outcome of the first', async () => {
    const request = video();
    await submit(upstream, request);
    expect(await rejectionOf(submit(upstream, request))).to.be.instanceOf(OutcomeUnknownError);
  });
}

/** Lets the vendor announce the end of a job. @param requestTo a request with a callback address of that origin */
export async function announcementFrom(upstream: MediaUpstream, requestTo: (origin: string) => RenderRequest) {
  const receiver = await startRecordingReceiver((response) => response.end());
  try {
    const jobId = await submit(upstream, requestTo(receiver.url));
    await receiver.received(1);
    const [arrived] = receiver.requests;
    if (!arrived) throw new Error('nothing was announced');
    const headers = Object.entries(arrived.headers).map(([name, value]) => [name, String(value)] as const);
    return {
      jobId,
      headers: Object.fromEntries(headers),
      rawBody: Buffer.from(arrived.body),
      searchParams: new URL(arrived.path, receiver.url).searchParams,
    };
  } finally {
    await receiver.close();
  }
}

interface ListedTasks {
  /** A model that only this test uses. */
  readonly model: string;
  /** So many tasks fill several pages, if the vendor has pages. */
  readonly count: number;
}

/** For vendors whose lists show the model and the time of tasks. */
export function itListsTasks(upstream: MediaUpstream, video: VideoOf, { model, count }: ListedTasks): void {
  it("lists the model's tasks since a time, whatever their prompts", async () => {
    const { signal } = new AbortController();
    const request = video({ model, prompt: '[sim:drop_submit]' });
    await Promise.all(Array.from({ length: count }, () => rejectionOf(submit(upstream, request))));
    const since = new Date(Date.now() - 30_000);
    const find = (sent: object) => upstream.find({ request, fingerprint: '', since, ...sent }, signal);
    const found = await find({});
    expect(new Set(found).size).to.equal(count);
    expect(await upstream.status(found?.[0] ?? '', signal)).to.not.include({ state: 'unknown' });
    for (const sent of [{ request: { ...request, model: 'another' } }, { since: new Date(Date.now() + 60_000) }]) {
      expect(await find(sent)).to.deep.equal([]);
    }
  });
}
