/** The command-line options of a drill. */
import { parseArgs } from 'node:util';
import { FAULT_NAMES, type FaultName, FAULTS } from './faults/kinds.ts';

export interface DrillOptions {
  /** The duration of the load. */
  readonly durationMs: number;
  readonly seed: number;
  /** Whether PostgreSQL and Temporal run in several processes each, and results are kept in S3. */
  readonly isCluster: boolean;
  readonly faults: number;
  readonly kinds: readonly FaultName[];
  /** The number of api processes, and of workers. */
  readonly copies: number;
  readonly textProcesses: number;
  /** Per second, on average. */
  readonly createsPerSecond: number;
  readonly textRequestsPerSecond: number;
  /** How many realtime sessions there are at the same time. */
  readonly realtimeSessions: number;
  /** How many batches run at the same time. */
  readonly batchClients: number;
  /** The time limit of a task. */
  readonly taskDeadlineMs: number;
  /** The time for unfinished work after the load. */
  readonly quietMs: number;
}

export const USAGE = `usage: npm run drill -- [options]
  --vendors       another drill, with options of its own: every fault of every vendor
  --cluster       PostgreSQL with a standby, two nodes of Temporal, and S3
  --minutes N     how long there is load (10)
  --seed N        repeats the chances of an earlier drill (a new one)
  --faults N      how many there are (8 a minute); 0 only puts load on
  --batches       mostly batches, with few other requests
  --only KINDS    of which kinds, with commas (all that the servers allow):
${FAULT_NAMES.map((name) => `    ${name.padEnd(14)}  ${FAULTS[name].meaning}`).join('\n')}`;

const FAULTS_PER_MINUTE = 8;

export const MOST_SEED = 2 ** 32 - 1;

const DEFAULTS = {
  copies: 2,
  // Enough that others serve an account while one is frozen. Each is idle most of the time.
  textProcesses: 4,
  createsPerSecond: 1.5,
  textRequestsPerSecond: 12,
  realtimeSessions: 50,
  // Their lines would take the processor from all others.
  batchClients: 1,
  taskDeadlineMs: 180_000,
  quietMs: 360_000,
} as const;

/** The load of `--batches`. */
const MOSTLY_BATCHES = {
  createsPerSecond: 0.5,
  textRequestsPerSecond: 2,
  realtimeSessions: 4,
  batchClients: 2,
} as const satisfies Partial<DrillOptions>;

/**
 * @param args the arguments after the command
 * @param newSeed used if the arguments give none
 * @throws Error that names the wrong argument
 */
export function parseOptions(args: readonly string[], newSeed: number): DrillOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string', default: String(newSeed) },
      faults: { type: 'string' },
      cluster: { type: 'boolean', default: false },
      only: { type: 'string' },
      batches: { type: 'boolean', default: false },
    },
  });
  const minutes = numberOf('minutes', values.minutes, { from: 0.1, to: 120 });
  return {
    ...DEFAULTS,
    durationMs: minutes * 60_000,
    seed: wholeNumber('seed', values.seed, MOST_SEED),
    faults: wholeNumber('faults', values.faults ?? String(Math.ceil(minutes * FAULTS_PER_MINUTE)), 10_000),
    isCluster: values.cluster,
    ...(values.batches && MOSTLY_BATCHES),
    kinds: kindsOf(values.only, values.cluster ? 'cluster' : 'development', values.batches),
  };
}

/** Reads an option from 0 on. @throws Error */
export function wholeNumber(name: string, text: string, most: number): number {
  return numberOf(name, text, { from: 0, to: most, isWhole: true });
}

function numberOf(
  name: string,
  text: string,
  { from, to, isWhole = false }: { readonly from: number; readonly to: number; readonly isWhole?: boolean },
): number {
  const value = (isWhole ? /^\d+$/ : /^\d+(\.\d+)?$/).test(text) ? Number(text) : Number.NaN;
  const kind = isWhole ? 'whole number' : 'number';
  if (!(value >= from && value <= to)) throw new Error(`--${name} must be a ${kind} from ${from} to ${to}`);
  return value;
}

function kindsOf(
  list: string | undefined,
  servers: 'development' | 'cluster',
  mostlyBatches: boolean,
): readonly FaultName[] {
  const possible = FAULT_NAMES.filter((name) => (FAULTS[name].only ?? servers) === servers);
  // With two stores, no batches run.
  if (list === undefined) return possible.filter((name) => !mostlyBatches || name !== 's3');
  const kind = (word: string): FaultName => {
    const known = possible.find((name) => name === word);
    if (known === undefined) throw new Error(`--only must name some of ${possible.join(', ')}`);
    return known;
  };
  return [...new Set(list.split(',').map(kind))];
}
