/** Builds what the processes of a stack load, so that each starts in a fraction of the time that its sources take. */
import { execFile } from 'node:child_process';
import { cp, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DefaultLogger } from '@temporalio/worker';
import { bundleWorkflows } from '../../bin/parts/workflow-bundle.ts';
import { bundlePrograms } from './bundle-programs.ts';
import type { Built } from './stack.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');

/** @param folder gets the programs and the workflows */
export async function build(folder: string): Promise<Built> {
  const [programs, workflowBundle] = await Promise.all([buildPrograms(folder), buildWorkflows(folder)]);
  return { programs, workflowBundle };
}

/** @returns the file with the bundled workflows */
export async function buildWorkflows(folder: string): Promise<string> {
  const { code } = await bundleWorkflows(new DefaultLogger('ERROR'));
  const file = join(folder, 'workflows.js');
  await writeFile(file, code);
  return file;
}

/**
 * Builds as `npm run build` and the Dockerfile do, but for the types: `test/source.test.ts` checks them.
 *
 * @returns the folder with the programs
 */
export async function buildPrograms(folder: string): Promise<string> {
  const programs = join(folder, 'programs');
  for (const project of ['tsconfig.build.json', 'simulator/tsconfig.json']) {
    const args = ['-p', project, '--noCheck', '--outDir', programs];
    await run(join(ROOT, 'node_modules/.bin/tsc'), args, { cwd: ROOT });
  }
  await cp(join(ROOT, 'catalogue/catalogue.yaml'), join(programs, 'catalogue/catalogue.yaml'));
  for (const folder of ['console/assets', 'db/schema', 'db/functions'])
    await cp(join(ROOT, folder), join(programs, folder), { recursive: true });
  await cp(join(ROOT, 'package.json'), join(programs, 'package.json'));
  await symlink(join(ROOT, 'node_modules'), join(programs, 'node_modules'));
  await bundlePrograms(programs);
  return programs;
}
