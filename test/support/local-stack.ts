/** The whole of `npm start`, in a folder and on ports of its own. */
import { readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunningProcess } from '../../bin/stack/child-process.ts';
import { startNode } from '../../bin/stack/node-process.ts';
import { findFreePort } from '../../bin/stack/ports.ts';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { childEnvironment } from '../../config.ts';
import { testPrograms } from './services.ts';

const PORTS = [
  'GENWAY_API_PORT',
  'GENWAY_TEXT_PORT',
  'GENWAY_SIMULATOR_PORT',
  'GENWAY_POSTGRES_PORT',
  'TEMPORAL_PORT',
  'TEMPORAL_UI_PORT',
];
/** A busy machine takes long to start six processes. */
export const TIMEOUT_MS = 240_000;

export interface Demo {
  readonly base_url: string;
  readonly text_base_url: string;
  readonly temporal_address: string;
  readonly database_url: string;
  readonly simulator_url: string;
  readonly admin_token: string;
  readonly accounts: Readonly<Record<string, { readonly account_id: string; readonly api_key: string }>>;
}

type Environment = Readonly<Record<string, string>>;

export type Place = Environment & { readonly GENWAY_HOME: string };

/** A state folder and unused ports. */
export async function newPlace(): Promise<Place> {
  const ports = PORTS.map(async (name) => [name, String(await findFreePort())] as const);
  return {
    ...Object.fromEntries(await Promise.all(ports)),
    GENWAY_HOME: await mkdtemp(join(tmpdir(), 'genway-test-')),
  };
}

/** Starts the stack as `npm start` does with installed dependencies, but from built programs, which load in a third of the time. */
export async function startBuilt(place: Environment, lines: string[]): Promise<RunningProcess> {
  return startFile(join(await testPrograms(), 'bin/start.js'), place, lines);
}

/** Starts the program of the stack from that file. */
export async function startFile(file: string, place: Environment, lines: string[]): Promise<RunningProcess> {
  return startNode(file, [], {
    env: childEnvironment({ DATABASE_URL: '', TEMPORAL_ADDRESS: '', ...place }),
    output: (line) => lines.push(line),
  });
}

export async function waitUntilReady(
  stack: RunningProcess,
  place: Environment,
  lines: readonly string[],
): Promise<void> {
  let ended = false;
  void stack.exited.then(() => (ended = true));
  await waitUntil(async () => readDemo(place), {
    timeoutMs: TIMEOUT_MS,
    abandoned: () => (ended ? new Error(`npm start ended:\n${lines.join('\n')}`) : undefined),
  });
}

function readState(place: Environment, file: string): string {
  return readFileSync(join(place['GENWAY_HOME'] ?? '', file), 'utf8');
}

export function readDemo(place: Environment): Demo {
  return JSON.parse(readState(place, 'demo.json'));
}

export function readPids(place: Environment): Readonly<Record<string, { readonly pid: number }>> {
  return JSON.parse(readState(place, 'pids.json'));
}
