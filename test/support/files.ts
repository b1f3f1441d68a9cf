/** The files of a whole stack: their place, and the sweeps that delete them. */
import { join } from 'node:path';
import { createLocalStorage } from '../../storage/local.ts';
import { createFileSweeps, type SweepDependencies } from '../../activities/sweep.ts';
import { createHistoryEraser } from '../../services/tasks/history-eraser.ts';
import type { TestStack } from './stack.ts';

export function filesFolderOf({ environment }: TestStack): string {
  return join(environment['GENWAY_HOME'] ?? '', 'files');
}

/** The sweeps that the worker runs every ten minutes. */
export function fileSweepsOf(stack: TestStack, settings: Partial<SweepDependencies> = {}) {
  return createFileSweeps({
    storage: createLocalStorage({ directory: filesFolderOf(stack), publicUrl: `${stack.baseUrl}/files` }),
    histories: createHistoryEraser(stack.temporal),
    uploadExpiryMs: 86_400_000,
    ...settings,
  });
}
