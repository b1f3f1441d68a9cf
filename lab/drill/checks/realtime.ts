/** Checks that realtime responses cost what the upstream reported, and that no session outlives its key. */
import { loadCatalogue } from '../../../catalogue/load.ts';
import { formatUsd, type PicoUsd } from '../../../domain/money.ts';
import { seconds } from '../faults/fault.ts';
import type { RealtimeTurn } from '../load/realtime.ts';
import { coveredOf, lengthOf } from '../../stack/period.ts';
import { priceResponses } from '../realtime-prices.ts';
import type { Check, CheckResult, Evidence } from './check.ts';
import { wasForgotten, writtenByMs } from './text.ts';

interface ResponseRow {
  readonly tokens: string;
  readonly outcome: string;
  readonly error_code: string | null;
  readonly charge: string;
  readonly held: string;
  readonly estimated: boolean;
}

/** What the upstream generated and what Genway recorded of it. */
interface Comparison {
  /** The list price of every response that the upstream generated. */
  readonly generated: PicoUsd;
  readonly responses: number;
  readonly settled: { readonly count: number; readonly charge: PicoUsd };
  /** Responses that the upstream generated, and whose end Genway did not get. */
  readonly unreported: readonly RealtimeTurn[];
  /** Responses that Genway could not charge, since its process was killed or a restore lost them. */
  readonly unwritten: readonly RealtimeTurn[];
  /** Rows of responses without a report of their end. */
  readonly losses: readonly ResponseRow[];
  readonly estimates: readonly ResponseRow[];
  readonly mistakes: readonly string[];
}

const OUTLIVES_MS = 2_000;

async function compare(evidence: Evidence): Promise<Comparison> {
  const { database, realtime, stack } = evidence;
  const { rows } = await database.raw<{ rows: ResponseRow[] }>(/* sql */ `
    SELECT input_tokens || '/' || output_tokens AS tokens, outcome, error_code, charge, held, estimated
    FROM text_requests WHERE format = 'realtime'`);
  const charged = rows.filter(({ outcome }) => outcome !== 'failed');
  const exact = new Map<string, ResponseRow[]>();
  for (const row of charged.filter(({ estimated }) => !estimated)) {
    exact.set(row.tokens, [...(exact.get(row.tokens) ?? []), row]);
  }
  const turns = new Map(realtime.turns.map((turn) => [turn.tokens, turn]));
  const mistakes: string[] = [];
  const unreported: RealtimeTurn[] = [];
  const unwritten: RealtimeTurn[] = [];
  const settled = { count: 0, charge: 0n };
  const generated = generatedBy(stack.realtimeUpstream.finished);
  for (const [tokens, price] of generated) {
    const [row, ...others] = exact.get(tokens) ?? [];
    exact.delete(tokens);
    const turn = turns.get(tokens);
    if (turn === undefined) mistakes.push(`${tokens}: nobody requested it`);
    else if (row !== undefined) {
      settled.count += 1;
      settled.charge += BigInt(row.charge);
      if (others.length > 0) mistakes.push(`${tokens}: charged ${others.length + 1} times`);
      if (BigInt(row.charge) !== price) mistakes.push(`${tokens}: charged ${row.charge} instead of ${price}`);
    } else if (wasKilled(evidence, turn) || wasForgotten(evidence, turn)) unwritten.push(turn);
    else unreported.push(turn);
  }
  for (const tokens of exact.keys()) mistakes.push(`${tokens}: charged, but the upstream did not generate it`);
  return {
    generated: [...generated.values()].reduce((sum, price) => sum + price, 0n),
    responses: generated.size,
    settled,
    unreported,
    unwritten,
    losses: rows.filter(({ error_code: code }) => code === 'processing_timeout'),
    estimates: charged.filter(({ estimated }) => estimated),
    mistakes,
  };
}

/** The list price of the generated responses, by their tokens. */
function generatedBy(finished: Evidence['stack']['realtimeUpstream']['finished']): Map<string, PicoUsd> {
  const responses = priceResponses(loadCatalogue(), finished);
  return new Map(responses.map(({ inputTokens, outputTokens, price }) => [`${inputTokens}/${outputTokens}`, price]));
}

/** Whether the process was killed before it can have charged the response. */
function wasKilled(evidence: Evidence, turn: RealtimeTurn): boolean {
  const { outages = [] } = evidence.stack.members.find(({ name }) => name === turn.process) ?? {};
  const byMs = writtenByMs(turn, evidence);
  return outages.some(({ fromMs }) => turn.sentAtMs <= fromMs && fromMs <= byMs);
}

/** A line with the sums. */
export async function describeRealtime(evidence: Evidence): Promise<string> {
  const { generated, responses, settled, unreported, unwritten, losses, estimates } = await compare(evidence);
  const held = losses.reduce((sum, row) => sum + BigInt(row.held), 0n);
  return [
    `${'realtime responses'.padEnd(23)} ${responses} for ${formatUsd(generated)} USD at the upstream`,
    `${settled.count} settled for ${formatUsd(settled.charge)} USD`,
    `${unreported.length} with an unknown end (${losses.length} possible losses that held ${formatUsd(held)} USD, ${estimates.length} estimates)`,
    `${unwritten.length} of killed processes or before a restore`,
  ].join(', ');
}

async function checkSums(evidence: Evidence): Promise<CheckResult> {
  const { mistakes, unreported, losses, estimates } = await compare(evidence);
  const missing = unreported.length - losses.length - estimates.length;
  return {
    promise:
      'every realtime response was charged once, as the upstream reported it, or is counted as a possible loss, unless its process was killed',
    failures: [
      ...mistakes,
      ...(missing > 0
        ? unreported.map(({ tokens, process, status }) => `${tokens} of ${process} (${status}) is not on record`)
        : []),
    ],
  };
}

async function checkErrors({ realtime }: Pick<Evidence, 'realtime'>): Promise<CheckResult> {
  return {
    promise: 'no realtime session failed with an internal error',
    failures: ['500', 'internal_error'].flatMap((error) => {
      const count = realtime.errors.get(error) ?? 0;
      return count === 0 ? [] : [`${error}: ${count} times`];
    }),
  };
}

/** A process cannot know of a deletion while it is frozen, or PostgreSQL is unavailable to it. */
async function checkRevoked({ revoked, stack, slowness }: Evidence): Promise<CheckResult> {
  const longestMs = OUTLIVES_MS * slowness;
  const failures = revoked.flatMap(({ process, deletedAtMs, closedAtMs }) => {
    if (closedAtMs === null) return [`a session of ${process} did not end`];
    const excuses = stack.members
      .filter(({ name, role }) => name === process || role === 'postgres')
      .flatMap(({ outages, troubles }) => [...outages, ...troubles]);
    const life = { fromMs: deletedAtMs, untilMs: closedAtMs };
    const unexcusedMs = lengthOf(life) - coveredOf(life, excuses);
    return unexcusedMs > longestMs ? [`a session of ${process} ended after ${seconds(lengthOf(life))}`] : [];
  });
  return { promise: `no realtime session outlived its key by more than ${seconds(longestMs)}`, failures };
}

export const REALTIME_CHECKS: readonly Check[] = [checkSums, checkErrors, checkRevoked];
