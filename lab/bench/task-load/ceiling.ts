/** The best that the Temporal server could do: a bare workflow of four empty activities. */
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { childEnvironment } from '../../../config.ts';
import { startNode } from '../../stack/node-process.ts';
import type { Stack } from '../../stack/stack.ts';

const QUEUE = 'ceiling';
const STARTS_AT_ONCE = 8;
const WARM_UP = 10;

export interface Ceiling {
  readonly pid: number;
  /** Runs so many bare workflows to their end. @returns the id of one of them */
  readonly run: (count: number) => Promise<string>;
  readonly stop: () => Promise<void>;
}

/** Starts a worker for the bare workflow, with as many slots as the real one has. */
export async function startCeiling(stack: Stack, temporal: Client): Promise<Ceiling> {
  const { namespace } = temporal.options;
  const worker = await startNode('lab/bench/task-load/ceiling-worker.ts', [stack.temporalAddress, namespace, QUEUE], {
    env: childEnvironment({}),
    logFile: join(stack.home, 'ceiling.log'),
  });
  await runBare(temporal, WARM_UP);
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
