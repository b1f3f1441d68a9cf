/** What the tests of vendors' adapters share: the vendor, as the simulator imitates it, and what every adapter must report. */
import { expect } from 'chai';
import type { SimulatorOptions } from '../../lab/simulator/simulator.ts';
import type { JobState, RenderRequest } from '../../providers/media/adapter.ts';
import { OutcomeUnknownError } from '../../providers/media/outcomes.ts';
import type { MediaUpstream } from '../../providers/media/upstream.ts';
import { endOf, lookUp, submit } from './media.ts';
import { readMp4 } from './mp4.ts';
import { startRecordingReceiver } from './receiver.ts';
import { rejectionOf } from './rejection.ts';
import { useSimulator } from './simulator.ts';

/**
 * Runs the simulator, and closes it and the upstream after the tests of the suite that is being described.
 *
 * @param connect receives the address of the vendor and the origin of its files, before the tests
 */
export function useSimulatedVendor(
  vendor: string,
  options: SimulatorOptions,
  connect: (baseUrl: string, resultOrigins: readonly [string]) => MediaUpstream,
): void {
  const simulator = useSimulator({ renderMs: 0, ...options });
  let upstream: MediaUpstream | undefined;
  before(() => {
    const baseUrl = `${simulator.url}/vendors/${vendor}`;
    upstream = connect(baseUrl, [new URL(baseUrl.replace('127.0.0.1', 'localhost')).origin]);
  });
  after(() => upstream?.close());
}

/** Renders a video. @returns the facts of its file, and what the vendor reports */
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

/** @param send submits one kind of request with that prompt; each kind is tried */
export function itReadsRefusals(...send: readonly ((prompt: string) => Promise<unknown>)[]): void {
  for (const [directive, outcome] of [
    ['reject=content_policy_violation', { code: 'content_policy_violation' }],
    ['reject=bad_request', { code: 'bad_request' }],
    ['broke', { leavesRoute: true }],
    ['limited=1', { leavesRoute: false, retryAfterMs: 1_000 }],
  ] as const) {
    it(`reads why the vendor refuses a submission: ${directive}`, async () => {
      // Each with a prompt of its own, by which the simulator counts.
      for (const [kind, submitOne] of send.entries()) {
        expect(await rejectionOf(submitOne(`A prompt of kind ${kind} [sim:${directive}]`))).to.include(outcome);
      }
    });
  }
}

/** @param send submits a video with that prompt. @returns its end */
export function itReadsFailures(send: (prompt: string) => Promise<JobState>): void {
  it('distinguishes a render that moderation stopped from one that failed', async () => {
    for (const code of ['content_policy_violation', 'processing_failed']) {
      expect(await send(`[sim:fail=${code}]`)).to.include({ state: 'failed', code });
    }
  });
}

/** For vendors that keep our id of a task. @param video a request of another task each time */
export function itTakesEachIdOnce(
  usedUpstream: () => MediaUpstream,
  video: (overrides?: Partial<RenderRequest>) => RenderRequest,
): void {
  it('finds a task by our id, and none that it was not given', async () => {
    const upstream = usedUpstream();
    const request = video({ prompt: '[sim:drop_submit]' });
    await rejectionOf(submit(upstream, request));
    const found = await lookUp(upstream, request);
    expect(found).to.have.length(1);
    const state = await upstream.status(found?.[0] ?? '', new AbortController().signal);
    expect(state).to.not.include({ state: 'unknown' });
    expect(await lookUp(upstream, video())).to.deep.equal([]);
  });

  it('answers a second submission under our id without revealing the outcome of the first', async () => {
    const request = video();
    await submit(usedUpstream(), request);
    expect(await rejectionOf(submit(usedUpstream(), request))).to.be.instanceOf(OutcomeUnknownError);
  });
}

/** Lets the vendor announce the end of a job. @param requestTo a request whose announcement goes to an address of that origin */
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
