import { expect } from 'chai';
import type { MediaAdapter } from '../../../providers/media/adapter.ts';
import { httpJobs } from '../../../providers/media/adapters/http-jobs.ts';
import { InvalidCallbackError } from '../../../providers/media/callbacks.ts';
import { createGuardedClient } from '../../../providers/guard/address-guard.ts';
import { MEDIA_PROTOCOLS } from '../../../providers/media/protocols.ts';
import type { MediaUpstream, MediaUpstreamSettings } from '../../../providers/media/upstream.ts';
import { testUpstream } from '../../support/media.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { useLocalServer } from '../../support/receiver.ts';

const SECRET = 'the-secret-of-the-operator';
const CALLBACK = { headers: {}, rawBody: Buffer.from('{}') };

type Callbacks = NonNullable<MediaAdapter['callbacks']>;
const adapterWith = (callbacks: Callbacks): MediaAdapter => ({ ...httpJobs, callbacks });

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
    it(`callbacks are refused for ${protocol} without a signature or, if unsigned, at another address than the one sent to the vendor`, async () => {
      const settings = { adapter, baseUrl: 'http://127.0.0.1:9', callbackSecret: SECRET };
      const upstream = testUpstream(settings, { callbackBase });
      const given = upstream.callbackUrl('task_1');
      const callback = { headers: {}, rawBody: Buffer.from('{"id":"job_1"}') };
      const read = (query: URLSearchParams) =>
        upstream.readCallback(callback, 'task_1', query).catch((error: unknown) => error);
      expect(await read(new URLSearchParams())).to.be.instanceOf(InvalidCallbackError);
      expect(await read(new URLSearchParams({ mac: 'guessed' }))).to.be.instanceOf(InvalidCallbackError);
      const answer = await read(new URL(given ?? callbackBase).searchParams);
      const signs = adapter.callbacks?.proof !== 'address' || adapter.callbacks.keysUrl !== undefined;
      if (!signs) expect(answer).to.have.property('jobId');
      else expect(answer).to.be.instanceOf(InvalidCallbackError);
      await upstream.close();
    });
  }

  it('are neither requested nor accepted without the secret that they need', async () => {
    for (const adapter of [address, httpJobs]) {
      const upstream = testUpstream({ adapter, baseUrl: 'http://127.0.0.1:9' }, { callbackBase });
      expect(upstream.callbackUrl('task_1')).to.equal(null);
      const error = await rejectionOf(upstream.readCallback(CALLBACK, 'task_1', new URLSearchParams()));
      expect(error).to.be.instanceOf(InvalidCallbackError);
      await upstream.close();
    }
  });

  it('are not requested when they are off', async () => {
    const upstream = testUpstream({ adapter: address, baseUrl: 'http://127.0.0.1:9', callbackSecret: SECRET });
    expect(upstream.callbackUrl('task_1')).to.equal(null);
    await upstream.close();
  });

  describe('signed with published keys', () => {
    let published: readonly unknown[];
    let requests: number;
    let status: number;
    let nowMs: number;
    const callbacks: Callbacks = {
      proof: 'keys',
      keysUrl: 'https://vendor.invalid/jwks.json',
      read: async ({ rawBody }, { keys }) => {
        if (await keys.some(async ({ kid }) => kid === rawBody.toString())) return { jobId: 'job_1' };
        throw new InvalidCallbackError('it is signed with another key');
      },
    };
    const adapter = adapterWith(callbacks);

    const server = useLocalServer((_request, response) => {
      requests += 1;
      response.writeHead(status).end(JSON.stringify({ keys: published }));
    });
    beforeEach(() => {
      [published, requests, status, nowMs] = [[{ kty: 'OKP', kid: 'one' }, 'no key'], 0, 200, Date.now()];
    });

    const open = (settings: Partial<MediaUpstreamSettings> = {}) =>
      testUpstream(
        { adapter, baseUrl: server.url, keysUrl: `${server.url}/jwks.json`, ...settings },
        { callbackBase, nowMs: () => nowMs },
      );
    const verdict = (upstream: MediaUpstream, kid: string) =>
      upstream
        .readCallback(
          { headers: {}, rawBody: Buffer.from(kid) },
          'task_1',
          new URL(upstream.callbackUrl('task_1') ?? callbackBase).searchParams,
        )
        .then(
          () => 'taken',
          (error: unknown) => (error instanceof InvalidCallbackError ? 'refused' : error),
        );

    it('need an address that other customers of the vendor do not know, with or without a secret', async () => {
      const [plain, guarded] = [open(), open({ callbackSecret: SECRET })];
      const macs = [plain, guarded].map((upstream) =>
        new URL(upstream.callbackUrl('task_1') ?? '').searchParams.get('mac'),
      );
      expect(new Set(macs)).to.have.property('size', 2);
      for (const upstream of [plain, guarded]) {
        for (const query of ['', 'mac=guessed', 'app=fal-ai/other']) {
          const callback = { headers: {}, rawBody: Buffer.from('one') };
          const error = await rejectionOf(upstream.readCallback(callback, 'task_1', new URLSearchParams(query)));
          expect(error).to.be.instanceOf(InvalidCallbackError);
        }
        await upstream.close();
      }
      expect(requests, 'nobody asks for keys before the address is right').to.equal(0);
    });

    it('have the keys fetched once an hour, from the operator’s address', async () => {
      const upstream = open();
      const verdicts = await Promise.all([verdict(upstream, 'one'), verdict(upstream, 'one')]);
      expect([...verdicts, requests]).to.deep.equal(['taken', 'taken', 1]);
      nowMs += 3_600_001;
      expect([await verdict(upstream, 'one'), requests]).to.deep.equal(['taken', 2]);
      await upstream.close();
    });

    it("have the vendor's own keys fetched only from public addresses, and those that the operator names from any", async () => {
      const keysUrl = `${server.url}/jwks.json`;
      const guard = createGuardedClient({ allowPrivateAddresses: false });
      const settings = { adapter: adapterWith({ ...callbacks, keysUrl }), baseUrl: server.url };
      const options = { callbackBase, externalDispatcher: guard.dispatcher };
      const [own, unguarded] = [testUpstream(settings, options), testUpstream(settings, { callbackBase })];
      const named = testUpstream({ ...settings, keysUrl }, options);
      expect([await verdict(own, 'one'), await verdict(unguarded, 'one'), requests]).to.deep.equal([
        'refused',
        'refused',
        0,
      ]);
      expect([await verdict(named, 'one'), requests]).to.deep.equal(['taken', 1]);
      await Promise.all([own.close(), unguarded.close(), named.close(), guard.close()]);
    });

    it('callbacks are accepted with a new key at once, although forgeries do not cause a fetch each time', async () => {
      const upstream = open();
      expect(await verdict(upstream, 'one')).to.equal('taken');
      published = [{ kty: 'OKP', kid: 'two' }];
      nowMs += 30_001;
      expect([await verdict(upstream, 'two'), requests]).to.deep.equal(['taken', 2]);
      expect(await verdict(upstream, 'one'), 'a key that was withdrawn').to.equal('refused');
      for (let time = 0; time < 3; time += 1) expect(await verdict(upstream, 'forged')).to.equal('refused');
      expect(requests).to.equal(2);
      await upstream.close();
    });

    it('callbacks are refused until the keys were fetched once, and accepted when later fetches fail', async () => {
      const upstream = open();
      status = 503;
      expect(await verdict(upstream, 'one')).to.equal('refused');
      [status, nowMs] = [200, nowMs + 30_001];
      expect(await verdict(upstream, 'one')).to.equal('taken');
      [status, nowMs] = [503, nowMs + 3_600_001];
      expect(await verdict(upstream, 'one')).to.equal('taken');
      await upstream.close();
    });
  });
});
