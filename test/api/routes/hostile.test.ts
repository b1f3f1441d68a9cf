import { callbackReaders } from '../../support/media.ts';
import { expect } from 'chai';
import * as fc from 'fast-check';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { endpointsFor } from '../../../api/endpoints.ts';
import { type ErrorBody, useTestApp } from '../../support/app.ts';
import type { TestCaller } from '../../support/factories.ts';
import { FORM_HEADERS, formOf } from '../../support/forms.ts';
import { call } from '../../support/stack.ts';
import { casesOf } from '../../support/properties.ts';
import { parseUrl } from '../../../domain/parse-url.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';

const RUNS = { numRuns: casesOf(100) };

const FIELDS = [
  'model',
  'prompt',
  'images',
  'reference_videos',
  'reference_audios',
  'duration',
  'aspect_ratio',
  'resolution',
  'size',
  'background',
  'seed',
  'url',
  'events',
  'description',
  'enabled',
  '__proto__',
  'constructor',
  'toString',
  '',
] as const;

/** Values that are known to break services. */
const nasty = fc.constantFrom<unknown>(
  null,
  -1,
  0,
  -0,
  0.1,
  1e308,
  Number.MAX_SAFE_INTEGER + 1,
  '',
  '\0',
  'a\0b',
  '\ud800',
  '\udc00\ud800',
  '\uFEFF',
  '\u202e',
  '🏠'.repeat(5001),
  "'; DROP TABLE tasks; --",
  '{{constructor}}',
  '%00',
  '../../../etc/passwd',
  'https://[::ffff:127.0.0.1]/',
  'https://\0/',
  'https://a.example/\ud800',
  'https://' + 'a.'.repeat(2000),
  '1024x1024',
  '1e3x1e3',
  'NaN',
  [],
  [[]],
  {},
  { toString: 1 },
  { length: 1e9 },
);

const json = fc.oneof(nasty, fc.jsonValue({ maxDepth: 4 }));

/** Bodies that are nearly valid. */
const almostGood = fc
  .tuple(
    fc.constantFrom('vidone-3.0', 'vidtwo-1.1', 'imagea-2.5-sunburst', 'imageb-2', 'textc-M3', '__proto__'),
    fc.dictionary(fc.constantFrom(...FIELDS), json, { maxKeys: 6 }),
  )
  .map(([model, fields]) => JSON.stringify({ model, prompt: 'A lighthouse', ...fields }));

/** Text that only looks like JSON. */
const almostJson = fc.oneof(
  fc.tuple(almostGood, fc.nat(), fc.string({ maxLength: 3, unit: 'binary' })).map(([body, at, change]) => {
    const place = at % (body.length + 1);
    return body.slice(0, place) + change + body.slice(place + 1);
  }),
  fc.constantFrom(
    '{"model": "vidone-3.0", "model": 7}',
    '{"prompt": "a", "prompt": "b", "model": "vidone-3.0", "duration": 5, "duration": "x"}',
    '{"__proto__": {"model": "vidone-3.0", "prompt": "a"}}',
    '{"model": "vidone-3.0", "prompt": "a", "__proto__": null}',
    '{"model": "vidone-3.0", "prompt": "\\ud800"}',
    '{"model": "vidone-3.0", "prompt": "a", "duration": 1e999}',
    '{"model": "vidone-3.0", "prompt": "a", "duration": 5.0000000000000000001}',
    `{"model": "vidone-3.0", "prompt": "a", "duration": ${'9'.repeat(5000)}}`,
    `{"model": "vidone-3.0", "prompt": "a", "images": [${'"https://a.example/b",'.repeat(30_000)}"x"]}`,
    `{${Array.from({ length: 50_000 }, (_, index) => `"k${index}":0`).join()}}`,
    '['.repeat(100_000),
    'null',
    '"vidone-3.0"',
    '[]',
  ),
);

const body = fc.oneof(
  almostGood,
  almostJson,
  json.map((value) => JSON.stringify(value)),
);

/** Header values that HTTP allows. */
const headerText = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .filter((code) => code !== 0x7f)
    .map((code) => String.fromCharCode(code)),
  maxLength: 300,
});
const headers = fc.record(
  {
    'idempotency-key': fc.oneof(headerText, fc.constantFrom('k', '', ' ', 'k'.repeat(256), '\xff')),
    'content-type': fc.oneof(
      headerText,
      fc.constantFrom('application/json', 'application/json; charset=utf-16', 'text/plain', '/', ';'),
    ),
    'x-forwarded-for': headerText,
    'user-agent': headerText,
    accept: headerText,
    range: headerText,
    'if-none-match': headerText,
    'content-encoding': fc.constantFrom('gzip', 'br', 'identity', 'x'),
  },
  { requiredKeys: [] },
);

const segment = fc.oneof(
  fc.string({ maxLength: 60, unit: 'binary' }).map((part) => encodeURIComponent(part)),
  fc.constantFrom(
    '%',
    '%00',
    '%FF',
    '%2e%2e',
    '..',
    ':',
    'task_',
    `task_${'z'.repeat(32)}`,
    `we_${'0'.repeat(32)}`,
    '__proto__',
    '%F0%9F%98%80',
  ),
);

const ROUTES: readonly (readonly [string, string])[] = [
  ['POST', '/v1/videos/tasks'],
  ['POST', '/v1/images/tasks'],
  ['GET', '/v1/tasks'],
  ['GET', '/v1/tasks/:id'],
  ['GET', '/v1/models'],
  ['GET', '/v1/models/:id'],
  ['POST', '/v1/files'],
  ['POST', '/v1/webhooks'],
  ['GET', '/v1/webhooks'],
  ['PATCH', '/v1/webhooks/:id'],
  ['POST', '/v1/webhooks/:id/test'],
  ['POST', '/v1/webhooks/:id/redeliver'],
  ['GET', '/v1/webhooks/:id/deliveries'],
  ['POST', '/v1/provider-callbacks/simulator/:id'],
  ['GET', '/files/:id'],
  ['DELETE', '/:id'],
];

const query = fc
  .dictionary(fc.constantFrom('limit', 'cursor', 'status', 'model', 'task_kind', 'from', 'to', 'x'), segment, {
    maxKeys: 3,
  })
  .map((values) =>
    Object.entries(values)
      .map(([name, value]) => `${name}=${value}`)
      .join('&'),
  );

describe('hostile client input', () => {
  let caller: TestCaller;

  const app = useTestApp({
    providerCallbacks: { readers: callbackReaders('simulator', 'the-secret-of-both'), announce: async () => {} },
  });
  before(async () => {
    caller = await app.createAccount({ fundedUsd: 1000 });
  });

  /** @throws when the answer is a 500, shows internals of the service, or does not arrive */
  async function send(
    method: string,
    path: string,
    sent: Record<string, string>,
    content?: string | Uint8Array,
  ): Promise<number> {
    const response = await fetch(app.baseUrl + path, {
      method,
      headers: { 'content-type': 'application/json', ...sent, authorization: `Bearer ${caller.apiKey}` },
      ...(content !== undefined && method !== 'GET' && { body: content }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const answer = await response.text();
    expect(response.status, `${method} ${path}: ${answer}\n${app.logged().slice(-2000)}`).to.be.below(500);
    expect(answer).to.not.match(/node_modules|\.ts:\d+|at async|Error:|SELECT|INSERT/);
    if (response.status >= 400)
      expect(Object.keys(JSON.parse(answer).error)).to.include.members(['code', 'message', 'retryable', 'request_id']);
    return response.status;
  }

  for (const path of [
    '/v1/videos/tasks',
    '/v1/images/tasks',
    '/v1/webhooks',
    `/v1/webhooks/we_${'0'.repeat(32)}/redeliver`,
  ]) {
    it(`causes no 500, stack trace or hang as a body of ${path}`, async () => {
      await fc.assert(
        fc.asyncProperty(body, async (content) => {
          const status = await send('POST', path, {}, content);
          expect(status).to.be.oneOf([201, 400, 404, 413, 429]);
        }),
        RUNS,
      );
    });
  }

  it('causes no 500 as path, query, headers and body of any route', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...ROUTES),
        segment,
        query,
        headers,
        body,
        async ([method, route], id, search, sent, content) => {
          const target = `${route.replace(':id', id)}?${search}`;
          // The client library refuses to send some inputs, which never reach the service.
          const isSendable = parseUrl(target, app.baseUrl) !== null;
          if (isSendable) await send(method, target, sent, content);
        },
      ),
      { numRuns: casesOf(300) },
    );
  });

  it('causes no 500 with NUL or an invalid byte in the path or the query of any endpoint, from clients or operators', async () => {
    for (const { method, path, parameters } of endpointsFor({ canTakePayments: false })) {
      const names = parameters.flatMap((parameter) => (parameter['in'] === 'query' ? [String(parameter['name'])] : []));
      for (const broken of ['a%00b', 'a%FFb']) {
        const targets = [
          path.replaceAll(/\{\w+\}/g, broken),
          ...names.map((name) => `${path.replaceAll(/\{\w+\}/g, 'a')}?${name}=${broken}`),
        ];
        for (const target of targets) {
          const authorization = `Bearer ${path.startsWith('/admin') ? app.adminToken : caller.apiKey}`;
          const sent = { method: method.toUpperCase(), headers: { authorization, 'content-type': 'application/json' } };
          const { status } = await fetch(app.baseUrl + target, { ...sent, ...(method !== 'get' && { body: '{}' }) });
          expect(
            status === 503 || status < 500,
            `${method} ${target}: ${status}\n${app.logged().slice(-1_000)}`,
          ).to.equal(true);
        }
      }
    }
  });

  it('causes no 500 as a form of POST /v1/files', async () => {
    const form = formOf({ filename: 'a.png', content: 'x'.repeat(64) }, { name: 'note', content: 'y' });
    await fc.assert(
      fc.asyncProperty(
        fc.nat(form.length - 1),
        fc.uint8Array({ maxLength: 8 }),
        fc.nat(20),
        async (at, change, removed) => {
          const changed = Buffer.concat([form.subarray(0, at), change, form.subarray(at + removed)]);
          expect(await send('POST', '/v1/files', FORM_HEADERS, changed)).to.equal(400);
        },
      ),
      RUNS,
    );
    expect(await app.storedFiles()).to.deep.equal([]);
  });

  it('causes no 500 as an id of the administration', async () => {
    for (const [method, path] of [
      ['DELETE', '/admin/v1/keys/%00'],
      ['PATCH', '/admin/v1/keys/%00'],
      ['GET', '/admin/v1/accounts/%00'],
      ['GET', '/admin/v1/accounts/%00/ledger'],
      ['POST', '/admin/v1/accounts/%00/keys'],
      ['GET', '/admin/v1/tasks/%00'],
      ['GET', '/admin/v1/tasks?account_id=%00'],
      ['GET', '/admin/v1/webhooks/deliveries?task_id=%00'],
      ['POST', '/admin/v1/webhooks/deliveries/%00/redeliver'],
    ] as const) {
      const { status } = await call(app.baseUrl + path, { method, key: app.adminToken });
      expect(status, `${method} ${path}`).to.be.oneOf([400, 404]);
    }
  });

  it('changes no prototype of objects', async () => {
    await send(
      'POST',
      '/v1/videos/tasks',
      {},
      '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}',
    );
    expect(Object.hasOwn(Object.prototype, 'polluted')).to.equal(false);
  });

  it('passes no inherited field off as its own', async () => {
    const { status, body: answer } = await call<ErrorBody>(`${app.baseUrl}/v1/videos/tasks`, {
      key: caller.apiKey,
      body: '{"__proto__": {"model": "vidone-3.0", "prompt": "a"}}',
    });
    expect([status, answer.error.message]).to.deep.equal([400, '"model" is required']);
    const named = await call<ErrorBody>(`${app.baseUrl}/v1/videos/tasks`, {
      key: caller.apiKey,
      body: '{"model": "vidone-3.0", "prompt": "a", "__proto__": {}}',
    });
    expect([named.status, named.body.error.message]).to.deep.equal([400, 'unknown field: __proto__']);
  });

  for (const [what, request] of [
    ['that is no HTTP', 'hello\r\n\r\n'],
    ['with a broken target', 'GET http://[ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['with two slashes', 'GET // HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['with an asterisk', 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['with an absolute target', 'GET http://x/v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['with a NUL in its target', 'GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n'],
    [
      'with bytes above ASCII in its target',
      'GET /v1/models/\xff\xfe HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    ],
    [
      'with two lengths',
      'POST /v1/videos/tasks HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}',
    ],
    [
      'with a length and chunks',
      'POST /v1/videos/tasks HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['with a broken chunk', 'POST /v1/files HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
    ['without a host', 'GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['with headers that are too large', `GET /v1/models HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`],
    [
      'for another protocol',
      'GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n',
    ],
    ['to connect through', 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['with a method of its own', 'BREW /v1/models HTTP/1.1\r\nHost: x\r\n\r\n'],
    [
      'that expects the impossible',
      'POST /v1/files HTTP/1.1\r\nHost: x\r\nExpect: magic\r\nConnection: close\r\nContent-Length: 0\r\n\r\n',
    ],
  ] as const) {
    it(`does not crash the service as a request ${what}`, async () => {
      const socket = connect(Number(new URL(app.baseUrl).port), '127.0.0.1').setTimeout(PATIENCE_MS, () =>
        socket.destroy(new Error('no answer')),
      );
      socket.write(request, 'latin1');
      const answer = await text(socket);
      expect(answer).to.satisfy((reply: string) => reply === '' || /^HTTP\/1\.1 [24]\d\d /.test(reply));
      expect((await call(`${app.baseUrl}/v1/models`, { key: caller.apiKey })).status).to.equal(200);
    });
  }
});
