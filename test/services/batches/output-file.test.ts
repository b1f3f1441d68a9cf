import { expect } from 'chai';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../../db/database.ts';
import {
  claimBatchInput,
  findUpload,
  listUploads,
  type NewUpload,
  reserveUpload,
} from '../../../db/queries/uploads.ts';
import { newId } from '../../../domain/ids.ts';
import { writeOutputFile } from '../../../services/batches/output-file.ts';
import { createLocalStorage } from '../../../storage/local.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createAccount } from '../../support/factories.ts';
import { rejectionOf } from '../../support/rejection.ts';

const DAY_MS = 86_400_000;

describe('writeOutputFile', () => {
  let database: Database;
  let directory = '';
  let accountId = '';
  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'genway-output-'));
    accountId = (await createAccount(database)).id;
  });
  after(() => rm(directory, { recursive: true }));

  const storage = () => createLocalStorage({ directory, publicUrl: 'http://files.test' });
  const write = (id: string, lines: AsyncIterable<string>) =>
    writeOutputFile(database, storage(), { id, accountId, filename: 'output.jsonl', lines });

  async function* lines(count: number): AsyncGenerator<string> {
    for (let index = 0; index < count; index += 1) yield JSON.stringify({ index });
  }
  async function* broken(): AsyncGenerator<string> {
    yield* lines(2);
    throw new RangeError('the database is unavailable');
  }

  async function contentOf(id: string): Promise<string> {
    const upload = await findUpload(database, accountId, id);
    const pieces: Uint8Array[] = [];
    for await (const piece of (await storage().read(upload?.storageKey ?? 'none')) ?? []) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  }

  it('stores the lines as a file of the account that expires after 30 days', async () => {
    const id = newId('file');
    const upload = await write(id, lines(3));
    expect(upload).to.include({ id, lines: 3, bytes: 36, purpose: 'batch_output', mimeType: 'application/jsonl' });
    expect(upload?.expiresAt?.getTime()).to.be.closeTo(Date.now() + 30 * DAY_MS, 60_000);
    expect(upload?.storageKey).to.match(/^private\/file_/);
    expect(await contentOf(id)).to.equal('{"index":0}\n{"index":1}\n{"index":2}\n');
    const page = { accountId, limit: 10 };
    expect((await listUploads(database, { ...page, purpose: 'batch_output' })).map((file) => file.id)).to.include(id);
    expect(await listUploads(database, { ...page, purpose: 'batch' })).to.deep.equal([]);
  });

  it('replaces what a failed attempt left, and changes nothing once the file is complete', async () => {
    const id = newId('file');
    expect(await rejectionOf(write(id, broken()))).to.be.instanceOf(RangeError);
    expect(await findUpload(database, accountId, id)).to.equal(null);
    const upload = await write(id, lines(20_000));
    expect(upload).to.include({ lines: 20_000 });
    expect(await write(id, broken())).to.deep.include({ bytes: upload?.bytes, storageKey: upload?.storageKey });
    expect((await contentOf(id)).split('\n')).to.have.length(20_001);
    const stored = await readdir(join(directory, 'private'));
    expect(stored.filter((name) => name.startsWith(id))).to.have.length(1);
  });

  it('stores nothing if there are no lines', async () => {
    const id = newId('file');
    expect(await write(id, lines(0))).to.equal(null);
    expect(await database('uploads').where({ id })).to.deep.equal([]);
    expect((await readdir(join(directory, 'private'))).filter((name) => name.startsWith(id))).to.deep.equal([]);
  });

  it('counts towards no quota', async () => {
    // contract 4.5:9
    const { id } = await createAccount(database);
    const output = { id: newId('file'), accountId: id, filename: 'output.jsonl', lines: lines(1) };
    expect(await writeOutputFile(database, storage(), output)).to.include({ lines: 1 });
    const input: NewUpload = {
      id: newId('file'),
      accountId: id,
      storageKey: 'uploads/a.png',
      mimeType: 'image/png',
      filename: null,
      purpose: 'user_data',
      createdAt: new Date(),
      expiresAt: null,
    };
    const grant = await reserveUpload(database, input, { needed: 1, wanted: 1 }, { bytes: 1, files: 1 });
    expect(grant).to.deep.equal({ granted: 1 });
  });

  it('is never the input of a batch', async () => {
    const id = newId('file');
    await write(id, lines(1));
    expect(await claimBatchInput(database, { accountId, fileId: id, expiresAt: new Date() })).to.equal(null);
  });
});
