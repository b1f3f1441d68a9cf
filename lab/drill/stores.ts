/**
 * The stores of a drill's results: a small disk, so that it can be full, or an S3 server; with faults of both kinds,
 * every second worker uses S3 and the others the disk, as while a deployment moves its store.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { s3ServerObstacle } from '../stack/s3-server.ts';
import type { Settings } from '../stack/stack.ts';
import { openS3Store, type S3Store } from '../stack/s3-store.ts';
import { mountSmallDisk, type SmallDisk } from './small-disk.ts';

export interface Stores {
  /** The folder of the local store. */
  readonly folder: string;
  /** The disk of the local store; null if it has none of its own. */
  readonly disk: SmallDisk | null;
  /** Null if it was not requested or cannot be started. */
  readonly s3: S3Store | null;
  /** Whether some workers use S3 and others the disk, so that no process can read all files. */
  readonly areMixed: boolean;
  /** The settings of the processes of that name. */
  settingsOf(process: string): Settings;
  close(): Promise<void>;
}

const LOCAL_KINDS: readonly string[] = ['store', 'full'];
const S3_KINDS: readonly string[] = ['s3', 's3-outage'];
const EVERY_SECOND_WORKER = /^worker-\d*[02468]$/;

/** @param report gets a line for each store that was requested and cannot be started */
export async function openStores(
  home: string,
  kinds: readonly string[],
  report: (line: string) => void,
): Promise<Stores> {
  const place = join(home, 'disk');
  await mkdir(place);
  const disk = kinds.includes('full') ? await mountSmallDisk(place) : null;
  if (kinds.includes('full') && disk === null) report('full is left out: only root can mount a disk, on Linux');
  const needsS3 = kinds.some((kind) => S3_KINDS.includes(kind));
  const obstacle = needsS3 ? await s3ServerObstacle() : 'not asked for';
  if (needsS3 && obstacle !== null) report(`s3 is left out: it ${obstacle}`);
  const s3 = obstacle === null ? await openS3Store() : null;
  const areMixed = s3 !== null && kinds.some((kind) => LOCAL_KINDS.includes(kind));
  const folder = join(place, 'files');
  return {
    folder,
    disk,
    s3,
    areMixed,
    settingsOf: (process) =>
      s3 !== null && (!areMixed || EVERY_SECOND_WORKER.test(process)) ? s3.settings : { GENWAY_HOME: place },
    close: async () => {
      await s3?.close();
      disk?.unmount();
    },
  };
}

/** The kinds of faults that have a target. */
export function possibleKinds<Kind extends string>(kinds: readonly Kind[], { disk, s3 }: Stores): readonly Kind[] {
  return kinds.filter((kind) => (kind !== 'full' || disk !== null) && (!S3_KINDS.includes(kind) || s3 !== null));
}
