/** Outages of the stores to which results are written. */
import { cp, mkdir, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type FaultKind, strikeThe } from './fault.ts';

const OUTAGES = [
  { path: '.', effect: 'took the store away' },
  // The folder of unfinished files: stored files stay readable.
  { path: '.unfinished', effect: 'let no file be written to the store' },
] as const;

export const STORE: FaultKind = {
  meaning: 'the folder of the store is away, or nothing can be written there',
  only: 'development',
  leastMs: 3_000,
  mostMs: 20_000,
  strike: (stage, random, lastsMs) =>
    strikeThe(stage, random, { name: 'store', lastsMs }, async () => {
      const { path, effect } = random.pick(OUTAGES);
      return [effect, await takeAway(join(stage.stores.folder, path))];
    }),
};

export const FULL: FaultKind = {
  meaning: 'the disk of the local store is full',
  only: 'development',
  leastMs: 3_000,
  mostMs: 20_000,
  strike: (stage, random, lastsMs) =>
    strikeThe(stage, random, { name: 'store', lastsMs }, async () => {
      const free = await stage.stores.disk?.fill();
      return ['filled the disk of the store', () => free?.()];
    }),
};

const SHUT_DOORS = [
  { door: 'refusing', effect: 'let S3 answer 503' },
  { door: 'hanging', effect: 'let S3 hang' },
] as const;

export const S3: FaultKind = {
  meaning: 'the S3 store answers 503, or nothing',
  leastMs: 3_000,
  mostMs: 20_000,
  strike: (stage, random, lastsMs) =>
    strikeThe(stage, random, { name: 's3', lastsMs }, async () => {
      const { door, effect } = random.pick(SHUT_DOORS);
      stage.stores.s3?.setDoor(door);
      return [effect, () => stage.stores.s3?.setDoor('open')];
    }),
};

/** Longer than an activity of the worker waits for the store at a time. */
const S3_OUTAGE_MS = 45_000;

export const S3_OUTAGE: FaultKind = {
  ...S3,
  meaning: 'the S3 store answers 503, or nothing, for 45 s',
  only: 'cluster',
  leastMs: S3_OUTAGE_MS,
  mostMs: S3_OUTAGE_MS,
};

/** A file in its place prevents the folder from being created again; root could write to any folder. */
async function takeAway(folder: string): Promise<() => Promise<void>> {
  const away = `${folder}.away`;
  // The folder may not exist yet.
  await mkdir(dirname(folder), { recursive: true });
  const existed = await tryRename(folder, away);
  await writeFile(folder, '');
  return async () => {
    await unlink(folder);
    if (!existed) return;
    while (!(await tryRename(away, folder))) {
      // A process has created the folder since then, and may have stored a file.
      const since = `${folder}.since`;
      await rename(folder, since);
      await cp(since, away, { recursive: true });
      await rm(since, { recursive: true });
    }
  };
}

/** @returns whether there was something to rename, and the new name was free */
function tryRename(from: string, to: string): Promise<boolean> {
  return rename(from, to).then(
    () => true,
    () => false,
  );
}
