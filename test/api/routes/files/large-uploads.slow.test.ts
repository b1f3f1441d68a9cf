/** Uploads that are refused while they arrive, at limits of more than 50 MB: contract 4.5. */
import { expect } from 'chai';
import { useTestApp } from '../../../support/app.ts';
import { FORM_HEADERS, longForm, partOf, streamedForm } from '../../../support/forms.ts';

const MIB = 2 ** 20;
const VIDEO_HEAD = Buffer.from('\0\0\0\x18ftypmp42\0\0\0\0'.padEnd(64, '\0'), 'latin1');

interface Reply {
  readonly status: number;
  readonly data: { readonly bytes: number };
  readonly error: { readonly code: string; readonly message: string };
}

describe('POST /v1/files with a large file', () => {
  const app = useTestApp();
  let apiKey: string;

  before(async () => {
    ({ apiKey } = await app.createAccount({ fundedUsd: 1 }));
  });

  async function send(body: ReadableStream): Promise<Reply> {
    const response = await fetch(`${app.baseUrl}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, ...FORM_HEADERS },
      body,
      duplex: 'half',
    });
    const text = await response.text();
    return { ...JSON.parse(text), status: response.status };
  }

  it('accepts a video of 100 MB and answers 413 to one byte more', async () => {
    // contract 4.5:5 4.5:6
    const most = await send(longForm(VIDEO_HEAD, 100 * MIB));
    expect([most.status, most.data.bytes]).to.deep.equal([201, 100 * MIB]);
    const before = await app.storedFiles();
    const { status, error } = await send(longForm(VIDEO_HEAD, 100 * MIB + 1));
    expect([status, error.code]).to.deep.equal([413, 'read_request_body_failed']);
    expect(error.message).to.contain('100 MB');
    expect(await app.storedFiles()).to.deep.equal(before);
  });

  it('answers 413 to a form that never ends, even without a file', async () => {
    const field = partOf({ name: 'purpose', content: 'x' }).subarray(0, -2);
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(field),
      pull: (controller) => controller.enqueue(Buffer.alloc(MIB)),
    });
    const { status, error } = await send(body);
    expect([status, error.code]).to.deep.equal([413, 'read_request_body_failed']);
  });

  it('refuses lines of a batch of more than 200 MB with 413 while they arrive, and keeps nothing', async () => {
    // contract 4.5:18
    const before = await app.storedFiles();
    const { status, error } = await send(streamedForm(linesOf(201 * MIB), [{ name: 'purpose', content: 'batch' }]));
    expect([status, error.code]).to.deep.equal([413, 'read_request_body_failed']);
    expect(error.message).to.contain('200 MB');
    expect(await app.storedFiles()).to.deep.equal(before);
  });
});

/** Lines of a batch with this many bytes. */
function* linesOf(bytes: number): Generator<Buffer> {
  const body = { model: 'x'.repeat(MIB / 4) };
  for (let number = 0, sent = 0; sent < bytes; number += 1) {
    const line = { custom_id: String(number), method: 'POST', url: '/v1/chat/completions', body };
    const piece = Buffer.from(`${JSON.stringify(line)}\n`);
    yield piece;
    sent += piece.byteLength;
  }
}
