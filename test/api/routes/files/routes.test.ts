import { expect } from 'chai';
import { request } from 'node:http';
import { waitUntil } from '../../../../bin/stack/wait-until.ts';
import { startTestApp, type TestApp } from '../../../support/app.ts';
import { BOUNDARY, endOfForm, FORM_HEADERS, formOf, type FormPart, partOf } from '../../../support/forms.ts';
import { png } from '../../../storage/images.ts';

interface FileBody {
  readonly id: string;
  readonly object: string;
  readonly url: string;
  readonly mime_type: string;
  readonly bytes: number;
  readonly created_at: number;
  readonly filename: string | null;
}

interface Reply {
  readonly status: number;
  readonly data: FileBody;
  readonly error: { readonly code: string; readonly message: string };
}

const MIB = 2 ** 20;
const PNG = png(64, 64);
const VIDEO_HEAD = Buffer.from('\0\0\0\x18ftypmp42\0\0\0\0'.padEnd(64, '\0'), 'latin1');

/** The beginning of a file of each of the ten types. */
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
  let app: TestApp;
  let apiKey: string;

  before(async () => {
    app = await startTestApp();
    ({ apiKey } = await app.createAccount());
  });
  after(() => app.stop());

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
    return { status: response.status, ...JSON.parse(text) };
  }

  const upload = (...parts: readonly FormPart[]): Promise<Reply> => send(formOf(...parts));

  it('answers 201 with a public link to the file as it was sent', async () => {
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
    it(`accepts ${type}, whatever name and type the client gives it`, async () => {
      const content = Buffer.from(head.padEnd(64, '\0'), 'latin1');
      const { status, data } = await upload({ filename: 'file.txt', type: 'text/html', content });
      expect([status, data.mime_type]).to.deep.equal([201, mimeType]);
    });
  }

  it('takes a file that arrives byte by byte', async () => {
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
    const { status } = await upload(
      { name: 'purpose', content: 'vision' },
      { filename: 'a.png', content: PNG },
      { name: 'note', content: 'x'.repeat(10_000) },
    );
    expect(status).to.equal(201);
  });

  it('keeps the name in any script and drops its path', async () => {
    const { data } = await upload({ filename: 'C:\\pictures\\灯台.png', content: PNG });
    expect(data.filename).to.equal('灯台.png');
  });

  it('takes a part without a filename when it says that it is binary', async () => {
    const { status, data } = await upload({ type: 'application/octet-stream', content: PNG });
    expect([status, data.filename]).to.deep.equal([201, null]);
  });

  describe('refuses with 400 and keeps nothing of', () => {
    const file = { filename: 'a.png', content: PNG };
    const json = { 'content-type': 'application/json' };
    const cases: readonly [string, Buffer, Record<string, string>, RegExp][] = [
      [
        'a type that is not accepted',
        formOf({ filename: 'a.png', content: 'GIF89a'.padEnd(64) }),
        FORM_HEADERS,
        /none of these types: png/,
      ],
      ['an empty file', formOf({ filename: 'a.png', content: '' }), FORM_HEADERS, /empty/],
      ['a form without a file', formOf({ name: 'purpose', content: 'x' }), FORM_HEADERS, /the part "file"/],
      ['a form without parts', endOfForm(), FORM_HEADERS, /the part "file"/],
      ['a part called file that is none', formOf({ content: PNG }), FORM_HEADERS, /with a filename/],
      ['two files', formOf(file, file), FORM_HEADERS, /one file/],
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
      it(what, async () => {
        const before = await app.storedFiles();
        const { status, error } = await send(body, headers);
        expect([status, error.code]).to.deep.equal([400, 'bad_request']);
        expect(error.message).to.match(message);
        expect(await app.storedFiles()).to.deep.equal(before);
      });
    }
  });

  for (const [kind, head, megabytes] of [
    ['an image', PNG, 50],
    ['a video', VIDEO_HEAD, 100],
  ] as const) {
    it(`accepts ${kind} of ${megabytes} MB and answers 413 to one byte more`, async () => {
      const most = await send(longForm(head, megabytes * MIB));
      expect([most.status, most.data.bytes]).to.deep.equal([201, megabytes * MIB]);
      const before = await app.storedFiles();
      const { status, error } = await send(longForm(head, megabytes * MIB + 1));
      expect([status, error.code]).to.deep.equal([413, 'read_request_body_failed']);
      expect(error.message).to.contain(`${megabytes} MB`);
      expect(await app.storedFiles()).to.deep.equal(before);
    });
  }

  it('answers 413 to a form that never ends, also when there is no file in it', async () => {
    const field = partOf({ name: 'purpose', content: 'x' }).subarray(0, -2);
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(field),
      pull: (controller) => controller.enqueue(Buffer.alloc(MIB)),
    });
    const { status, error } = await send(body);
    expect([status, error.code]).to.deep.equal([413, 'read_request_body_failed']);
  });

  it('answers 413 at once to a length that is too large', async () => {
    const { status } = await send(Buffer.alloc(120 * MIB));
    expect(status).to.equal(413);
  });

  it('leaves nothing behind when the client stops halfway', async () => {
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
      timeoutMs: 10_000,
    });
    client.destroy();
    await waitUntil(async () => expect(await app.storedFiles()).to.deep.equal(before), { timeoutMs: 10_000 });
  });

  it('needs a key before it reads anything', async () => {
    const response = await fetch(`${app.baseUrl}/v1/files`, {
      method: 'POST',
      headers: FORM_HEADERS,
      body: Buffer.alloc(20 * MIB),
    });
    expect(response.status).to.equal(401);
  });

  it('needs no Idempotency-Key, and makes a file each time', async () => {
    const [first, second] = [
      await upload({ filename: 'a.png', content: PNG }),
      await upload({ filename: 'a.png', content: PNG }),
    ];
    expect(first.data.id).to.not.equal(second.data.id);
  });
});

/** A file of so many bytes that is made as it is sent. */
function longForm(head: Buffer, bytes: number): ReadableStream {
  const [start, end] = splitForm(head);
  const zeros = Buffer.alloc(MIB);
  let left = bytes - head.byteLength;
  return new ReadableStream({
    start: (controller) => controller.enqueue(start),
    pull: (controller) => {
      controller.enqueue(left > 0 ? zeros.subarray(0, Math.min(left, MIB)) : end);
      if (left <= 0) controller.close();
      left -= MIB;
    },
  });
}

/** What stands in a form up to the end of the file's first bytes, and what comes after the file. */
function splitForm(head: Buffer): [Buffer, Buffer] {
  const form = formOf({ filename: 'large', content: head });
  const end = form.indexOf(head) + head.byteLength;
  return [form.subarray(0, end), form.subarray(end)];
}
