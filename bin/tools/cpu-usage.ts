/**
 * The processor time of a test run, by kind of process and by test file. The processes that run tests record the time of
 * each file (`test/support/hooks.ts`); all processes of the run are sampled on Linux, which has `/proc`.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { processTimes } from '../stack/process-stat.ts';
import { descendantsOf } from './watch-tests.ts';

const FILES = 'files.jsonl';
const DEAREST_FILES = 30;

/** The seconds of one test file, with those of the processes that it started and waited for. */
export interface FileUsage {
  readonly file: string;
  readonly cpuS: number;
  readonly wallS: number;
  /** How many processes the file started. */
  readonly processes: number;
}

/** Appends the usage of a file. @param folder shared by the processes of a run */
export function recordFileUsage(folder: string, usage: FileUsage): void {
  appendFileSync(join(folder, FILES), `${JSON.stringify(usage)}\n`);
}

/** The processor time of a process and of its children that have ended, in seconds; 0 outside Linux. */
export function cpuSecondsOf(pid: number | 'self'): number {
  return processTimes(pid)?.withEndedChildrenS ?? 0;
}

/** A process at its last sample. */
interface Sample {
  readonly kind: string;
  /** The key of the parent's sample. */
  readonly parentKey: string;
  readonly ownS: number;
  readonly endedChildrenS: number;
  /** The number of the sample. */
  readonly round: number;
}

/** Samples the descendants of this process. The time of a process that ended between two samples counts for its parent. */
export function createCpuSampler() {
  const before = cpuSecondsOf('self');
  const samples = new Map<string, Sample>();
  const kinds = new Map<string, string>();
  let round = 0;
  return {
    sample: () => {
      round += 1;
      const keys = new Map<number, string>();
      for (const pid of descendantsOf(process.pid)) {
        const times = processTimes(pid);
        if (times === null) continue;
        const { ownS, withEndedChildrenS, parentPid, startTicks } = times;
        const key = `${pid} ${startTicks}`;
        keys.set(pid, key);
        const kind = kinds.get(key) ?? kindOf(pid);
        // A child has the command of its parent until it executes its own.
        if (samples.has(key)) kinds.set(key, kind);
        const endedChildrenS = withEndedChildrenS - ownS;
        samples.set(key, { kind, parentKey: keys.get(parentPid) ?? '', ownS, endedChildrenS, round });
      }
    },
    /** The seconds of each kind, the dearest first. */
    totals: (): readonly (readonly [kind: string, cpuS: number])[] => {
      const sums = new Map<string, number>();
      const add = (kind: string, cpuS: number): void => void sums.set(kind, (sums.get(kind) ?? 0) + cpuS);
      for (const { kind, parentKey, ownS, endedChildrenS, round: last } of samples.values()) {
        add(kind, ownS + endedChildrenS);
        const parent = samples.get(parentKey);
        // The parent has waited for the process, so this time is also in the parent's.
        if (parent !== undefined && last < parent.round) add(parent.kind, -ownS - endedChildrenS);
      }
      const sampled = [...sums.values()].reduce((sum, cpuS) => sum + cpuS, 0);
      const all = cpuSecondsOf('self') - before;
      sums.set('between samples, and the run itself', Math.max(0, all - sampled));
      return [...sums].sort(([, one], [, other]) => other - one);
    },
  };
}

/** The script of a Node process, otherwise the program. */
function kindOf(pid: number): string {
  const [program = '', ...args] = commandOf(pid);
  const script = /(^|\/)node$/.test(program) ? args.find((arg) => /\.[cm]?[jt]s$/.test(arg)) : undefined;
  if (script === undefined) return basename(program.split(/[: ]/)[0] ?? '');
  const name = basename(script).replace(/\.[^.]+$/, '');
  return script.includes('node_modules/mocha/') ? `mocha ${name}` : name;
}

function commandOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

/** The usage of a run as Markdown. @param folder as in `recordFileUsage` */
export function renderCpuUsage(folder: string, totals: readonly (readonly [kind: string, cpuS: number])[]): string {
  const sum = totals.reduce((all, [, cpuS]) => all + cpuS, 0);
  const files = readFileUsages(folder).sort((one, other) => other.cpuS - one.cpuS);
  return [
    `# Processor time: ${sum.toFixed(0)} s`,
    '| process | CPU s |\n|---|---|',
    ...totals.map(([kind, cpuS]) => `| ${kind} | ${cpuS.toFixed(0)} |`),
    '',
    `The ${DEAREST_FILES} dearest of ${files.length} files, without the shared servers:`,
    '',
    '| file | CPU s | wall s | processes |\n|---|---|---|---|',
    ...files
      .slice(0, DEAREST_FILES)
      .map(
        ({ file, cpuS, wallS, processes }) => `| ${file} | ${cpuS.toFixed(1)} | ${wallS.toFixed(1)} | ${processes} |`,
      ),
    '',
  ].join('\n');
}

function readFileUsages(folder: string): FileUsage[] {
  const path = join(folder, FILES);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  return lines.map((line): FileUsage => JSON.parse(line));
}
