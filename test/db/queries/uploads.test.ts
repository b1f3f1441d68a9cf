import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import {
  claimBatchInput,
  claimUploadsToRemove,
  finishUpload,
  deleteRemovedUploads,
  listUploads,
  markUploadsDeleted,
  type NewUpload,
  reserveUpload,
} from '../../../db/queries/uploads.ts';
import { newId } from '../../../domain/ids.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createAccount } from '../../support/factories.ts';

const HOUR_MS = 3_600_000;
const QUOTA = { bytes: 100, files: 10 };
const UNUSED = { unusedForSeconds: 10 * 3_600, limit: 100 };

describe('uploads', () => {
  let database: Database;
  let accountId: string;

  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });
  beforeEach(async () => {
    accountId = (await createAccount(database)).id;
    await database('uploads').delete();
  });

  function newUpload(ageMs = 0): NewUpload {
    const id = newId('file');
    const createdAt = new Date(Date.now() - ageMs);
    const purpose = 'user_data';
    const storageKey = `uploads/${id}.png`;
    return { id, accountId, storageKey, mimeType: 'image/png', filename: null, purpose, createdAt, expiresAt: null };
  }

  async function store(ageMs: number, bytes = 10): Promise<NewUpload> {
    const upload = newUpload(ageMs);
    await reserveUpload(database, upload, { needed: bytes, wanted: bytes }, QUOTA);
    await finishUpload(database, upload, bytes);
    return upload;
  }

  const removable = async (): Promise<string[]> =>
    (await claimUploadsToRemove(database, UNUSED)).map(({ id }) => id).toSorted();

  it('get the wanted space, or the rest of the quota, or none', async () => {
    const [first, second] = [newUpload(), newUpload()];
    expect(await reserveUpload(database, first, { needed: 1, wanted: 70 }, QUOTA)).to.deep.equal({ granted: 70 });
    expect(await reserveUpload(database, second, { needed: 20, wanted: 70 }, QUOTA)).to.deep.equal({ granted: 30 });
    expect(await reserveUpload(database, newUpload(), { needed: 1, wanted: 1 }, QUOTA)).to.deep.equal({
      granted: null,
      keptBytes: 100,
      keptFiles: 2,
    });
    expect(await reserveUpload(database, first, { needed: 70, wanted: 140 }, QUOTA)).to.deep.equal({ granted: 70 });
    expect(await reserveUpload(database, first, { needed: 71, wanted: 140 }, QUOTA)).to.include({ granted: null });
  });

  it('are listed only once they are stored, and no longer once they are marked for removal', async () => {
    const stored = await store(0);
    await reserveUpload(database, newUpload(), { needed: 1, wanted: 1 }, QUOTA);
    const listed = async () => (await listUploads(database, { accountId, limit: 10 })).map(({ id }) => id);
    expect(await listed()).to.deep.equal([stored.id]);
    await markUploadsDeleted(database, accountId, [stored.id]);
    expect(await listed()).to.deep.equal([]);
  });

  it('are removed if no task used them for the whole period, each by one caller', async () => {
    const [old, used] = [await store(11 * HOUR_MS), await store(11 * HOUR_MS)];
    await store(9 * HOUR_MS);
    await database('uploads').where({ id: used.id }).update({ used_at: new Date() });
    const told = await Promise.all([removable(), removable(), removable()]);
    expect(told.flat()).to.deep.equal([old.id]);
  });

  it('are removed at their own time if they belong to a batch, and no batch extends the time of another account’s file', async () => {
    const expiresAt = new Date(Date.now() + HOUR_MS);
    const [expired, claimed, used] = [newUpload(), newUpload(), newUpload(20 * HOUR_MS)].map((upload) => ({
      ...upload,
      purpose: 'batch' as const,
      expiresAt: new Date(Date.now() - 1),
    }));
    for (const upload of [expired, claimed, used]) {
      if (upload === undefined) continue;
      await reserveUpload(database, upload, { needed: 10, wanted: 10 }, QUOTA);
      await finishUpload(database, upload, 10, 1);
    }
    for (const upload of [claimed, used]) {
      const claim = { fileId: upload?.id ?? '', expiresAt };
      expect(await claimBatchInput(database, { ...claim, accountId: newId('account') })).to.equal(null);
      expect(await claimBatchInput(database, { ...claim, accountId })).to.deep.include({ lines: 1, expiresAt });
    }
    expect(await removable()).to.deep.equal([expired?.id]);
  });

  it('are removed if the process that received or removed them has died', async () => {
    const [arriving, abandoned] = [newUpload(), newUpload(2 * HOUR_MS)];
    for (const upload of [arriving, abandoned]) {
      await reserveUpload(database, upload, { needed: 1, wanted: 1 }, QUOTA);
    }
    const [removed, forgotten] = [await store(0), await store(0)];
    await markUploadsDeleted(database, accountId, [removed.id, forgotten.id]);
    await database('uploads')
      .where({ id: forgotten.id })
      .update({ deleted_at: new Date(Date.now() - HOUR_MS) });
    expect(await removable()).to.deep.equal([abandoned.id, forgotten.id].toSorted());
  });

  it('are deleted only after they were marked', async () => {
    const [kept, removed] = [await store(0), await store(0)];
    await markUploadsDeleted(database, accountId, [removed.id]);
    await deleteRemovedUploads(database, [kept.id, removed.id]);
    expect((await database('uploads').select<{ id: string }[]>('id')).map(({ id }) => id)).to.deep.equal([kept.id]);
  });
});
