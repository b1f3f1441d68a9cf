import type { IncomingMessage, RequestListener } from 'node:http';
import { expect } from 'chai';
import { Agent } from 'undici';
import { findFreePort } from '../../../bin/stack/ports.ts';
import {
  JobRefusedError,
  NotTakenError,
  OutcomeUnknownError,
  ProviderUnreachableError,
} from '../../../providers/media/outcomes.ts';
import { createVendorHttp, type VendorHttp, type VendorHttpOptions } from '../../../providers/media/vendor-http.ts';
import { type LocalServer, serveLocally } from '../../../lab/stack/local-server.ts';
import { rejectionOf } from '../../support/rejection.ts';

const signal = new AbortController().signal;
const LIMITS = { timeoutMs: 5_000, maxResponseBytes: 1_000, isRepeatable: false };
const NOW = 'Sun, 06 Nov 1994 08:49:37 GMT';
const LATER = 'Sun, 06 Nov 1994 08:50:37 GMT';
const CALL = { path: 'v1/renders', body: { json: { prompt: 'A boat' } } };

const retryInfo = (retryDelay: string): string => JSON.stringify({ error: { details: [{ retryDelay }] } });

describe('HTTP with an upstream of media', () => {
  const open: { close(): Promise<void> }[] = [];

  afterEach(async () => {
    for (const resource of open.splice(0)) await resource.close();
  });

  function connect(baseUrl: string, options: Partial<VendorHttpOptions> = {}): VendorHttp {
    const dispatcher = new Agent();
    open.unshift({ close: () => dispatcher.destroy() });
    const credential = (): Record<string, string> => ({ authorization: 'Bearer key' });
    return createVendorHttp({ base: new URL(baseUrl), credential, dispatcher, ...options });
  }

  async function serve(listener: RequestListener): Promise<LocalServer> {
    const server = await serveLocally(listener);
    open.push(server);
    return server;
  }

  const submitTo = (url: string, limits: Partial<typeof LIMITS> = {}): Promise<Error> =>
    rejectionOf(connect(url).submit(CALL, { ...LIMITS, ...limits }, () => null, signal));

  async function outcomeOf(status: number, body: string, headers: Record<string, string> = {}): Promise<Error> {
    const { url } = await serve((_request, response) => response.writeHead(status, headers).end(body));
    return submitTo(url);
  }

  describe('a submission', () => {
    it('counts as not accepted when nothing listens', async () => {
      const error = await submitTo(`http://127.0.0.1:${await findFreePort()}`);
      expect(error).to.be.instanceOf(NotTakenError).with.property('isRouteExcluded', false);
      expect(error.message).to.contain('ECONNREFUSED');
    });

    it('counts as not accepted when the name does not exist', async () => {
      expect(await submitTo('http://nobody.invalid')).to.be.instanceOf(NotTakenError);
    });

    it('counts as not accepted when no encrypted connection is established', async () => {
      const { url } = await serve((_request, response) => response.end());
      expect(await submitTo(url.replace('http:', 'https:'))).to.be.instanceOf(NotTakenError);
    });

    it('counts as not accepted, with the requested wait, when there are too many', async () => {
      const error = await outcomeOf(429, '{}', { 'retry-after': '7' });
      expect(error).to.be.instanceOf(NotTakenError).with.property('retryAfterMs', 7_000);
    });

    for (const [what, headers, body, waitMs] of [
      ['seconds', { 'retry-after': '7' }, '{}', 7_000],
      ['fractions of seconds', { 'retry-after': '1.5' }, '{}', 1_500],
      ['a date by the clock of the vendor', { 'retry-after': LATER, date: NOW }, '{}', 60_000],
      ['a date in the past', { 'retry-after': NOW, date: LATER }, '{}', 0],
      ['Google’s RetryInfo', {}, retryInfo('34.4s'), 34_400],
      ['RetryInfo that is longer than the header', { 'retry-after': '7' }, retryInfo('48s'), 48_000],
      ['no time', { 'retry-after': '0' }, '{}', 0],
      ['an absurd time', { 'retry-after': '1000000000' }, '{}', 3_600_000],
      ['an absurd RetryInfo', {}, retryInfo(`${'9'.repeat(400)}s`), 3_600_000],
      ['the end of time', { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' }, '{}', 3_600_000],
      ['a negative time', { 'retry-after': '-5' }, retryInfo('-5s'), undefined],
      ['no number', { 'retry-after': 'soon' }, retryInfo('1e9s'), undefined],
    ] as const) {
      it(`counts as not accepted with a wait from ${what}, as every other call`, async () => {
        const { url } = await serve((_request, response) => response.writeHead(429, headers).end(body));
        const http = connect(url);
        const file = { url, mimeType: null };
        expect(await submitTo(url))
          .to.be.instanceOf(NotTakenError)
          .with.property('retryAfterMs', waitMs);
        expect(await rejectionOf(http.send({ path: 'v1/renders/1' }, signal)))
          .to.be.instanceOf(ProviderUnreachableError)
          .with.property('retryAfterMs', waitMs);
        if (body !== '{}') return;
        expect(await rejectionOf(http.download(file, signal)))
          .to.be.instanceOf(ProviderUnreachableError)
          .with.property('retryAfterMs', waitMs);
      });
    }

    for (const status of [401, 402, 403, 404]) {
      it(`counts as not accepted, and skips the route, when the operator’s account or the model is at fault: ${status}`, async () => {
        expect(await outcomeOf(status, '{}'))
          .to.be.instanceOf(NotTakenError)
          .with.property('isRouteExcluded', true);
      });
    }

    for (const [status, location, origin] of [
      [301, 'https://api.vendor.example/v1/renders', 'https://api.vendor.example'],
      [307, 'https://eu.vendor.example/v2/renders?region=eu', 'https://eu.vendor.example'],
      [308, '//www.vendor.example/v1/renders/', 'http://www.vendor.example'],
    ] as const) {
      it(`counts as not accepted, and tells operators the new origin, when the address has moved: ${status}`, async () => {
        const error = await outcomeOf(status, '<html>Moved</html>', { location });
        expect(error).to.be.instanceOf(NotTakenError).with.property('isRouteExcluded', true);
        expect(error.message).to.equal(
          `the upstream answered ${status}: the address has moved to ${origin}. Correct base_url`,
        );
      });
    }

    it('counts as not accepted when the vendor reports overload', async () => {
      expect(await outcomeOf(503, '{"error": "overloaded"}')).to.be.instanceOf(NotTakenError);
    });
  });

  describe('the outcome of a submission', () => {
    for (const status of [301, 400, 408, 409, 422, 425, 500, 502, 504, 524]) {
      it(`is unknown after ${status}, unless the adapter knows better`, async () => {
        expect(await outcomeOf(status, '{}')).to.be.instanceOf(OutcomeUnknownError);
      });
    }

    for (const [status, location] of [
      [301, '/v1/renders/1'],
      [301, '/v1/renders'],
      [301, 'https://api.vendor.example/v1/renders?id=1'],
      [302, '/v1/renders'],
      [303, '/v1/renders'],
      [307, 'http://['],
      [308, ''],
    ] as const) {
      it(`is unknown after ${status} to ${location || 'nowhere'}, which may follow a submission that was accepted`, async () => {
        expect(await outcomeOf(status, '{}', location === '' ? {} : { location })).to.be.instanceOf(
          OutcomeUnknownError,
        );
      });
    }

    it('is unknown when a proxy reports that the vendor is unreachable', async () => {
      expect(await outcomeOf(503, '<html>Service Unavailable</html>')).to.be.instanceOf(OutcomeUnknownError);
    });

    it('is unknown when the connection breaks after the body was sent', async () => {
      const { url } = await serve((request) => {
        request.resume().once('end', () => request.socket.destroy());
      });
      expect(await submitTo(url)).to.be.instanceOf(OutcomeUnknownError);
    });

    it('is unknown when no answer arrives in time', async () => {
      const { url } = await serve(() => undefined);
      expect(await submitTo(url, { timeoutMs: 50 })).to.be.instanceOf(OutcomeUnknownError);
    });

    it('is unknown when the answer is too long to read', async () => {
      expect(await outcomeOf(200, 'x'.repeat(2_000))).to.be.instanceOf(OutcomeUnknownError);
    });
  });

  it("prefers what the adapter reads in an answer to the answer's status", async () => {
    const { url } = await serve((_request, response) => response.writeHead(429).end('{"code": 1301}'));
    const refused = new JobRefusedError('content_policy_violation');
    const error = await rejectionOf(connect(url).submit(CALL, LIMITS, () => refused, signal));
    expect(error).to.equal(refused);
  });

  it('throws the reason of a caller that gives up halfway, which is not an outcome', async () => {
    const { url } = await serve(() => caller.abort(new Error('the worker stops')));
    const caller = new AbortController();
    const error = await rejectionOf(connect(url).submit(CALL, LIMITS, () => null, caller.signal));
    expect(error.message).to.equal('the worker stops');
  });

  it('sends requests that must not be repeated over separate connections', async () => {
    const ports: (number | undefined)[] = [];
    const { url } = await serve((request, response) => {
      ports.push(request.socket.remotePort);
      request.resume();
      response.end('{}');
    });
    const http = connect(url);
    for (let time = 0; time < 3; time += 1) await http.submit(CALL, LIMITS, () => null, signal);
    expect(new Set(ports).size).to.equal(3);
  });

  it('sends fields, files and the length of a form', async () => {
    const seen: { headers: IncomingMessage['headers']; body: string }[] = [];
    const { url } = await serve((request, response) => {
      let body = '';
      request.setEncoding('latin1').on('data', (chunk: string) => (body += chunk));
      request.once('end', () => {
        seen.push({ headers: request.headers, body });
        response.end('{}');
      });
    });
    const file = { name: 'image', filename: 'a".png', contentType: 'image/png', bytes: Buffer.from('PNG') };
    const form = [{ name: 'prompt', value: 'A boat' }, file];
    await connect(url).submit({ path: 'v1/edits', body: { form } }, LIMITS, () => null, signal);
    const [{ headers, body } = { headers: {}, body: '' }] = seen;
    expect(headers['content-type']).to.match(/^multipart\/form-data; boundary=/);
    expect(Number(headers['content-length'])).to.equal(body.length);
    expect(headers).not.to.have.property('transfer-encoding');
    expect(body).to.contain('name="prompt"\r\n\r\nA boat\r\n');
    expect(body).to.contain('name="image"; filename="a%22.png"\r\nContent-Type: image/png\r\n\r\nPNG\r\n');
  });

  it('sends the credential to no other origin, whatever address an upstream names', async () => {
    const error = await rejectionOf(
      connect('http://127.0.0.1:9').send({ path: 'https://elsewhere.example/v1' }, signal),
    );
    expect(error).to.be.instanceOf(ProviderUnreachableError);
    expect(error.message).to.contain('another origin');
  });

  it('gives up a request without an answer', async () => {
    const { url } = await serve(() => undefined);
    const http = connect(url, { answerTimeoutMs: 50 });
    const error = await rejectionOf(http.send({ path: 'v1/renders/1' }, signal));
    expect(error.message).to.equal('the upstream took too long');
  });

  describe('downloads', () => {
    const fetched = async (http: VendorHttp, url: string): Promise<string> => {
      const { body } = await http.download({ url, mimeType: null }, signal);
      return new Response(body).text();
    };

    it('follow redirects, without the credential when the origin changes', async () => {
      const seen: (string | undefined)[] = [];
      const note = (request: IncomingMessage): void => void seen.push(request.headers.authorization);
      const store = await serve((request, response) => {
        note(request);
        response.end('file');
      });
      const vendor = await serve((request, response) => {
        note(request);
        const location = request.url === '/file' ? '/again' : `${store.url}/1.mp4`;
        response.writeHead(302, { location }).end();
      });
      const http = connect(vendor.url, { externalDispatcher: new Agent() });
      expect(await fetched(http, `${vendor.url}/file`)).to.equal('file');
      expect(seen).to.deep.equal(['Bearer key', 'Bearer key', undefined]);
    });

    it('end after three redirects, and at a link that is not a web address', async () => {
      const circle = await serve((_request, response) => response.writeHead(302, { location: '/again' }).end());
      const trap = await serve((_request, response) => response.writeHead(302, { location: 'file:///etc' }).end());
      for (const { url } of [circle, trap]) {
        const error = await rejectionOf(fetched(connect(url), `${url}/file`));
        expect(error).to.be.instanceOf(JobRefusedError).with.property('code', 'result_transfer_failed');
      }
    });

    it('may come from origins that the operator named, without the credential and without the guard', async () => {
      const seen: (string | undefined)[] = [];
      const store = await serve((request, response) => {
        seen.push(request.headers.authorization);
        response.end('file');
      });
      const http = connect('http://127.0.0.1:9', { resultOrigins: [store.url] });
      expect(await fetched(http, `${store.url}/1.mp4`)).to.equal('file');
      expect(seen).to.deep.equal([undefined]);
    });

    it('return the file in a data URL, whatever its parameters', async () => {
      const http = connect('http://127.0.0.1:9');
      for (const head of ['data:image/png;base64', 'DATA:image/png;charset=x;base64', 'data:;base64']) {
        expect(await fetched(http, `${head},${Buffer.from('file').toString('base64')}`), head).to.equal('file');
      }
      const error = await rejectionOf(fetched(http, 'data:text/plain,file'));
      expect(error).to.be.instanceOf(JobRefusedError).with.property('code', 'result_transfer_failed');
    });

    it('ask for the file as it is, like all calls, because a server may otherwise compress it', async () => {
      const seen: unknown[] = [];
      const { url } = await serve((request, response) => {
        seen.push(request.headers['accept-encoding']);
        response.end('{}');
      });
      const http = connect(url);
      await fetched(http, `${url}/file`);
      await http.send({ path: 'job' }, signal);
      await http.submit(CALL, LIMITS, () => null, signal);
      expect(seen).to.deep.equal(['identity', 'identity', 'identity']);
    });

    it('return a file that is already in memory', async () => {
      const http = connect('http://127.0.0.1:9');
      const { body } = await http.download({ bytes: Buffer.from('file'), mimeType: 'x/y' }, signal);
      expect(await new Response(body).text()).to.equal('file');
    });
  });
});
