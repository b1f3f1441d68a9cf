import { expect } from 'chai';
import type { MediaAdapter } from '../../../providers/media/adapter.ts';
import { httpJobs } from '../../../providers/media/adapters/http-jobs.ts';
import { InvalidCallbackError } from '../../../providers/media/callbacks.ts';
import { MEDIA_PROTOCOLS } from '../../../providers/media/protocols.ts';
import { testUpstream } from '../../support/media.ts';
import { startReceiver } from '../../support/receiver.ts';
import { rejectionOf } from '../../support/rejection.ts';

const SECRET = 'the-secret-of-the-operator';
const CALLBACK = { headers: {}, rawBody: Buffer.from('{}') };

const adapterWith = (callbacks: NonNullable<MediaAdapter['callbacks']>): MediaAdapter => ({ ...httpJobs, callbacks });

describe('callbacks of upstreams', () => {
  const callbackBase = 'https://gateway.example/v1/provider-callbacks';
  const address = adapterWith({ proof: 'address', read: () => ({ jobId: 'job_1' }) });

  it('without signatures get a secret address', async () => {
    const upstream = testUpstream(
      { adapter: address, baseUrl: 'http://127.0.0.1:9', callbackSecret: SECRET },
      { callbackBase },
    );
    const given = new URL(upstream.callbackUrl('task_1') ?? '');
    expect(given.pathname).to.equal('/v1/provider-callbacks/studio/task_1');
    expect(await upstream.readCallback(CALLBACK, 'task_1', given.searchParams)).to.deep.equal({ jobId: 'job_1' });
    for (const [taskId, query] of [
      ['task_2', given.searchParams],
      ['task_1', new URLSearchParams()],
      ['task_1', new URLSearchParams({ mac: 'guessed' })],
    ] as const) {
      const error = await rejectionOf(upstream.readCallback(CALLBACK, taskId, query));
      expect(error).to.be.instanceOf(InvalidCallbackError);
    }
    await upstream.close();
  });

  for (const [protocol, adapter] of Object.entries(MEDIA_PROTOCOLS)) {
    it(`of ${protocol} are refused without a signature, unless they come to the address that was given out`, async () => {
      const settings = { adapter, baseUrl: 'http://127.0.0.1:9', callbackSecret: SECRET };
      const upstream = testUpstream(settings, { callbackBase });
      const given = upstream.callbackUrl('task_1');
      const callback = { headers: {}, rawBody: Buffer.from('{"id":"job_1"}') };
      const read = (query: URLSearchParams) =>
        upstream.readCallback(callback, 'task_1', query).catch((error: unknown) => error);
      expect(await read(new URLSearchParams())).to.be.instanceOf(InvalidCallbackError);
      expect(await read(new URLSearchParams({ mac: 'guessed' }))).to.be.instanceOf(InvalidCallbackError);
      const answer = await read(new URL(given ?? callbackBase).searchParams);
      if (adapter.callbacks?.proof === 'address') expect(answer).to.have.property('jobId');
      else expect(answer).to.be.instanceOf(InvalidCallbackError);
      await upstream.close();
    });
  }

  it('are neither asked for nor taken without the secret that they need', async () => {
    for (const adapter of [address, httpJobs]) {
      const upstream = testUpstream({ adapter, baseUrl: 'http://127.0.0.1:9' }, { callbackBase });
      expect(upstream.callbackUrl('task_1')).to.equal(null);
      const error = await rejectionOf(upstream.readCallback(CALLBACK, 'task_1', new URLSearchParams()));
      expect(error).to.be.instanceOf(InvalidCallbackError);
      await upstream.close();
    }
  });

  it('are not asked for when they are off', async () => {
    const upstream = testUpstream({ adapter: address, baseUrl: 'http://127.0.0.1:9', callbackSecret: SECRET });
    expect(upstream.callbackUrl('task_1')).to.equal(null);
    await upstream.close();
  });

  it('that are signed with published keys have them fetched once, from where the operator says', async () => {
    let requests = 0;
    const server = await startReceiver((_request, response) => {
      requests += 1;
      response.end(JSON.stringify({ keys: [{ kid: 'one' }, 'no key'] }));
    });
    const adapter = adapterWith({
      proof: 'keys',
      keysUrl: 'https://vendor.invalid/jwks.json',
      read: async (_callback, { keys }) => ({ jobId: (await keys())[0]?.kid ?? null }),
    });
    const upstream = testUpstream(
      { adapter, baseUrl: server.url, keysUrl: `${server.url}/jwks.json` },
      { callbackBase },
    );
    expect(upstream.callbackUrl('task_1')).to.equal(`${callbackBase}/studio/task_1`);
    const guarded = testUpstream({ adapter, baseUrl: server.url, callbackSecret: SECRET }, { callbackBase });
    expect(guarded.callbackUrl('task_1')).to.contain('/studio/task_1?mac=');
    const unproven = await rejectionOf(guarded.readCallback(CALLBACK, 'task_1', new URLSearchParams()));
    expect(unproven).to.be.instanceOf(InvalidCallbackError);
    await guarded.close();
    for (let time = 0; time < 2; time += 1) {
      expect(await upstream.readCallback(CALLBACK, 'task_1', new URLSearchParams())).to.deep.equal({ jobId: 'one' });
    }
    expect(requests).to.equal(1);
    await upstream.close();
    await server.close();
  });
});
