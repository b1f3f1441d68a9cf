/** Checks that each line of each batch is in one file, and that its answer was charged once. */
import Joi from 'joi';
import { loadCatalogue } from '../../../catalogue/load.ts';
import { batchPricing, priceText, type TextPricing } from '../../../domain/pricing.ts';
import { type ClientBatch, FAILING, linesOf, tokensOf } from '../load/batch.ts';
import { BATCH_SHAPES, type BatchResult, type BatchShape, MESSAGES } from '../load/batch-shapes.ts';
import { ask } from '../../stack/client.ts';
import { type Check, type CheckResult, type Evidence, isForgotten, sqlCheck } from './check.ts';

interface BatchRow {
  readonly id: string;
  /** Batches of messages have none. */
  readonly metadata: { readonly shape: string } | null;
  readonly status: string;
}

/** A text request that a batch was charged for. */
interface ChargeRow {
  readonly model: string;
  readonly input_tokens: string;
  readonly output_tokens: string;
  readonly estimated: boolean;
  readonly charge: string;
}

const EXPECTED_ENDINGS: readonly string[] = ['completed', 'cancelled'];

async function checkFiles(evidence: Evidence): Promise<CheckResult> {
  const failures: string[] = [];
  const { rows } = await evidence.database.raw<{ rows: BatchRow[] }>('SELECT id, metadata, status FROM batches');
  for (const { id, metadata, status } of rows) {
    if (!EXPECTED_ENDINGS.includes(status)) failures.push(`${id} is ${status}`);
    const shape = shapeOf(metadata?.shape ?? MESSAGES.name);
    const results = await readAtEnd(evidence, id, shape);
    failures.push(...whatIsWrong(results, linesOf(shape)).map((wrong) => `${id} (${status}): ${wrong}`));
    const check = shape.kind === 'tasks' ? whatIsWronglyRendered : whatIsWronglyCharged;
    failures.push(...(await check(evidence, id, results)).map((wrong) => `${id} (${status}): ${wrong}`));
  }
  return {
    promise: 'every line of every batch is in one file, and was charged once, by its own tokens, if it has an answer',
    failures,
  };
}

/** The files as any api process returns them now. */
async function readAtEnd(
  { stack, batchKey }: Evidence,
  id: string,
  shape: BatchShape,
): Promise<readonly BatchResult[]> {
  return (await shape.read({ url: stack.apiUrls[0] ?? '', apiKey: batchKey }, id)) ?? [];
}

function shapeOf(name: string): BatchShape {
  const shape = BATCH_SHAPES.find((one) => one.name === name);
  if (shape === undefined) throw new Error(`no client creates batches of ${name}`);
  return shape;
}

function whatIsWrong(results: readonly BatchResult[], lines: number): readonly string[] {
  const ids = new Set(results.map(({ customId }) => customId));
  const wrongs = [];
  if (results.length !== ids.size) wrongs.push(`${results.length - ids.size} lines are in the files more than once`);
  if (ids.size !== lines) wrongs.push(`${ids.size} lines are in the files`);
  const expired = results.filter(({ outcome }) => outcome === 'expired').length;
  return expired === 0 ? wrongs : [...wrongs, `${expired} lines expired`];
}

/** Each line that started has one task. The ledger of each task is checked beside those of other clients. */
async function whatIsWronglyRendered(
  { database }: Evidence,
  id: string,
  results: readonly BatchResult[],
): Promise<readonly string[]> {
  const tasks = await database<{ batch_id: string; status: string }>('tasks').where({ batch_id: id }).select('status');
  return (['succeeded', 'failed'] as const).flatMap((outcome) => {
    const lines = results.filter((result) => result.outcome === outcome).length;
    const rendered = tasks.filter(({ status }) => status === outcome).length;
    return lines === rendered ? [] : [`${lines} lines ${outcome}, ${rendered} tasks did`];
  });
}

/** Compares the charges with the answers in the files by the tokens, which name the line. */
async function whatIsWronglyCharged(
  { database }: Evidence,
  id: string,
  results: readonly BatchResult[],
): Promise<readonly string[]> {
  const { rows } = await database.raw<{ rows: ChargeRow[] }>(
    /* sql */ `
    SELECT model, input_tokens, output_tokens, estimated, charge FROM text_requests
    WHERE batch_id = :id AND outcome <> 'failed'`,
    { id },
  );
  const answered = results.filter(({ outcome }) => outcome === 'succeeded');
  if (rows.length !== answered.length) return [`${answered.length} lines have an answer, ${rows.length} were charged`];
  const charged = new Map<string, ChargeRow[]>();
  for (const row of rows.filter(({ estimated }) => !estimated)) {
    const tokens = `${row.input_tokens}/${row.output_tokens}`;
    charged.set(tokens, [...(charged.get(tokens) ?? []), row]);
  }
  let withoutUsage = rows.filter(({ estimated }) => estimated).length;
  return answered.flatMap(({ customId }) => {
    const { input, output } = tokensOf(Number(customId));
    const [row, ...others] = charged.get(`${input}/${output}`) ?? [];
    if (row === undefined) return (withoutUsage -= 1) < 0 ? [`line ${customId} was not charged`] : [];
    const price = priceOf(row.model, input, output);
    if (others.length > 0) return [`line ${customId} was charged ${others.length + 1} times`];
    return BigInt(row.charge) === price ? [] : [`line ${customId} was charged ${row.charge} instead of ${price}`];
  });
}

const { textModels } = loadCatalogue();

function priceOf(model: string, input: number, output: number): bigint {
  const pricing: TextPricing | undefined = textModels.get(model)?.pricing;
  if (pricing === undefined) throw new Error(`there is no model ${model}`);
  const usage = { inputTotal: input, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, outputTotal: output };
  return priceText(batchPricing(pricing), usage, Date.now()).charge;
}

/** The files of a final batch never change. */
async function checkReads(evidence: Evidence): Promise<CheckResult> {
  const failures: string[] = [];
  for (const { id, shape, results, createdAtMs, readAtMs, isCancelled } of evidence.batches) {
    if (isForgotten(evidence, createdAtMs) || isForgotten(evidence, readAtMs)) continue;
    if (results === null) failures.push(`${id} was not read`);
    else if (!isSame(results, await readAtEnd(evidence, id, shape))) failures.push(`the files of ${id} changed`);
    else if (!isCancelled && results.some(({ outcome }) => outcome === 'cancelled'))
      failures.push(`${id} has cancelled lines`);
  }
  return { promise: 'the files of a batch that has ended never change', failures };
}

function isSame(one: readonly BatchResult[], other: readonly BatchResult[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** How often the upstream got the lines of a batch: in direct requests, and in jobs of vendors. */
interface Calls {
  readonly byMark: Readonly<Record<string, number>>;
  /** By the custom id of the vendor's request, which has the id of the job. */
  readonly byJobLine: ReadonlySet<string>;
}

/** A worker that is killed repeats only lines whose answer nobody recorded, and each as a further attempt. */
async function checkAttempts(evidence: Evidence): Promise<CheckResult> {
  const calls = await readCalls(evidence);
  const failures: string[] = [];
  for (const batch of evidence.batches) {
    if (batch.shape.kind === 'tasks' || overlapsRestore(evidence, batch)) continue;
    const jobs = await evidence.database('batch_jobs').where({ batch_id: batch.id }).pluck<string[]>('id');
    for (const { customId, outcome, attempt } of batch.results ?? []) {
      const line = batch.lines[Number(customId)];
      if (line === undefined || attempt === null || FAILING.includes(line.directive)) continue;
      const jobLines = jobs.filter((job) => calls.byJobLine.has(`${job}-${Number(customId) + 1}`));
      const count = (calls.byMark[line.mark] ?? 0) + jobLines.length;
      if (count > attempt)
        failures.push(`line ${customId} of ${batch.id} was called ${count} times in ${attempt} attempts`);
      if (count === 0 && outcome === 'succeeded') failures.push(`line ${customId} of ${batch.id} was never called`);
    }
  }
  return { promise: 'each call of the upstream for a line is an attempt that the line names', failures };
}

async function readCalls({ stack }: Evidence): Promise<Calls> {
  const [marks, jobs] = await Promise.all(
    ['marks', 'batches'].map((what) => ask(`${stack.simulatorUrl}/_sim/${what}`)),
  );
  const { data: byMark } = Joi.attempt(JSON.parse(marks?.text ?? ''), COUNTS);
  const { data } = Joi.attempt(JSON.parse(jobs?.text ?? ''), JOBS);
  return { byMark, byJobLine: new Set(data.flatMap(({ custom_ids: ids }) => ids)) };
}

/** A restore forgets attempts that were recorded after its backup. */
function overlapsRestore({ forgotten }: Evidence, { createdAtMs, readAtMs }: ClientBatch): boolean {
  return forgotten.some(({ fromMs, untilMs }) => fromMs <= (readAtMs ?? Infinity) && createdAtMs <= untilMs);
}

const COUNTS = Joi.object<{ data: Calls['byMark'] }>({ data: Joi.object().pattern(/./, Joi.number()).required() });
const JOBS = Joi.object<{ data: readonly { readonly custom_ids: readonly string[] }[] }>({
  data: Joi.array()
    .items(Joi.object({ custom_ids: Joi.array().items(Joi.string()).required() }).unknown())
    .required(),
});

const checkSums = sqlCheck(
  'what the account of the batches paid is the sum of their lines',
  /* sql */ `
  SELECT format('%s paid %s, its lines cost %s', account_id, paid, cost) AS failure FROM (
    SELECT account_id, sum(cost) AS cost, (
      SELECT coalesce(sum(amount), 0) FROM transfers
      WHERE transfers.account_id = line.account_id AND credit = 'revenue' AND debit <> 'absorbed_loss') AS paid
    FROM (SELECT account_id, charge - absorbed AS cost FROM text_requests
      UNION ALL SELECT account_id, price FROM tasks WHERE status = 'succeeded') AS line
    WHERE account_id IN (SELECT account_id FROM batches)
    GROUP BY account_id) AS sums
  WHERE paid <> cost`,
);

const checkRest = sqlCheck(
  'no line or content of a batch is left',
  /* sql */ `
  SELECT format('%s lines of %s', count(*), batch_id) AS failure FROM batch_lines GROUP BY batch_id
  UNION ALL SELECT format('%s contents of %s', count(*), left(id, 38)) FROM batch_contents GROUP BY left(id, 38)`,
);

export const BATCH_CHECKS: readonly Check[] = [checkFiles, checkReads, checkAttempts, checkSums, checkRest];
