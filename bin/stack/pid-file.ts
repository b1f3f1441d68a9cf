/** `pids.json` in the state folder: which processes belong to the stack, so that what a crash left behind can be found. */
import { access, constants, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import Joi from 'joi';
import { readPrivateFile, writePrivateFile } from './private-file.ts';
import { endProcess, processStart } from './process-identity.ts';

interface ProcessRecord {
  readonly pid: number;
  /** Tells the process from a later one with the same pid. */
  readonly started: string;
}

export interface PidFile {
  /** Notes that the process `name` runs under `pid` now. */
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
 * Claims the state folder, which is made if need be, for this process, and stops the processes of a stack that ended without
 * stopping them.
 *
 * @throws Error when another stack is running on the folder, or this user may not write to it
 */
export async function claimHome(home: string, report: (line: string) => void): Promise<PidFile> {
  await ensureWritable(home);
  const file = join(home, 'pids.json');
  await stopLeftovers(file, home, report);
  const records: Record<string, ProcessRecord> = {};
  // One write after the other: processes may come up at the same time.
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
    throw new Error(`The state cannot be kept in ${home}: ${reason}. Set GENWAY_HOME to a folder of yours.`, {
      cause: error,
    });
  }
}

async function stopLeftovers(file: string, home: string, report: (line: string) => void): Promise<void> {
  const { value, error } = schema.validate((await readPrivateFile(file)) ?? {}, { convert: false });
  if (error) throw new Error(`${file} cannot be read: ${error.message}. Remove it.`);
  const { [SUPERVISOR]: supervisor, ...children }: Partial<Record<string, ProcessRecord>> = value;
  if (supervisor && (await isRunning(supervisor))) {
    throw new Error(
      `Genway is running on ${home} already, as process ${supervisor.pid}. Stop it, or set GENWAY_HOME to another folder.`,
    );
  }
  // What was started last is stopped first.
  for (const [name, child] of Object.entries(children).toReversed()) {
    if (!child || !(await isRunning(child))) continue;
    report(`stopping ${name} (process ${child.pid}), left behind by a crash`);
    await endProcess(child.pid, 'SIGINT', LEFTOVER_GRACE_MS);
  }
}

async function isRunning({ pid, started }: ProcessRecord): Promise<boolean> {
  return (await processStart(pid)) === started;
}
