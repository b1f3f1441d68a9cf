import { expect } from 'chai';
import OpenAI from 'openai';
import { request } from 'node:http';
import { waitUntil } from '../../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../../support/eventually.ts';
import { newId } from '../../../../domain/ids.ts';
import { type ErrorBody, startTestApp, useTestApp } from '../../../support/app.ts';
import { StorageFailedError } from '../../../../storage/storage.ts';
import type { TestCaller } from '../../../support/factories.ts';
import { BOUNDARY, endOfForm, FORM_HEADERS, formOf, type FormPart, longForm, partOf } from '../../../support/forms.ts';
import { type Answer, call } from '../../../support/stack.ts';
import { png } from '../../../storage/images.ts';

interface FileBody {
  readonly id: string;
  readonly object: string;
  readonly url: string;
  readonly mime_type: string;
  readonly bytes: number;
  readonly created_at: number;
  readonly filename: string | null;
  readonly used_at: number | null;
  readonly expires_at: number | null;
}

interface FilePage {
  readonly data: readonly FileBody[];
  readonly next_cursor: string | null;
}

interface Reply {
  readonly status: number;
  readonly data: FileBody;
  readonly error: { readonly code: string; readonly message: string };
}

const MIB = 2 ** 20;
const PNG = png(64, 64);

/** The first bytes of a file of each of the ten types. */
const TYPES = [
  ['png', 'image/png', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR'],
  ['jpg', 'image/jpeg', '\xff\xd8\xff\xe0\0\x10JFIF'],
  ['jpeg', 'image/jpeg', '\xff\xd8\xff\xe1\x12\x34Exif'],
  ['webp', 'image/webp', 'RIFF\x24\0\0\0WEBPVP8 '],
  ['mp3', 'audio/mpeg', 'ID3\x03\0\0\0\0\x0f\x76'],
  ['wav', 'audio/wav', 'RIFF\x24\0\0\0WAVEfmt '],
  ['aac', 'audio/aac', '\xff\xf1\x50\x80'],
  ['m4a', 'audio/mp4', '\0\0\0\x1cftypM4A \0\0\0\0'],
  ['mp4', 'video/mp4', '\0\0\0\x18ftypmp42\0\0\0\0'],
  ['mov', 'video/quicktime', '\0\0\0\x14ftypqt  \0\0\x02\0'],
] as const;

describe('POST /v1/files', () => {
  const app = useTestApp();
  let apiKey: string;

  before(async () => {
    ({ apiKey } = await app.createAccount());
  });

  async function send(
    body: Uint8Array | ReadableStream,
    headers: Record<string, string> = FORM_HEADERS,
  ): Promise<Reply> {
    const response = await fetch(`${app.baseUrl}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, ...headers },
      body,
      ...(body instanceof ReadableStream && { duplex: 'half' }),
    });
    const text = await response.text();
    return { ...JSON.parse(text), status: response.status };
  }

  const upload = (...parts: readonly FormPart[]): Promise<Reply> => send(formOf(...parts));

  it('answers 201 with a public link to the unchanged file', async () => {
    // contract 2.2:7 2.7:1 2.7:2 2.7:4 2.7:6 4.5:2
    const content = Buffer.concat([PNG, Buffer.from('\r\n--not the boundary\r\n')]);
    const { status, data } = await upload({ filename: 'lighthouse.png', content });
    expect(status).to.equal(201);
    expect(data).to.include({
      object: 'file',
      mime_type: 'image/png',
      bytes: content.byteLength,
      filename: 'lighthouse.png',
    });
    expect(data.id).to.match(/^file_[0-9a-z]{32}$/);
    expect(data.created_at).to.be.closeTo(Date.now() / 1000, 60);
    const file = await fetch(data.url);
    expect(file.headers.get('content-type')).to.equal('image/png');
    expect(Buffer.from(await file.arrayBuffer())).to.deep.equal(content);
  });

  for (const [type, mimeType, head] of TYPES) {
    it(`accepts ${type} under any name and type that the client sends`, async () => {
      // contract 2.7:3 4.5:4
      const content = Buffer.from(head.padEnd(64, '\0'), 'latin1');
      const { status, data } = await upload({ filename: 'file.txt', type: 'text/html', content });
      expect([status, data.mime_type]).to.deep.equal([201, mimeType]);
    });
  }

  it('accepts a file that arrives byte by byte', async () => {
    const form = formOf({ filename: 'a.png', content: PNG });
    let sent = 0;
    const body = new ReadableStream({
      pull: (controller) =>
        sent < form.length ? controller.enqueue(form.subarray(sent, (sent += 1))) : controller.close(),
    });
    const { status, data } = await send(body);
    expect([status, data.bytes]).to.deep.equal([201, PNG.byteLength]);
  });

  it('ignores other fields of the form', async () => {
    // contract 4.5:1
    const { status } = await upload(
      { name: 'purpose', content: 'vision' },
      { filename: 'a.png', content: PNG },
      { name: 'note', content: 'x'.repeat(10_000) },
    );
    expect(status).to.equal(201);
  });

  it('keeps the name in any script and drops its path', async () => {
    // contract 2.7:5
    const { data } = await upload({ filename: 'C:\\pictures\\灯台.png', content: PNG });
    expect(data.filename).to.equal('灯台.png');
  });

  it('keeps the storable part of a name', async () => {
    // contract 2.7:5
    const long = await upload({ filename: '灯'.repeat(400), content: PNG });
    expect(long.data.filename).to.equal('灯'.repeat(255));
    const odd = await upload({ filename: 'a\0b', content: PNG });
    expect([odd.status, odd.data?.filename]).to.be.deep.oneOf([
      [201, 'ab'],
      [400, undefined],
    ]);
  });

  it('accepts a part without a filename when its type is binary', async () => {
    // contract 2.7:5
    const { status, data } = await upload({ type: 'application/octet-stream', content: PNG });
    expect([status, data.filename]).to.deep.equal([201, null]);
  });

  describe('an upload that is not accepted', () => {
    const file = { filename: 'a.png', content: PNG };
    const manyFields = Array.from({ length: 41 }, (_, index) => ({ name: `field${index}`, content: '' }));
    const json = { 'content-type': 'application/json' };
    const cases: readonly [string, Buffer, Record<string, string>, RegExp][] = [
      [
        'a type that is not accepted',
        formOf({ filename: 'a.png', content: 'GIF89a'.padEnd(64) }),
        FORM_HEADERS,
        /must be of one of these types: png/,
      ],
      ['an empty file', formOf({ filename: 'a.png', content: '' }), FORM_HEADERS, /empty/],
      ['a form without a file', formOf({ name: 'purpose', content: 'x' }), FORM_HEADERS, /the part "file"/], // contract 4.5:1 4.5:4 4.5:7
      ['a form of many fields', formOf(...manyFields, file), FORM_HEADERS, /too many parts/], // contract 4.5:24
      ['a form without parts', endOfForm(), FORM_HEADERS, /the part "file"/],
      ['a part called file that is none', formOf({ content: PNG }), FORM_HEADERS, /with a filename/],
      ['two files', formOf(file, file), FORM_HEADERS, /one file/], // contract 4.5:1 4.5:4 4.5:7
      ['a file under another name', formOf({ ...file, name: 'image' }), FORM_HEADERS, /the part "file"/],
      ['a second file under another name', formOf(file, { ...file, name: 'mask' }), FORM_HEADERS, /one file/],
      ['a form that is cut in its file', formOf(file).subarray(0, 200), FORM_HEADERS, /malformed/],
      ['a form without an end', partOf(file), FORM_HEADERS, /malformed/],
      ['a form that is cut in its end', formOf(file).subarray(0, -4), FORM_HEADERS, /malformed/],
      ['a part with a broken header', Buffer.from(`--${BOUNDARY}\r\n\0\0: x\r\n\r\n`), FORM_HEADERS, /malformed/],
      [
        'a broken part after the file',
        Buffer.concat([partOf(file), Buffer.from(`--${BOUNDARY}\r\n:\r\n\r\n`)]),
        FORM_HEADERS,
        /malformed/,
      ],
      ['no body', Buffer.alloc(0), FORM_HEADERS, /malformed/],
      ['another boundary', formOf(file), { 'content-type': 'multipart/form-data; boundary=other' }, /malformed/],
      ['no boundary', formOf(file), { 'content-type': 'multipart/form-data' }, /boundary/],
      ['an empty boundary', formOf(file), { 'content-type': 'multipart/form-data; boundary=' }, /boundary/],
      ['JSON', Buffer.from('{"file": "a.png"}'), json, /multipart\/form-data/],
      ['the bare file', PNG, { 'content-type': 'image/png' }, /multipart\/form-data/],
      [
        'a form of the other kind',
        Buffer.from('file=a'),
        { 'content-type': 'application/x-www-form-urlencoded' },
        /multipart/,
      ],
      ['a mail', formOf(file), { 'content-type': `multipart/mixed; boundary=${BOUNDARY}` }, /multipart\/form-data/],
    ];
    for (const [what, body, headers, message] of cases) {
      it(`refuses with 400 and keeps nothing of ${what}`, async () => {
        const before = await app.storedFiles();
        const { status, error } = await send(body, headers);
        expect([status, error.code]).to.deep.equal([400, 'bad_request']);
        expect(error.message).to.match(message);
        expect(await app.storedFiles()).to.deep.equal(before);
      });
    }
  });

  it('accepts an image of 50 MB and answers 413 to one byte more', async () => {
    // contract 4.5:5 4.5:6
    const most = await send(longForm(PNG, 50 * MIB));
    expect([most.status, most.data.bytes]).to.deep.equal([201, 50 * MIB]);
    const before = await app.storedFiles();
    const { status, error } = await send(longForm(PNG, 50 * MIB + 1));
    expect([status, error.code]).to.deep.equal([413, 'read_request_body_failed']);
    expect(error.message).to.contain('50 MB');
    expect(await app.storedFiles()).to.deep.equal(before);
  });

  it('answers 413 at once to an announced length that is too large', async () => {
    // contract 4.5:6
    const { status } = await send(Buffer.alloc(120 * MIB));
    expect(status).to.equal(413);
  });

  it('leaves nothing stored when the client stops halfway', async () => {
    const before = await app.storedFiles();
    const form = formOf({ filename: 'a.png', content: Buffer.concat([PNG, Buffer.alloc(MIB)]) });
    const client = request(`${app.baseUrl}/v1/files`, {
      method: 'POST',
      headers: { ...FORM_HEADERS, authorization: `Bearer ${apiKey}`, 'content-length': form.byteLength },
    });
    client.on('error', () => {});
    client.write(form.subarray(0, MIB));
    // The file is being written by then.
    await waitUntil(async () => expect(await app.storedFiles()).to.have.length(before.length + 1), {
      timeoutMs: PATIENCE_MS,
    });
    client.destroy();
    await waitUntil(async () => expect(await app.storedFiles()).to.deep.equal(before), { timeoutMs: PATIENCE_MS });
  });

  it('needs a key before it reads anything', async () => {
    const response = await fetch(`${app.baseUrl}/v1/files`, {
      method: 'POST',
      headers: FORM_HEADERS,
      body: Buffer.alloc(20 * MIB),
    });
    expect(response.status).to.equal(401);
  });

  it('needs no Idempotency-Key, and creates a file for each request', async () => {
    const [first, second] = [
      await upload({ filename: 'a.png', content: PNG }),
      await upload({ filename: 'a.png', content: PNG }),
    ];
    expect(first.data.id).to.not.equal(second.data.id);
  });
});

describe('the uploads of an account', () => {
  const QUOTA = { bytes: 10 * MIB, files: 5 };
  const UNPAID = { bytes: 4 * MIB, files: 3 };
  const EXPIRY_MS = 7 * 86_400_000;
  const app = useTestApp({ settings: { uploads: { neverToppedUp: UNPAID, toppedUp: QUOTA, expiryMs: EXPIRY_MS } } });

  const ask = <Body>(method: string, path: string, { apiKey }: TestCaller): Promise<Answer<Body & ErrorBody>> =>
    call(`${app.baseUrl}/v1/files${path}`, { method, key: apiKey });

  /** @param announced whether the client sends the length of the form in advance */
  async function upload(caller: TestCaller, bytes = PNG.byteLength, announced = true): Promise<Reply> {
    const content = Buffer.concat([PNG, Buffer.alloc(bytes - PNG.byteLength)]);
    const form = formOf({ filename: 'a.png', content });
    const body = announced ? form : ReadableStream.from([form.subarray(0, 200), form.subarray(200)]);
    const response = await fetch(`${app.baseUrl}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${caller.apiKey}`, ...FORM_HEADERS },
      body,
      ...(!announced && { duplex: 'half' }),
    });
    const text = await response.text();
    return { ...JSON.parse(text), status: response.status };
  }

  async function keptBytes({ accountId }: TestCaller): Promise<number> {
    const rows = await app.database<{ bytes: string }>('uploads').where('account_id', accountId);
    return rows.reduce((total, { bytes }) => total + Number(bytes), 0);
  }

  it('are listed, newest first and in pages, to that account only', async () => {
    // contract 4.5:13 4.10:4
    const [caller, other] = [await app.createAccount(), await app.createAccount()];
    const ids = [];
    for (let count = 0; count < 3; count += 1) ids.unshift((await upload(caller)).data.id);
    await upload(other);
    const first = await ask<FilePage>('GET', '?limit=2', caller);
    expect(first.body.data.map(({ id }) => id)).to.deep.equal(ids.slice(0, 2));
    const second = await ask<FilePage>('GET', `?limit=2&cursor=${first.body.next_cursor}`, caller);
    expect(second.body.data.map(({ id }) => id)).to.deep.equal(ids.slice(2));
    expect(second.body.next_cursor).to.equal(null);
    expect((await ask('GET', '?cursor=x', caller)).status).to.equal(400);
  });

  it('are listed page by page to the OpenAI SDK, and the list ends with unknown parameters, too', async () => {
    const caller = await app.createAccount();
    const ids = [];
    for (let count = 0; count < 3; count += 1) ids.unshift((await upload(caller)).data.id);
    const client = new OpenAI({ apiKey: caller.apiKey, baseURL: `${app.baseUrl}/v1` });
    const listed = [];
    for await (const { id } of client.files.list({ limit: 2, order: 'desc' })) listed.push(id);
    expect(listed).to.deep.equal(ids);
    for (const [query, refusal] of [
      ['?order=asc', '"order" must be one of: [desc]'],
      ['?sort=asc', 'unknown parameter: sort. There are: [limit cursor after order purpose]'],
    ] as const) {
      const refused = await ask<ErrorBody>('GET', query, caller);
      expect([refused.status, refused.body.error.message]).to.deep.equal([400, refusal]);
    }
  });

  it('have their fields at the top for the OpenAI SDK, as in data', async () => {
    // contract 4.5:3 4.5:15
    const caller = await app.createAccount();
    const client = new OpenAI({ apiKey: caller.apiKey, baseURL: `${app.baseUrl}/v1` });
    const file = new File([PNG], 'fox.png', { type: 'image/png' });
    const created = await client.files.create({ file, purpose: 'vision' });
    expect(created).to.include({ object: 'file', bytes: PNG.byteLength, filename: 'fox.png' });
    // contract 4.5:21
    for (const [purpose, ids] of [
      ['vision', [created.id]],
      ['user_data', [created.id]],
      ['batch', []],
    ] as const) {
      const listed = await client.files.list({ purpose });
      expect(
        listed.data.map(({ id }) => id),
        purpose,
      ).to.deep.equal(ids);
    }
    const { data, ...fields } = { ...(await client.files.retrieve(created.id)) } as Record<string, unknown>;
    expect(fields).to.deep.equal(data);
    const headers = { authorization: `Bearer ${caller.apiKey}` };
    const content = `${app.baseUrl}/v1/files/${created.id}/content`;
    const redirect = await fetch(content, { headers, redirect: 'manual' });
    expect([redirect.status, redirect.headers.get('location')]).to.deep.equal([302, fields['url']]);
    expect(await client.files.delete(created.id)).to.include({ id: created.id, object: 'file', deleted: true });
    expect((await fetch(content, { headers, redirect: 'manual' })).status).to.equal(404);
  });

  it('are shown as when they were created, and are 404 for others', async () => {
    // contract 2.7:8 4.5:11 4.5:14
    const [caller, other] = [await app.createAccount(), await app.createAccount()];
    const { data } = await upload(caller);
    expect(data).to.include({ used_at: null, expires_at: data.created_at + EXPIRY_MS / 1000 });
    expect((await ask<{ data: FileBody }>('GET', `/${data.id}`, caller)).body.data).to.deep.equal(data);
    for (const path of [`/${data.id}`, '/file_x', `/${newId('file')}`]) {
      expect((await ask('GET', path, other)).status).to.equal(404);
      expect((await ask('DELETE', path, other)).status).to.equal(404);
    }
  });

  it('are deleted with their files, and free their quota', async () => {
    // contract 4.5:16
    const caller = await app.createAccount();
    const [first] = [await upload(caller), await upload(caller), await upload(caller)];
    expect((await upload(caller)).status).to.equal(403);
    const { status, body } = await ask('DELETE', `/${first.data.id}`, caller);
    const deleted = { id: first.data.id, object: 'file', deleted: true };
    expect([status, body]).to.deep.equal([200, { ...deleted, data: deleted }]);
    expect((await fetch(first.data.url)).status).to.equal(404);
    expect((await ask('GET', `/${first.data.id}`, caller)).status).to.equal(404);
    expect((await ask('DELETE', `/${first.data.id}`, caller)).status).to.equal(404);
    expect((await upload(caller)).status).to.equal(201);
  });

  for (const announced of [true, false]) {
    const how = announced ? 'whose length is announced' : 'of unknown length';
    it(`never exceed the quota of bytes, by however many uploads at once ${how}`, async () => {
      // contract 4.5:9 4.5:10 7.2:6
      const caller = await app.createAccount();
      const answers = await Promise.all(Array.from({ length: 16 }, () => upload(caller, 1.5 * MIB, announced)));
      const stored = answers.filter(({ status }) => status === 201);
      expect(stored.length).to.be.within(1, 2);
      for (const { status, error } of answers.filter((answer) => answer.status !== 201)) {
        expect([status, error.code]).to.deep.equal([403, 'forbidden']);
        expect(error.message).to.contain('DELETE /v1/files').and.to.contain('top up');
      }
      expect(await keptBytes(caller)).to.equal(stored.length * 1.5 * MIB);
    });
  }

  it('never exceed the quota of files, by however many uploads at once', async () => {
    // contract 4.5:9 4.5:10
    const caller = await app.createAccount();
    const answers = await Promise.all(Array.from({ length: 16 }, () => upload(caller)));
    expect(answers.filter(({ status }) => status === 201)).to.have.length(UNPAID.files);
  });

  it('have a larger quota once the account has topped up', async () => {
    // contract 4.5:9
    const caller = await app.createAccount({ fundedUsd: 1 });
    const answers = await Promise.all(Array.from({ length: 16 }, () => upload(caller, 1.5 * MIB)));
    const stored = answers.filter(({ status }) => status === 201);
    expect(stored).to.have.length(QUOTA.files);
    expect(answers.find(({ status }) => status === 403)?.error.message).to.not.contain('top up');
  });

  it('do not count towards the quota when they were refused or stopped', async () => {
    const caller = await app.createAccount();
    const stored = await app.storedFiles();
    for (const bytes of [3, 3.5]) expect((await upload(caller, bytes * MIB)).status).to.equal(bytes === 3 ? 201 : 403);
    const form = formOf({ filename: 'a.png', content: Buffer.concat([PNG, Buffer.alloc(MIB)]) });
    const response = await fetch(`${app.baseUrl}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${caller.apiKey}`, ...FORM_HEADERS },
      body: form.subarray(0, MIB / 2),
    });
    expect(response.status).to.equal(400);
    expect(await keptBytes(caller)).to.equal(3 * MIB);
    expect(await app.storedFiles()).to.have.length(stored.length + 1);
  });

  it('are kept once a task was created with them, and not before', async () => {
    // contract 1:4 2.7:7 2.7:8 4.5:2 4.5:12
    const caller = await app.createAccount({ fundedUsd: 1 });
    const [used, unused] = [await upload(caller), await upload(caller)];
    const create = (duration: number) =>
      call(`${app.baseUrl}/v1/videos/tasks`, {
        key: caller.apiKey,
        body: { model: 'vidone-3.0', prompt: 'A kite', images: [used.data.url], duration },
      });
    const shown = async ({ data }: Reply) => (await ask<{ data: FileBody }>('GET', `/${data.id}`, caller)).body.data;
    expect((await create(30)).status).to.equal(402);
    expect(await shown(used)).to.include({ used_at: null });
    expect((await create(5)).status).to.equal(201);
    expect(await shown(used)).to.include({ expires_at: null });
    expect((await shown(used)).used_at).to.be.a('number');
    expect(await shown(unused)).to.include({ used_at: null });
  });

  it('get 503 while the store cannot be written, and leave nothing behind', async () => {
    // contract 4.5:25
    const failing = await startTestApp({
      storage: { ...app.storage, put: () => Promise.reject(new StorageFailedError('the disk is full')) },
    });
    const { apiKey, accountId } = await failing.createAccount();
    const response = await fetch(`${failing.baseUrl}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, ...FORM_HEADERS },
      body: formOf({ filename: 'a.png', content: PNG }),
    });
    expect([response.status, response.headers.get('retry-after')]).to.deep.equal([503, '5']);
    expect(await response.json()).to.have.nested.property('error.code', 'processing_unavailable');
    expect(await failing.database('uploads').where({ account_id: accountId })).to.deep.equal([]);
    await failing.stop();
  });

  it('are not kept by the tasks of other accounts', async () => {
    // contract 2.7:7
    const [caller, other] = [await app.createAccount(), await app.createAccount({ fundedUsd: 1 })];
    const { data } = await upload(caller);
    const body = { model: 'vidone-3.0', prompt: 'A kite', images: [data.url] };
    expect((await call(`${app.baseUrl}/v1/videos/tasks`, { key: other.apiKey, body })).status).to.equal(201);
    const { body: shown } = await ask<{ data: FileBody }>('GET', `/${data.id}`, caller);
    expect(shown.data.used_at).to.equal(null);
  });
});
