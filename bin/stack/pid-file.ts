/** `pids.json` in the state folder lists the processes of the stack, so that leftovers of a crash can be found. */
import { access, constants, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import Joi from 'joi';
import { readPrivateFile, writePrivateFile } from './private-file.ts';
import { endProcess, processStart } from './process-identity.ts';

interface ProcessRecord {
  readonly pid: number;
  /** Distinguishes the process from a later one with the same pid. */
  readonly started: string;
}

export interface PidFile {
  /** Records that the process `name` now runs as `pid`. */
  record(name: string, pid: number): Promise<void>;
  remove(): Promise<void>;
}

const SUPERVISOR = 'supervisor';
const LEFTOVER_GRACE_MS = 10_000;

const schema = Joi.object<Record<string, ProcessRecord>>().pattern(
  Joi.string(),
  Joi.object({ pid: Joi.number().integer().required(), started: Joi.string().required() }),
);

/**
 * Claims the state folder for this process, creating it if necessary, and stops processes that a crashed stack left
 * behind.
 *
 * @throws Error if another stack uses the folder, or this user may not write to it
 */
export async function claimHome(home: string, report: (line: string) => void): Promise<PidFile> {
  await ensureWritable(home);
  const file = join(home, 'pids.json');
  await stopLeftovers(file, home, report);
  const records: Record<string, ProcessRecord> = {};
  // Runs one write after another: processes may start at the same time.
  let lastWrite: Promise<void> = Promise.resolve();
  const record = async (name: string, pid: number): Promise<void> => {
    const started = await processStart(pid);
    if (started === undefined) return;
    records[name] = { pid, started };
    lastWrite = lastWrite.then(() => writePrivateFile(file, records));
    await lastWrite;
  };
  await record(SUPERVISOR, process.pid);
  return { record, remove: () => rm(file, { force: true }) };
}

async function ensureWritable(home: string): Promise<void> {
  try {
    await mkdir(home, { recursive: true });
    await access(home, constants.W_OK);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `State cannot be written to ${home}: ${reason}. Set GENWAY_HOME to a folder that you may write to.`,
      {
        cause: error,
      },
    );
  }
}

async function stopLeftovers(file: string, home: string, report: (line: string) => void): Promise<void> {
  const { value, error } = schema.validate((await readPrivateFile(file)) ?? {}, { convert: false });
  if (error) throw new Error(`${file} cannot be read: ${error.message}. Remove it.`);
  const { [SUPERVISOR]: supervisor, ...children }: Partial<Record<string, ProcessRecord>> = value;
  if (supervisor && (await isRunning(supervisor))) {
    throw new Error(
      `Genway is already running with ${home}, as process ${supervisor.pid}. Stop it, or set GENWAY_HOME to another folder.`,
    );
  }
  // In reverse order of starting.
  for (const [name, child] of Object.entries(children).toReversed()) {
    if (!child || !(await isRunning(child))) continue;
    report(`stopping ${name} (process ${child.pid}), left behind by a crash`);
    await endProcess(child.pid, 'SIGINT', LEFTOVER_GRACE_MS);
  }
}

async function isRunning({ pid, started }: ProcessRecord): Promise<boolean> {
  return (await processStart(pid)) === started;
}
