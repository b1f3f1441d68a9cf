/** A whole stack, as `npm start` runs it, for one script: on free ports, with an empty state, and gone afterwards. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type RunningProcess, startProcess } from '../bin/stack/child-process.ts';
import type { StackDescription } from '../bin/stack/local-stack.ts';
import { findFreePort } from '../bin/stack/ports.ts';
import { waitUntil } from '../bin/stack/wait-until.ts';
import { childEnvironment } from '../config.ts';

const ROOT = resolve(import.meta.dirname, '..');
/** The first start on a machine may have to build the Temporal server. */
const READY_TIMEOUT_MS = 10 * 60_000;
export const STOP_GRACE_MS = 30_000;

export interface OwnStack {
  readonly description: StackDescription;
  /** What its processes wrote so far, a line each. */
  readonly log: readonly string[];
  /** Stops every process and removes the state. */
  readonly stop: () => Promise<void>;
}

/**
 * @param settings configuration beside what keeps limits and private addresses out of the way
 * @throws Error when the stack does not become ready; its log has been printed, and nothing is left running
 */
export async function startOwnStack(settings: Parameters<typeof childEnvironment>[0] = {}): Promise<OwnStack> {
  const home = await mkdtemp(join(tmpdir(), 'genway-stack-'));
  const log: string[] = [];
  const stack = await startProcess({
    command: process.execPath,
    args: [join(ROOT, 'bin/bootstrap.mjs'), 'start'],
    env: childEnvironment({ ...(await ownPorts()), ...WITHOUT_LIMITS, GENWAY_HOME: home, ...settings }),
    stopSignal: 'SIGINT',
    output: (line) => void log.push(line),
  });
  const stop = async (): Promise<void> => {
    await stack.stop(STOP_GRACE_MS);
    await rm(home, { recursive: true, force: true });
  };
  try {
    const demo = await ready(stack, join(home, 'demo.json'));
    return { description: JSON.parse(demo), log, stop };
  } catch (error) {
    console.error(log.join('\n'));
    await stop();
    throw error;
  }
}

const WITHOUT_LIMITS = {
  GENWAY_ALLOW_PRIVATE_ADDRESSES: 'true',
  GENWAY_RATE_LIMIT_RPM: '1000000',
  GENWAY_MAX_CONCURRENT_TASKS: '100000',
};

async function ownPorts() {
  const [api, text, simulator, postgres, temporal, temporalUi] = await Promise.all(
    Array.from({ length: 6 }, async () => String(await findFreePort())),
  );
  return {
    GENWAY_API_PORT: api ?? '',
    GENWAY_TEXT_PORT: text ?? '',
    GENWAY_SIMULATOR_PORT: simulator ?? '',
    GENWAY_POSTGRES_PORT: postgres ?? '',
    TEMPORAL_PORT: temporal ?? '',
    TEMPORAL_UI_PORT: temporalUi ?? '',
  };
}

/** @returns what the stack wrote about itself */
async function ready(stack: RunningProcess, demo: string): Promise<string> {
  const ended = stack.exited.then((exit) =>
    Promise.reject(new Error(`the stack ended with ${exit} before it was ready`)),
  );
  const written = waitUntil(() => readFile(demo, 'utf8'), { timeoutMs: READY_TIMEOUT_MS });
  return Promise.race([ended, written]);
}
