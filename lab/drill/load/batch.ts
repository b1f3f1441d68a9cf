/** Clients that run batches one after the other, and read the files of each. */
import { pause } from '../../stack/pause.ts';
import type { Random } from '../random.ts';
import {
  BATCH_SHAPES,
  type BatchApi,
  type BatchLine,
  type BatchResult,
  type BatchShape,
  UnknownBatchError,
} from './batch-shapes.ts';

/** Tasks start at once, and two cores render so many before their deadline. */
export function linesOf({ kind }: BatchShape): number {
  return kind === 'tasks' ? 200 : 2_000;
}

/** A batch whose creation was answered. */
export interface ClientBatch {
  readonly id: string;
  readonly shape: BatchShape;
  /** The directives of the lines, and the mark by which the simulator counts a line's requests. */
  readonly lines: readonly MarkedLine[];
  /** In milliseconds since 1970. */
  readonly createdAtMs: number;
  isCancelled: boolean;
  /** The results as the client first read them; null if the client did not. */
  results: readonly BatchResult[] | null;
  /** When the client read them. */
  readAtMs: number | null;
}

interface MarkedLine {
  readonly mark: string;
  readonly directive: string;
}

export interface BatchLoad {
  readonly batches: readonly ClientBatch[];
  /** Creations without a good answer, which may have created a batch. */
  readonly lost: () => number;
  /** Resolves when each client has read its last batch, or is out of patience. */
  readonly done: Promise<void>;
}

interface Scenario {
  readonly weight: number;
  readonly directive: string;
}

/** The directives of lines whose upstream fails, so that they are called more than once in an attempt. */
export const FAILING: readonly string[] = ['status=500', 'drop_after=3'];

/** A line whose upstream fails for a while slows its batch down, so there are few. */
const TEXT_SCENARIOS: readonly Scenario[] = [
  { weight: 900, directive: '' },
  { weight: 60, directive: 'delay_ms=500' },
  { weight: 20, directive: 'no_usage' },
  { weight: 18, directive: 'fail=content_policy_violation' },
  ...FAILING.map((directive) => ({ weight: 1, directive })),
];

/** Jobs with hundreds of lines: a directive of one line may change the whole job. */
const NATIVE_SCENARIOS: readonly Scenario[] = [
  { weight: 9_000, directive: 'batch_ms=5000' },
  { weight: 500, directive: 'batch_ms=15000' },
  { weight: 200, directive: 'no_usage' },
  { weight: 180, directive: 'fail=content_policy_violation' },
  ...['missing', 'twice', 'stranger', 'expired'].map((fault) => ({ weight: 10, directive: `batch_line=${fault}` })),
  ...['lost', 'cut', 'refused', 'gone'].map((fault) => ({ weight: 2, directive: `batch=${fault}` })),
];

const TASK_SCENARIOS: readonly Scenario[] = [
  { weight: 8, directive: 'render_ms=500' },
  { weight: 1, directive: 'fail=processing_failed' },
  { weight: 1, directive: 'reject=content_policy_violation' },
];

const SCENARIOS = { text: TEXT_SCENARIOS, native: NATIVE_SCENARIOS, tasks: TASK_SCENARIOS } as const;

const CANCELLED_SHARE = 0.2;
const PAUSE_MS = { least: 1_000, most: 10_000 };
const POLL_MS = 1_000;
const UNKNOWN = Symbol('unknown');
const MOST_BEFORE_CANCEL_MS = 20_000;

/** @param ended aborted to create no further batch @param patienceEnded aborted to wait for none */
export function startBatchLoad({
  random,
  clients,
  apiUrls,
  apiKey,
  ended,
  patienceEnded,
}: {
  random: Random;
  /** How many batches run at the same time, of one shape after the other. */
  clients: number;
  apiUrls: readonly string[];
  apiKey: string;
  ended: AbortSignal;
  patienceEnded: AbortSignal;
}): BatchLoad {
  const batches: ClientBatch[] = [];
  let lost = 0;
  let named = 0;
  const anyApi = (): BatchApi => ({ url: random.pick(apiUrls), apiKey });

  async function runOne(shape: BatchShape): Promise<void> {
    const directives = chooseDirectives(shape, random);
    let lines: readonly MarkedLine[] = [];
    const create = async (): Promise<string> => {
      lost += 1;
      lines = markLines(`b${(named += 1)}`, directives);
      const id = await shape.create(anyApi(), requestsOf(shape, lines));
      lost -= 1;
      return id;
    };
    const id = await insist(create, ended);
    if (id === null) return;
    const batch: ClientBatch = {
      id,
      shape,
      lines,
      createdAtMs: Date.now(),
      isCancelled: random.next() < CANCELLED_SHARE,
      results: null,
      readAtMs: null,
    };
    batches.push(batch);
    if (batch.isCancelled) {
      await pause(random.integer(0, MOST_BEFORE_CANCEL_MS), ended);
      await insist(() => shape.cancel(anyApi(), id).then(() => id), patienceEnded);
    }
    batch.results = await insist(() => shape.read(anyApi(), id), patienceEnded);
    batch.readAtMs = batch.results && Date.now();
  }

  let created = random.integer(0, BATCH_SHAPES.length - 1);
  async function keepRunning(): Promise<void> {
    await pause(random.integer(PAUSE_MS.least, PAUSE_MS.most), ended);
    while (!ended.aborted) {
      const shape = BATCH_SHAPES[created++ % BATCH_SHAPES.length];
      if (shape !== undefined) await runOne(shape);
      await pause(random.integer(PAUSE_MS.least, PAUSE_MS.most), ended);
    }
  }

  const done = Promise.all(Array.from({ length: clients }, keepRunning)).then(() => undefined);
  return { batches, lost: () => lost, done };
}

/** Repeats a call until it has a result; null for an unknown batch, and when the client is out of patience. */
async function insist<Result>(attempt: () => Promise<Result | null>, signal: AbortSignal): Promise<Result | null> {
  while (!signal.aborted) {
    const result = await attempt().catch((error: unknown) => (error instanceof UnknownBatchError ? UNKNOWN : null));
    if (result === UNKNOWN) return null;
    if (result !== null) return result;
    await pause(POLL_MS, signal);
  }
  return null;
}

/** The tokens of each line of a batch are different, so that a charge names its line. */
export function tokensOf(index: number): { readonly input: number; readonly output: number } {
  return { input: 10 + Math.floor(index / 50), output: 5 + (index % 50) };
}

function chooseDirectives(shape: BatchShape, random: Random): readonly string[] {
  const scenarios: readonly Scenario[] = SCENARIOS[shape.kind];
  return Array.from({ length: linesOf(shape) }, () => random.weighted(scenarios).directive);
}

/** @param name of one creation: an earlier one without an answer may have created a batch of its own */
function markLines(name: string, directives: readonly string[]): readonly MarkedLine[] {
  return directives.map((directive, index) => ({ mark: `${name}.${index}`, directive }));
}

function requestsOf({ kind }: BatchShape, lines: readonly MarkedLine[]): readonly BatchLine[] {
  return lines.map(({ mark, directive }, index) => {
    const { input, output } = tokensOf(index);
    const prompt =
      kind === 'tasks'
        ? `A lighthouse [sim:${directive}]`
        : `Go on. [sim:tokens=${output},prompt=${input},cached=0,mark=${mark},${directive}]`;
    return { customId: String(index), prompt };
  });
}
