import { expect } from 'chai';
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import { Agent, request } from 'undici';
import { createGuardedClient } from '../../../providers/guard/address-guard.ts';
import type { GuardedClient, GuardedClientOptions, GuardedRequest } from '../../../providers/guard/address-guard.ts';
import { createGuardedConnector } from '../../../providers/guard/guarded-connector.ts';
import type { Resolve } from '../../../providers/guard/guarded-connector.ts';
import { PUBLIC_ONLY } from '../../../providers/guard/public-url.ts';
import { type LocalServer, serveLocally } from '../../../lab/stack/local-server.ts';
import { eventually } from '../../support/eventually.ts';
import { RECEIVER_AUTHORITY, RECEIVER_NAME, startTlsReceiver } from '../../support/receiver.ts';

const LIMITS = { maxBytes: 1000, timeoutMs: 5000 } satisfies GuardedRequest;

/** Answers `names[hostname]`, one entry per query, and repeats the last. */
function resolverOf(...answers: readonly (readonly string[])[]): { resolve: Resolve; questions: string[] } {
  const questions: string[] = [];
  return {
    questions,
    resolve: async (hostname) => {
      questions.push(hostname);
      return answers[Math.min(questions.length, answers.length) - 1] ?? [];
    },
  };
}

/** `/3` redirects to `/2`, … to `/0`, which answers with the credentials it received. */
const countdown: RequestListener = (incoming, answer) => {
  const left = Number(incoming.url?.slice(1));
  if (left > 0) answer.writeHead(302, { location: `/${left - 1}` }).end('moved');
  else answer.end(`arrived ${incoming.headers.authorization ?? ''}`);
};

const resolveNever: Resolve = () => new Promise<never>(() => {});
const resolveNothing: Resolve = () => Promise.reject(new RangeError('no such name'));

async function failureOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return error instanceof Error ? error.name : String(error);
  }
  return 'none';
}

describe('the address guard', () => {
  const opened: (() => Promise<void>)[] = [];

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((close) => close()));
  });

  function client(options: Partial<GuardedClientOptions> = {}): GuardedClient {
    const created = createGuardedClient({ allowPrivateAddresses: true, ...options });
    opened.push(() => created.close());
    return created;
  }

  async function receiver(listener: RequestListener, start = serveLocally): Promise<LocalServer> {
    const started = await start(listener);
    opened.push(() => started.close());
    return started;
  }

  describe('a request', () => {
    it('sends method, headers and body, and returns status, headers and body', async () => {
      const { url } = await receiver((incoming, answer) => {
        const parts: Buffer[] = [];
        incoming.on('data', (part: Buffer) => parts.push(part));
        incoming.on('end', () => {
          answer.writeHead(202, { 'x-note': ['a', 'b'] });
          answer.end(`${incoming.method} ${String(incoming.headers['x-test'])} ${Buffer.concat(parts).toString()}`);
        });
      });
      const response = await client().request(`${url}/hook`, {
        ...LIMITS,
        method: 'POST',
        headers: { 'x-test': 'yes' },
        body: 'payload',
      });
      expect(response.status).to.equal(202);
      expect(response.headers['x-note']).to.equal('a, b');
      expect(response.url).to.equal(`${url}/hook`);
      expect(await new Response(response.body).text()).to.equal('POST yes payload');
    });

    it('reuses a connection that was checked', async () => {
      const server = await receiver((_incoming, answer) => answer.end('ok'));
      const shared = client();
      for (let round = 0; round < 6; round += 1) {
        await new Response((await shared.request(server.url, LIMITS)).body).text();
      }
      expect(server.connections()).to.be.below(6);
    });
  });

  describe('names', () => {
    it('lead to a connection with one of their addresses, and the certificate must match the name', async () => {
      const { port } = await receiver((_incoming, answer) => answer.end('ok'), startTlsReceiver);
      const { resolve, questions } = resolverOf(['127.0.0.1']);
      const trusting = client({ resolve, certificateAuthorities: RECEIVER_AUTHORITY });
      const response = await trusting.request(`https://${RECEIVER_NAME}:${port}/`, LIMITS);
      expect(await new Response(response.body).text()).to.equal('ok');
      expect(questions).to.eql([RECEIVER_NAME]);
      expect(await failureOf(trusting.request(`https://other.example:${port}/`, LIMITS))).to.equal('Error');
      expect(await failureOf(client({ resolve }).request(`https://${RECEIVER_NAME}:${port}/`, LIMITS))).to.equal(
        'Error',
      );
    });

    it('lead to the next address when one does not answer', async () => {
      const { port } = await receiver((_incoming, answer) => answer.end('ok'));
      const { resolve } = resolverOf(['::1', '127.0.0.1']);
      const response = await client({ resolve }).request(`http://service.example:${port}/`, LIMITS);
      expect(await new Response(response.body).text()).to.equal('ok');
    });

    for (const addresses of [
      ['127.0.0.1'],
      ['::1'],
      ['10.1.2.3'],
      ['169.254.169.254'],
      ['::ffff:127.0.0.1'],
      ['64:ff9b::7f00:1'],
      ['fe80::1%lo'],
      ['8.8.8.8', '127.0.0.1'],
      ['2606:4700:4700::1111', '8.8.8.8', 'fd00::1'],
      [],
    ]) {
      it(`cause a refusal without a connection when they lead to [${addresses.join(', ')}]`, async () => {
        const server = await receiver((_incoming, answer) => answer.end(), startTlsReceiver);
        const strict = client({ allowPrivateAddresses: false, resolve: resolverOf(addresses).resolve });
        expect(await failureOf(strict.request(server.url, LIMITS))).to.equal('AddressRefusedError');
        expect(server.connections()).to.equal(0);
      });
    }

    it('cause a refusal that does not show the private address', async () => {
      for (const address of ['10.0.0.5', 'fd00::5']) {
        const strict = client({ allowPrivateAddresses: false, resolve: resolverOf([address]).resolve });
        const failure = await strict.request('https://inside.example/', LIMITS).catch((error: unknown) => error);
        expect(String(failure)).to.contain('inside.example leads to an address that is not public');
        expect(String(failure)).to.not.contain(address);
      }
    });

    it('resolve once per connection, so that no address can change between check and use', async () => {
      const { port } = await receiver((_incoming, answer) => answer.end('ok'));
      const { resolve, questions } = resolverOf(['127.0.0.1'], ['10.0.0.1']);
      const response = await client({ resolve }).request(`http://rebind.example:${port}/`, LIMITS);
      expect(await new Response(response.body).text()).to.equal('ok');
      expect(questions).to.have.length(1);
    });

    it('cause a refusal at the next connection when they have moved to a private address', async () => {
      // contract 8.4:3
      const { port } = await receiver((_incoming, answer) => answer.writeHead(200, { connection: 'close' }).end('ok'));
      const { resolve, questions } = resolverOf(['127.0.0.1'], ['10.0.0.1']);
      const shared = client({ resolve });
      await new Response((await shared.request(`http://rebind.example:${port}/`, LIMITS)).body).text();
      const second = shared.request(`http://rebind.example:${port}/`, LIMITS);
      expect(await failureOf(second)).to.equal('AddressRefusedError');
      expect(questions).to.have.length(2);
    });

    it('cause the resolver’s error if they do not exist', async () => {
      const missing = client({ resolve: resolveNothing }).request('https://none.example/', LIMITS);
      expect(await failureOf(missing)).to.equal('RangeError');
    });
  });

  describe('the connected socket', () => {
    it('gets no byte of the request unless it leads to a public address', async () => {
      // contract 8.4:3
      let requests = 0;
      const { port } = await receiver(() => (requests += 1));
      const astray = createGuardedConnector({
        policy: PUBLIC_ONLY,
        resolve: resolverOf(['8.8.8.8']).resolve,
        open: () =>
          new Promise((resolve) => {
            const socket = connect(port, '127.0.0.1', () => resolve(socket));
          }),
      });
      const dispatcher = new Agent({ connect: astray });
      opened.push(() => dispatcher.destroy());
      const failure = await failureOf(request('https://service.example/', { dispatcher }));
      expect(failure).to.equal('AddressRefusedError');
      expect(requests).to.equal(0);
    });

    it('needs a public address even for users of the bare dispatcher, for an address in the link, and for plain http', async () => {
      const server = await receiver((_incoming, answer) => answer.end());
      const { port } = server;
      const { dispatcher } = client({ allowPrivateAddresses: false });
      for (const origin of [`http://127.0.0.1:${port}`, `https://127.0.0.1:${port}`, `https://[::1]:${port}`]) {
        expect(await failureOf(request(origin, { dispatcher })), origin).to.equal('AddressRefusedError');
      }
      expect(server.connections()).to.equal(0);
    });
  });

  describe('redirects', () => {
    it('reach the caller unchanged when the caller allows none', async () => {
      const { url } = await receiver(countdown);
      const response = await client().request(`${url}/1`, LIMITS);
      expect([response.status, response.headers['location']]).to.eql([302, '/0']);
      await response.body.cancel();
    });

    it('lead to the last address up to the number that the caller allows, and to an error beyond', async () => {
      const { url } = await receiver(countdown);
      const response = await client().request(`${url}/3`, { ...LIMITS, redirects: 3 });
      expect(await new Response(response.body).text()).to.equal('arrived ');
      expect(response.url).to.equal(`${url}/0`);
      expect(await failureOf(client().request(`${url}/4`, { ...LIMITS, redirects: 3 }))).to.equal(
        'TooManyRedirectsError',
      );
    });

    it('reach the caller unchanged for a POST, whose body belongs to the first address', async () => {
      const { url } = await receiver(countdown);
      const response = await client().request(`${url}/1`, { ...LIMITS, method: 'POST', body: 'x', redirects: 3 });
      expect(response.status).to.equal(302);
      await response.body.cancel();
    });

    it('keep credentials on the same origin, and drop them on another origin', async () => {
      const target = await receiver(countdown);
      const { url } = await receiver((_incoming, answer) =>
        answer.writeHead(307, { location: `${target.url}/0` }).end(),
      );
      const options = { ...LIMITS, headers: { Authorization: 'secret' }, redirects: 2 };
      const same = await client().request(`${target.url}/1`, options);
      const other = await client().request(url, options);
      expect(await new Response(same.body).text()).to.equal('arrived secret');
      expect(await new Response(other.body).text()).to.equal('arrived ');
    });

    for (const location of [
      'http://10.0.0.1/',
      'http://169.254.169.254/latest/meta-data/',
      '//192.168.1.1/',
      'http://2130706433/',
      'http://[::ffff:127.0.0.1]/',
      'file:///etc/passwd',
      'http://user:password@127.0.0.1/',
      'http://',
    ]) {
      it(`cause a refusal when they lead to ${location}`, async () => {
        const { url } = await receiver((_incoming, answer) => answer.writeHead(301, { location }).end());
        const failure = await failureOf(client().request(url, { ...LIMITS, redirects: 3 }));
        expect(failure).to.equal('AddressRefusedError');
      });
    }
  });

  describe('limits', () => {
    it('fail a body above the maximum size, and accept a body of exactly that size', async () => {
      const { url } = await receiver((_incoming, answer) => answer.end(Buffer.alloc(1000)));
      const exact = await client().request(url, { ...LIMITS, maxBytes: 1000 });
      expect((await new Response(exact.body).arrayBuffer()).byteLength).to.equal(1000);
      const over = await client().request(url, { ...LIMITS, maxBytes: 999 });
      expect(await failureOf(new Response(over.body).arrayBuffer())).to.equal('BodyTooLargeError');
    });

    it('end an exchange whose body never ends', async () => {
      const { url } = await receiver((_incoming, answer) => {
        const timer = setInterval(() => answer.write('.'), 10);
        answer.on('close', () => clearInterval(timer));
      });
      const request = () => client().request(url, { ...LIMITS, maxBytes: 1e9, timeoutMs: 1_000 });
      // On a slow machine, the time may end before the body starts.
      const response = await eventually(() => request().catch(() => undefined));
      expect(await failureOf(new Response(response.body).text())).to.equal('TimeoutError');
    });

    it('end an exchange that never starts', async () => {
      const { url } = await receiver(() => {});
      expect(await failureOf(client().request(url, { ...LIMITS, timeoutMs: 50 }))).to.equal('TimeoutError');
    });

    it('end an exchange whose name never resolves', async () => {
      const waiting = client({ resolve: resolveNever }).request('https://slow.example/', { ...LIMITS, timeoutMs: 50 });
      expect(await failureOf(waiting)).to.equal('TimeoutError');
    });

    it('end a body that becomes silent', async () => {
      const { url } = await receiver((_incoming, answer) => answer.write('start'));
      const response = await client().request(url, { ...LIMITS, timeoutMs: 20_000, idleTimeoutMs: 50 });
      expect(await failureOf(new Response(response.body).text())).to.equal('BodyTimeoutError');
    });

    it('close the connection when the caller cancels the body', async () => {
      const server = await receiver((_incoming, answer) => answer.write('start'));
      const response = await client().request(server.url, LIMITS);
      await response.body.cancel();
      await server.allClosed();
    });

    it('end an exchange at the signal of the caller, before the answer and during the body', async () => {
      const { url } = await receiver((incoming, answer) => {
        if (incoming.url === '/body') answer.write('start');
      });
      const early = client().request(url, { ...LIMITS, signal: AbortSignal.timeout(20) });
      expect(await failureOf(early)).to.equal('TimeoutError');
      const controller = new AbortController();
      const response = await client().request(`${url}/body`, { ...LIMITS, signal: controller.signal });
      controller.abort(new RangeError('gone'));
      expect(await failureOf(new Response(response.body).text())).to.equal('RangeError');
      const late = client().request(url, { ...LIMITS, signal: AbortSignal.abort(new RangeError('gone')) });
      expect(await failureOf(late)).to.equal('RangeError');
    });
  });
});
