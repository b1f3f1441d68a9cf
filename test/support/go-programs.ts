/** Programs that tests build with Go and cache. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { buildWithGo, findCached, type GoProgram, addToCache } from '../../bin/stack/go-program.ts';
import { loadStackConfig } from '../../config.ts';

export const WITHOUT_GO = 'skipped, as Go is not installed here: https://go.dev/dl';

export function hasGo(): boolean {
  return spawnSync('go', ['version']).status === 0;
}

/** Builds the program unless the cache has it. @returns its path */
export function goProgram(name: string, program: GoProgram): Promise<string> {
  const { cacheFolder } = loadStackConfig();
  const cached = join(cacheFolder, program.title.toLowerCase().replaceAll(' ', '-'), name);
  return findCached(cached).catch(() => addToCache(cached, (folder) => buildWithGo(folder, program, () => undefined)));
}
