/** The input and output files of batches: contract 4.5. */
import { expect } from 'chai';
import OpenAI, { toFile } from 'openai';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { waitUntil } from '../../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../../support/eventually.ts';
import { newId } from '../../../../domain/ids.ts';
import { writeOutputFile } from '../../../../services/batches/output-file.ts';
import { useTestApp } from '../../../support/app.ts';
import type { TestCaller } from '../../../support/factories.ts';
import { FORM_HEADERS, formOf, type FormPart } from '../../../support/forms.ts';
import { png } from '../../../storage/images.ts';

const MIB = 2 ** 20;
const PURPOSE = { name: 'purpose', content: 'batch' };
const LINE = JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: { model: 'm' } });
const INPUT = `${LINE}\n${LINE.replace('"a"', '"b"')}\n`;
const FILE = { filename: 'input.jsonl', content: INPUT };

interface Reply {
  readonly status: number;
  readonly data: Readonly<Record<string, unknown>> & { readonly id: string };
  readonly error: { readonly code: string; readonly message: string };
}

describe('POST /v1/files with the purpose "batch"', () => {
  const app = useTestApp();
  let caller: TestCaller;
  let other: TestCaller;
  let client: OpenAI;

  before(async () => {
    caller = await app.createAccount({ fundedUsd: 1 });
    other = await app.createAccount({ fundedUsd: 1 });
    client = new OpenAI({ apiKey: caller.apiKey, baseURL: `${app.baseUrl}/v1`, maxRetries: 0 });
  });

  async function send(body: Uint8Array | ReadableStream, { apiKey } = caller): Promise<Reply> {
    const response = await fetch(`${app.baseUrl}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, ...FORM_HEADERS },
      body,
      ...(body instanceof ReadableStream && { duplex: 'half' }),
    });
    const text = await response.text();
    return { ...JSON.parse(text), status: response.status };
  }
  const upload = (...parts: readonly FormPart[]): Promise<Reply> => send(formOf(...parts));

  for (const [order, parts] of [
    ['before', [PURPOSE, FILE]],
    ['after', [FILE, PURPOSE]],
  ] as const) {
    it(`stores the lines whose purpose arrives ${order} them, and answers with OpenAI’s file`, async () => {
      // contract 2.7:9 2.7:10 4.5:17 4.5:1
      const { status, data } = await upload(...parts);
      expect(status).to.equal(201);
      expect(data).to.include({
        object: 'file',
        purpose: 'batch',
        status: 'processed',
        filename: 'input.jsonl',
        bytes: INPUT.length,
        mime_type: 'application/jsonl',
        used_at: null,
      });
      expect(data['expires_at']).to.equal(Number(data['created_at']) + 30 * 86_400);
    });
  }

  it('streams the content to keys of the account alone, and gives no other link to it', async () => {
    // contract 4.5:22 4.5:23
    const { data } = await upload(PURPOSE, FILE);
    const content = `${app.baseUrl}/v1/files/${data.id}/content`;
    expect(data['url']).to.match(new RegExp(`/v1/files/${data.id}/content$`));
    const get = (apiKey: string) =>
      fetch(content, { headers: { authorization: `Bearer ${apiKey}` }, redirect: 'manual' });
    const own = await get(caller.apiKey);
    expect([own.status, await own.text()]).to.deep.equal([200, INPUT]);
    expect(Object.fromEntries(own.headers)).to.include({
      'content-type': 'application/jsonl',
      'content-disposition': 'attachment; filename="input.jsonl"',
      'content-length': String(INPUT.length),
    });
    expect((await get(other.apiKey)).status).to.equal(404);
    expect((await fetch(content)).status).to.equal(401);
    const [row] = await app.database<{ id: string; storage_key: string }>('uploads').where({ id: data.id });
    expect((await fetch(`${app.baseUrl}/files/${row?.storage_key}`)).status).to.equal(404);
  });

  it('works with the OpenAI SDK, which lists by purpose, downloads and deletes', async () => {
    // contract 4.5:21
    const file = await toFile(Buffer.from(INPUT), 'sdk.jsonl');
    const created = await client.files.create({ file, purpose: 'batch' });
    expect(created).to.include({ object: 'file', purpose: 'batch', status: 'processed', filename: 'sdk.jsonl' });
    expect(await client.files.retrieve(created.id)).to.deep.include({ id: created.id, expires_at: created.expires_at });
    const outputId = newId('file');
    async function* lines(): AsyncGenerator<string> {
      yield '{"custom_id":"a"}';
    }
    const output = { id: outputId, accountId: caller.accountId, filename: 'output.jsonl', lines: lines() };
    await writeOutputFile(app.database, app.storage, output);
    const listed = async (purpose?: string): Promise<readonly string[]> => {
      const ids: string[] = [];
      for await (const { id } of client.files.list({ limit: 1, ...(purpose !== undefined && { purpose }) }))
        ids.push(id);
      return ids;
    };
    expect(await listed('batch_output')).to.deep.equal([outputId]);
    expect(await listed('batch'))
      .to.include(created.id)
      .and.to.not.include(outputId);
    expect(await listed()).to.include.members([outputId, created.id]);
    expect(await (await client.files.content(outputId)).text()).to.equal('{"custom_id":"a"}\n');
    expect(await client.files.delete(created.id)).to.include({ deleted: true });
    expect(
      (await fetch(`${app.baseUrl}/v1/files/${created.id}/content`, { headers: authorize(caller) })).status,
    ).to.equal(404);
  });

  const wrongs: readonly [string, readonly FormPart[], RegExp][] = [
    [
      'a wrong line',
      [PURPOSE, { ...FILE, content: `${LINE}\n{"custom_id":"b"}\n` }],
      /Line 2: "method" must be "POST"/,
    ],
    [
      'a wrong line before its purpose',
      [{ ...FILE, content: `${LINE}\n${LINE}` }, PURPOSE],
      /Line 2: "custom_id" is "a"/,
    ],
    ['a picture', [PURPOSE, { filename: 'a.png', content: png(8, 8) }], /must be JSON Lines/],
    ['a picture before its purpose', [{ filename: 'a.png', content: png(8, 8) }, PURPOSE], /must be JSON Lines/],
    ['an empty file', [PURPOSE, { ...FILE, content: '' }], /The file is empty/],
    ['blank lines', [PURPOSE, { ...FILE, content: '\n\n' }], /The file is empty/],
    ['lines without a purpose', [FILE], /of these types: png.*JSON Lines, with the field "purpose"/],
    ['lines with another purpose', [FILE, { ...PURPOSE, content: 'fine-tune' }], /of these types: png/],
    ['two files', [PURPOSE, FILE, FILE], /one file/],
  ];
  for (const [what, parts, message] of wrongs) {
    it(`refuses ${what} with 400, and keeps nothing`, async () => {
      // contract 4.5:18 4.5:19 4.5:20
      const before = await app.storedFiles();
      const { status, error } = await upload(...parts);
      expect([status, error?.code]).to.deep.equal([400, 'bad_request']);
      expect(error.message).to.match(message);
      expect(await app.storedFiles()).to.deep.equal(before);
    });
  }

  it('refuses an announced length of more than 200 MB with 413 at once', async () => {
    // contract 4.5:18
    const announcing = request(`${app.baseUrl}/v1/files`, {
      method: 'POST',
      headers: { ...FORM_HEADERS, ...authorize(caller), 'content-length': 210 * MIB },
    });
    announcing.on('error', () => {});
    announcing.flushHeaders();
    const [response]: IncomingMessage[] = await once(announcing, 'response');
    expect(response?.statusCode).to.equal(413);
    announcing.destroy();
  });

  it('keeps nothing of a file whose client leaves in the middle of a line', async () => {
    const before = await app.storedFiles();
    const form = formOf(PURPOSE, { ...FILE, content: `${INPUT}{"custom_id":"${'x'.repeat(2 * MIB)}` });
    const leaving = request(`${app.baseUrl}/v1/files`, {
      method: 'POST',
      headers: { ...FORM_HEADERS, ...authorize(caller), 'content-length': form.byteLength },
    });
    leaving.on('error', () => {});
    leaving.write(form.subarray(0, MIB));
    await waitUntil(async () => expect(await app.storedFiles()).to.have.length(before.length + 1), {
      timeoutMs: PATIENCE_MS,
    });
    leaving.destroy();
    await waitUntil(async () => expect(await app.storedFiles()).to.deep.equal(before), { timeoutMs: PATIENCE_MS });
  });
});

function authorize({ apiKey }: TestCaller): { readonly authorization: string } {
  return { authorization: `Bearer ${apiKey}` };
}
