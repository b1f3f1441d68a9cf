/** Puts load on the ledger of text requests from several processes, as this many text processes would. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { childEnvironment } from '../../../config.ts';
import { startNode } from '../../../bin/stack/node-process.ts';
import { BUILD, type TextStack } from '../text-stack.ts';

/** The result of one process. A hold and its settlement count as one. */
export interface LedgerLoad {
  readonly settled: number;
  readonly perSecond: number;
  readonly holdP50Ms: number;
  readonly holdP99Ms: number;
  readonly settleP50Ms: number;
}

export interface LedgerLoadSettings {
  readonly processes: number;
  readonly seconds: number;
  /** The concurrent requests of each process. */
  readonly requestsAtOnce: number;
  /** Digests of the keys, which are used in turn. */
  readonly digests: readonly Buffer[];
}

/** @throws Error when a process fails */
export async function loadLedger(
  { home, databaseUrl }: Pick<TextStack, 'home' | 'databaseUrl'>,
  { processes, seconds, requestsAtOnce, digests }: LedgerLoadSettings,
): Promise<readonly LedgerLoad[]> {
  const keyFile = join(home, 'keys.txt');
  await writeFile(keyFile, digests.map((digest) => digest.toString('hex')).join('\n'));
  const args = [databaseUrl, String(seconds), String(requestsAtOnce), keyFile];
  return Promise.all(Array.from({ length: processes }, () => run(args)));
}

async function run(args: readonly string[]): Promise<LedgerLoad> {
  const lines: string[] = [];
  const child = await startNode(`${BUILD}/lab/bench/ledger-load/process.js`, args, {
    env: childEnvironment({}),
    output: (line) => void lines.push(line),
  });
  if ((await child.exited) !== 0) throw new Error(`a process that loads the ledger failed:\n${lines.join('\n')}`);
  const load: LedgerLoad = JSON.parse(lines.at(-1) ?? '');
  return load;
}
