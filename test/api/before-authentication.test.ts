import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import { MAX_HEADER_BYTES } from '../../api/http-server.ts';
import { useStarted } from '../support/started.ts';
import { startTestConsole } from '../support/console.ts';
import { callbackReaders } from '../support/media.ts';

/** Leaves space for the request line, and for the other headers. */
const BYTES = MAX_HEADER_BYTES - 600;
const ATTEMPTS = 6;
/** How much more time than a short request a long one may take. Linear parsers need up to 4 times as much, quadratic ones 40. */
const MAX_FACTOR = 15;

/** A text of many bytes that begins with `start`, repeats `piece`, and ends with `end`. */
function long(piece: string, { start = '', end = '' } = {}): string {
  const count = Math.floor((BYTES - start.length - end.length) / piece.length);
  return start + piece.repeat(count) + end;
}

/** A text of different pieces. */
function different(pieceOf: (index: number) => string, separator: string): string {
  const pieces: string[] = [];
  for (let length = 0; length < BYTES - 20; length += (pieces.at(-1)?.length ?? 0) + separator.length) {
    pieces.push(pieceOf(pieces.length));
  }
  return pieces.join(separator);
}

/** Parts of a target after `/` that are expensive for some readers. */
const TARGETS: Readonly<Record<string, string>> = {
  'a repeated parameter without a value': `v1/models?${long('a&')}`,
  'different parameters': `v1/models?${different((index) => `p${index}=1`, '&')}`,
  'a repeated parameter with escapes': `v1/models?${long('%61=%41&')}`,
  'a native call with a repeated parameter': `v1beta/models/texth-4-argon:generateContent?${long('key&')}`,
  'an administrative call with a repeated parameter': `admin/v1/accounts?${long('limit=1&')}`,
  'a page with a repeated parameter': `console/sign-in?${long('a&')}`,
  'a callback with a repeated parameter': `v1/provider-callbacks/simulator/task_x?${long('a&')}`,
  'the status with a repeated parameter': `status?${long('a&')}`,
  'a query of equals signs': `v1/models?${long('=')}`,
  'a query of question marks': `v1/models${long('?')}`,
  'a query of broken escapes': `v1/models?a=${long('%')}`,
  'a path of slashes': long('/'),
  'a path of short segments': `v1/videos/${long('a/')}`,
  'a path of escapes': `v1/models/${long('%2F')}`,
  'a path of broken escapes': `v1/models/${long('%')}`,
  'a path of dots': `files/${long('../')}`,
  'a path of colons': `v1beta/models/${long('a:')}`,
  'a path of many methods': `v1beta/models/${long(':generateContent')}`,
  'a page below the console': `console/${long('a/')}`,
  'a path with a character that the fast parser leaves out': `v1/models/${long('a/')}#`,
  'a path of semicolons': `v1/models/${long(';a')}`,
};

/** Headers that somebody reads before the credential is checked, or to check it. */
const HEADERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'a Host of colons': { host: long(':1') },
  'a Host of letters': { host: long('a', { end: '@' }) },
  'a Host of labels': { host: long('a.') },
  'a Host of escapes': { host: long('%61') },
  'a Host in brackets': { host: long(':', { start: '[' }) },
  'a token of blanks': { authorization: long(' ', { start: 'Bearer', end: 'x y' }) },
  'a token with blanks behind it': { authorization: long(' ', { start: 'Bearer x', end: 'y' }) },
  'a token with many tokens': { authorization: long('Bearer x ') },
  'a long token': { authorization: long('x', { start: 'Bearer ' }) },
  'a long x-api-key': { 'x-api-key': long('x'), 'msgfmt-version': '1' },
  'a Cookie of many pairs': { cookie: different((index) => `c${index}=1`, '; ') },
  'a Cookie of blanks': { cookie: long(' ', { start: 'a', end: '=1' }) },
  'a Cookie of semicolons': { cookie: long(';') },
  'a Cookie of names like ours': { cookie: long('__Host-genway-session ') },
  'an Accept of many types': { accept: different((index) => `a/b${index};q=0.${index}`, ',') },
  'an Accept of parameters': { accept: long(';a=b', { start: 'a/b' }) },
  'an Accept of blanks': { accept: long(' ', { start: 'a/b', end: ';' }) },
  'an Accept with open quotes': { accept: long('"a,') },
  'an Accept-Language of many languages': { 'accept-language': different((index) => `a-${index};q=0.1`, ',') },
  'an Accept-Language of blanks': { 'accept-language': long(' ', { start: 'en', end: ';' }) },
  'an Accept-Encoding of blanks': { 'accept-encoding': long(' ', { start: 'gzip', end: ';' }) },
  'an Accept-Encoding of many codings': { 'accept-encoding': different((index) => `a${index};q=0.1`, ',') },
  'a Content-Type of blanks': { 'content-type': long(' ', { start: 'application/json', end: ';' }) },
  'a Content-Type of parameters': { 'content-type': long('; a=b', { start: 'multipart/form-data' }) },
  'a boundary of dashes': { 'content-type': long('-', { start: 'multipart/form-data; boundary=' }) },
  'a boundary in open quotes': { 'content-type': long('\\"', { start: 'multipart/form-data; boundary="' }) },
  'an X-Forwarded-For of blanks': { 'x-forwarded-for': long(' ', { start: '1.1.1.1', end: 'x' }) },
  'an X-Forwarded-For of addresses': { 'x-forwarded-for': long('1.1.1.1, ') },
  'an X-Forwarded-For of commas': { 'x-forwarded-for': long(',') },
  'an X-Forwarded-Host of blanks': { 'x-forwarded-host': long(' ', { start: 'a', end: 'x' }) },
  'an X-Forwarded-Proto of blanks': { 'x-forwarded-proto': long(' ', { start: 'a', end: 'x' }) },
  'a Forwarded of pairs': { forwarded: long('for=1;') },
  'a traceparent of dashes': { traceparent: long('-', { start: '00' }) },
  'a tracestate of members': { traceparent: `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01`, tracestate: long('a=b, ') },
  'an If-None-Match of tags': { 'if-none-match': long('W/"a", ') },
  'an If-None-Match of blanks': { 'if-none-match': long(' ', { start: '"a"', end: ',' }) },
  'a Range of ranges': { range: long('0-1,', { start: 'bytes=' }) },
  'a Range of digits': { range: long('1', { start: 'bytes=', end: '-' }) },
  'an If-Modified-Since of digits': { 'if-modified-since': long('1 ') },
  'an Idempotency-Key of letters': { 'idempotency-key': long('a') },
  'a User-Agent of names': { 'user-agent': long('unwante') },
  'an Expect of blanks': { expect: long(' ', { start: '100', end: 'x' }) },
  'a signature of parts': { 'stripe-signature': long('t=1,') },
  'a signature of blanks': { 'stripe-signature': long(' ', { start: 't=1', end: ',v1' }) },
  'a page in the referer': { referer: long('/..', { start: 'http://x/console' }) },
  'many headers': Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`x-${index}`, '1'])),
};

const STORED = 'results/of-this-test.png';

/** One path for each reader of headers: keys, pages, files, tokens, signatures and bodies. */
const READERS: readonly (readonly [method: string, path: string])[] = [
  ['GET', '/v1/models'],
  ['POST', '/v1/chat/completions'],
  ['POST', '/v1/messages'],
  ['POST', '/v1/files'],
  ['POST', '/v1/images/edits'],
  ['POST', '/v1/provider-callbacks/simulator/task_x'],
  ['POST', '/v1/payment-events'],
  ['GET', '/admin/v1/find/x'],
  ['GET', '/console/sign-in'],
  ['POST', '/console/sign-in'],
  ['GET', '/status'],
  ['GET', '/docs/api'],
  ['GET', `/files/${STORED}`],
  ['GET', '/nothing'],
  ['OPTIONS', '/v1/models'],
];

interface Head {
  readonly method: string;
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const SHORT: Head = { method: 'GET', target: '/v1/models' };

/** A request without a credential. */
function requestOf({ method, target, headers = {} }: Head): Buffer {
  const lines = Object.entries({ host: 'x', 'content-length': '2', ...headers, connection: 'close' });
  const head = [`${method} ${target} HTTP/1.1`, ...lines.map(([name, value]) => `${name}: ${value}`)];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n{}`, 'latin1');
}

/** Sends a request, and returns the status of its answer. */
async function statusOf(baseUrl: string, request: Uint8Array): Promise<number> {
  const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1');
  try {
    socket.write(request);
    const [first] = await once(socket, 'data');
    return Number(/^HTTP\/1\.1 (\d+)/.exec(String(first))?.[1]);
  } finally {
    socket.destroy();
  }
}

describe('before a request is authenticated', () => {
  const app = useStarted(() =>
    startTestConsole({
      settings: { trustedProxies: 1, rejectedUserAgents: ['unwanted'], paymentWebhookSecret: 'whsec_of_a_test' },
      providerCallbacks: { readers: callbackReaders('simulator', 'the-secret-of-both'), announce: async () => {} },
    }),
  );
  let textUrl: string;
  /** The processor time of a short request. */
  let shortRequest = 0;
  before(async () => {
    textUrl = await app.startText();
    await app.storage.put(STORED, Readable.from(Buffer.from('x')), { contentType: 'image/png', maxBytes: 1 });
    // The first request at a path compiles what serves it.
    for (const [method, target] of READERS) await statusOf(app.baseUrl, requestOf({ method, target }));
    await statusOf(textUrl, requestOf(SHORT));
    shortRequest = await cpuOf(app.baseUrl, SHORT);
  });

  /** Sends a request. @returns its processor time, sender included */
  async function cpuOf(baseUrl: string, head: Head): Promise<number> {
    const request = requestOf(head);
    const before = process.cpuUsage();
    const status = await statusOf(baseUrl, request);
    const { user, system } = process.cpuUsage(before);
    expect(status, `${head.method} ${head.target.slice(0, 60)}`).to.be.within(200, 499);
    return user + system;
  }

  /** Compares the least disturbed of several attempts with the slowest of as many short requests. */
  async function expectQuick(baseUrl: string, head: Head): Promise<void> {
    let long = Infinity;
    for (let attempt = 0; attempt < ATTEMPTS && long > MAX_FACTOR * shortRequest; attempt += 1) {
      if (attempt > 0) shortRequest = Math.max(shortRequest, await cpuOf(baseUrl, SHORT));
      long = Math.min(long, await cpuOf(baseUrl, head));
    }
    expect(long / shortRequest, `${head.method} ${head.target.slice(0, 60)}`).to.be.below(MAX_FACTOR);
  }

  for (const [what, target] of Object.entries(TARGETS)) {
    it(`${what} takes no more time than its bytes`, async () => {
      for (const method of ['GET', 'POST']) {
        await expectQuick(app.baseUrl, { method, target: `/${target}` });
        await expectQuick(textUrl, { method, target: `/${target}` });
      }
    });
  }

  for (const [what, headers] of Object.entries(HEADERS)) {
    it(`${what} takes no more time than its bytes`, async () => {
      for (const [method, target] of READERS) await expectQuick(app.baseUrl, { method, target, headers });
      await expectQuick(textUrl, { method: 'POST', target: '/v1/messages', headers });
    });
  }

  it('refuses a query of more than 8 KiB, and one of more than 100 parameters, with or without a key', async () => {
    // contract 8.2:11
    const { apiKey } = await app.createAccount();
    for (const baseUrl of [app.baseUrl, textUrl]) {
      for (const headers of [{}, { authorization: `Bearer ${apiKey}` }]) {
        for (const query of [`a=${'b'.repeat(8 * 1024)}`, Array(101).fill('a=1').join('&')]) {
          const response = await fetch(`${baseUrl}/v1/models?${query}`, { headers });
          expect(response.status).to.equal(400);
          expect(await response.text())
            .to.contain('"code":"bad_request"')
            .and.to.contain('100 parameters');
        }
      }
      const query = Array(100).fill('a=1').join('&');
      const served = await fetch(`${baseUrl}/v1/models?${query}`, { headers: { authorization: `Bearer ${apiKey}` } });
      expect(served.status).to.equal(200);
    }
  });
});
