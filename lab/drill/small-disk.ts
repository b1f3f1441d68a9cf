/** A disk of a few megabytes, in memory, that can be full. Only root can mount one, and only Linux has it. */
import { execFileSync } from 'node:child_process';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';

export interface SmallDisk {
  /** Fills the disk completely. @returns a function that frees it again */
  fill(): Promise<() => Promise<void>>;
  unmount(): void;
}

/** All results of a long drill take some tens of megabytes. */
const MEGABYTES = 256;
const PIECE = Buffer.alloc(2 ** 20);

/** @returns null where nothing can be mounted */
export async function mountSmallDisk(folder: string): Promise<SmallDisk | null> {
  await mkdir(folder, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${MEGABYTES}m`, 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    return null;
  }
  const unmount = (): void => void execFileSync('umount', ['--lazy', folder], { stdio: 'ignore' });
  // A mount outlives the process that made it.
  process.once('exit', unmount);
  const filler = join(folder, 'filler');
  return {
    fill: async () => {
      await writeUntilFull(filler);
      return () => rm(filler);
    },
    unmount: () => {
      process.off('exit', unmount);
      unmount();
    },
  };
}

async function writeUntilFull(path: string): Promise<void> {
  const file = await open(path, 'w');
  try {
    for (;;) await file.write(PIECE);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
  } finally {
    await file.close();
  }
}
