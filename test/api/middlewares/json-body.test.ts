import { expect } from 'chai';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type ErrorBody, useTestApp } from '../../support/app.ts';
import { type Answer, call } from '../../support/stack.ts';

const MIB = 2 ** 20;
const VIDEO = { model: 'vidone-3.0', prompt: 'A lighthouse' };

const sized = (bytes: number): string => JSON.stringify(VIDEO).padEnd(bytes);

describe('a JSON body', () => {
  const app = useTestApp();
  let apiKey: string;

  before(async () => {
    ({ apiKey } = await app.createAccount({ fundedUsd: 100 }));
  });

  const create = (body: string, headers: Record<string, string> = {}): Promise<Answer<ErrorBody>> =>
    call(`${app.baseUrl}/v1/videos/tasks`, { key: apiKey, body, headers });

  for (const [what, body] of [
    ['cut short', '{"model": "vidone-3.0"'],
    ['with a comma too many', '{"model": "vidone-3.0",}'],
    ['in single quotes', "{'model': 'vidone-3.0'}"],
    ['with something after it', '{} {}'],
    ['of unclosed brackets', ']]]]'],
    ['with a byte order mark', '\uFEFF\uFEFF{}'],
    ['with a bare NUL', '{"model": "a\0"}'],
    ['of NaN', '{"duration": NaN}'],
    ['of white space', '  \n'],
  ] as const) {
    it(`${what} is 400 bad_request`, async () => {
      // contract 1:12
      const { status, body: answer } = await create(body);
      expect([status, answer.error.code, answer.error.message]).to.deep.equal([
        400,
        'bad_request',
        'The body is not valid JSON. Send a valid JSON object.',
      ]);
    });
  }

  it('is refused with 400 bad_request if its bytes are not UTF-8', async () => {
    // contract 1:12
    const response = await fetch(`${app.baseUrl}/v1/videos/tasks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: Buffer.from('{"model": "vidone-3.0", "prompt": "\xff\xfe"}', 'latin1'),
    });
    expect(response.status).to.equal(400);
  });

  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'x']) {
    it(`sent as ${type} is 400 bad_request`, async () => {
      // contract 1:12
      const { status, body } = await create(JSON.stringify(VIDEO), { 'content-type': type });
      expect([status, body.error.code]).to.deep.equal([400, 'bad_request']);
      expect(body.error.message).to.contain('application/json');
    });
  }

  for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/vnd.client+json']) {
    it(`sent as ${type} is read`, async () => {
      expect((await create(JSON.stringify(VIDEO), { 'content-type': type })).status).to.equal(201);
    });
  }

  for (const encoding of ['gzip', 'br', 'GZIP, identity', 'x']) {
    it(`sent with Content-Encoding ${encoding} is 400 bad_request, which says why`, async () => {
      // contract 8.2:4
      const { status, body } = await create(JSON.stringify(VIDEO), { 'content-encoding': encoding });
      expect([status, body.error.code]).to.deep.equal([400, 'bad_request']);
      expect(body.error.message).to.contain('Content-Encoding');
    });
  }

  it('sent with Content-Encoding identity is read', async () => {
    expect((await create(JSON.stringify(VIDEO), { 'content-encoding': 'identity' })).status).to.equal(201);
  });

  it('is reported if it is missing', async () => {
    const { status, body } = await call<ErrorBody>(`${app.baseUrl}/v1/videos/tasks`, { key: apiKey, method: 'POST' });
    expect([status, body.error.message]).to.deep.equal([400, 'The request body must be a JSON object']);
  });

  it('is read up to 1 MiB, and refused with 413 with one byte more', async () => {
    // contract 7.2:10 8.2:1 8.2:4
    expect((await create(sized(MIB))).status).to.equal(201);
    const { status, body } = await create(sized(MIB + 1));
    expect([status, body.error.code, body.error.retryable]).to.deep.equal([413, 'read_request_body_failed', false]);
  });

  it('is refused with 413 if it is far too large, also without a length', async () => {
    expect((await create(' '.repeat(30 * MIB))).status).to.equal(413);
    let sent = 0;
    const response = await fetch(`${app.baseUrl}/v1/videos/tasks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: new ReadableStream({
        pull: (controller) => ((sent += 1) > 30 ? controller.close() : controller.enqueue(Buffer.alloc(MIB, ' '))),
      }),
      duplex: 'half',
    });
    expect(response.status).to.equal(413);
    await response.body?.cancel();
  });

  it('is refused with 400 if it nests too deeply, at any depth', async () => {
    // contract 8.2:2 8.2:4
    for (const depth of [33, 1000, 400_000]) {
      for (const [open, close] of [
        ['[', ']'],
        ['{"a":', '}'],
      ] as const) {
        const body = (open.repeat(depth) + close.repeat(depth)).slice(0, MIB);
        const { status, body: answer } = await create(body);
        expect([status, answer.error.message]).to.deep.equal([400, 'The body nests deeper than 32 levels.']);
      }
    }
  });

  it('may hold brackets in strings', async () => {
    expect((await create(JSON.stringify({ ...VIDEO, prompt: '[{"'.repeat(500) }))).status).to.equal(201);
  });

  it('does not harm the server if it ends before its announced length', async () => {
    const socket = connect(Number(new URL(app.baseUrl).port), '127.0.0.1');
    socket.write(
      `POST /v1/videos/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${apiKey}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"model":',
    );
    socket.end();
    const answer = await text(socket);
    expect(answer).to.satisfy((reply: string) => reply === '' || reply.startsWith('HTTP/1.1 400'));
    expect((await create(JSON.stringify(VIDEO))).status).to.equal(201);
  });
});
