/** The upper bound of the Temporal server: a bare workflow of five empty activities. */
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { build } from 'esbuild';
import { childEnvironment } from '../../../config.ts';
import { NODE_OPTIONS, startNode } from '../../../bin/stack/node-process.ts';
import type { Stack } from '../../stack/stack.ts';

const QUEUE = 'ceiling';
const STARTS_AT_ONCE = 8;
export interface Ceiling {
  readonly pid: number;
  /** Runs this many bare workflows to their end. @returns the id of one of them */
  readonly run: (count: number) => Promise<string>;
  readonly stop: () => Promise<void>;
}

/**
 * Starts a worker for the bare workflow. It is built, and has the Node options, as the real one.
 *
 * @param programs the folder with the built programs
 */
export async function startCeiling(stack: Stack, temporal: Client, programs: string): Promise<Ceiling> {
  const { namespace } = temporal.options;
  const folder = join(programs, 'lab/bench/task-load');
  const sources = ['ceiling-worker.ts', 'ceiling-workflow.ts'].map((name) => join(import.meta.dirname, name));
  await build({ entryPoints: sources, outdir: folder, format: 'esm', target: 'node20' });
  const worker = await startNode(join(folder, 'ceiling-worker.js'), [stack.temporalAddress, namespace, QUEUE], {
    env: { ...childEnvironment({}), NODE_OPTIONS },
    output: join(stack.home, 'ceiling.log'),
  });
  return {
    pid: worker.pid,
    run: (count) => runBare(temporal, count),
    stop: () => worker.stop(10_000),
  };
}

function newId(): string {
  return `bare-${crypto.randomUUID()}`;
}

async function runBare(temporal: Client, count: number): Promise<string> {
  const ended: Promise<unknown>[] = [];
  let workflowId = newId();
  let left = count;
  const starter = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      workflowId = newId();
      const handle = await temporal.workflow.start('bare', { workflowId, taskQueue: QUEUE });
      ended.push(handle.result());
    }
  };
  await Promise.all(Array.from({ length: STARTS_AT_ONCE }, starter));
  await Promise.all(ended);
  return workflowId;
}
