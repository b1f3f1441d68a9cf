/**
 * Runs a benchmark with the major version of Node that the image has: `node --import tsx lab/bench/run.ts text`.
 * The benchmark's programs use the same version, since they are started with the Node of the benchmark.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { arch, platform } from 'node:os';
import { join } from 'node:path';
import { nodeWith } from '../stack/packages.ts';

const ROOT = join(import.meta.dirname, '../..');

const [name = '', ...options] = process.argv.slice(2);
const major = /^FROM node:(\d+)-/m.exec(await readFile(join(ROOT, 'Dockerfile'), 'utf8'))?.[1];
if (major === undefined) throw new Error('the Dockerfile names no version of Node: write FROM node:MAJOR-slim');
const program = await findNode(major);
console.error(`Node ${major}: ${program}`);
const child = spawn(program, ['--import', 'tsx', join(import.meta.dirname, `${name}.ts`), ...options], {
  cwd: ROOT,
  stdio: 'inherit',
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
const [exit] = await once(child, 'exit');
process.exitCode = typeof exit === 'number' ? exit : 1;

/** This process's Node if it has the major version, else the one that npm has for this machine. */
async function findNode(wanted: string): Promise<string> {
  if (process.versions.node.startsWith(`${wanted}.`)) return process.execPath;
  const packageName = `node-${platform()}-${arch()}`;
  const folder = await nodeWith([`${packageName}@${wanted}`]);
  return join(folder, 'node_modules', packageName, 'bin/node');
}
