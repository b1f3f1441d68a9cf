/** Was every answer paid for once, and nothing else? */
import type { TextAnswer } from '../load/text.ts';
import type { Member } from '../../stack/member.ts';
import { type Check, type CheckResult, type Evidence, sqlCheck } from './check.ts';

interface UsageRow {
  readonly request_id: string;
  readonly outcome: string;
  readonly charge: string;
  readonly input_tokens: string;
  readonly output_tokens: string;
}

/** The longest pause between two attempts to write a settlement, and the attempt. */
const LONGEST_SETTLING_MS = 15_000;

async function checkWholeAnswers(evidence: Evidence): Promise<CheckResult> {
  const { textAnswers, database, stack } = evidence;
  const usage = await readUsage(database);
  const failures = textAnswers
    .filter(({ isWhole }) => isWhole)
    .flatMap((answer) => {
      const row = usage.get(answer.requestId);
      const isLost = row === undefined || row.outcome === 'abandoned';
      if (isLost && (couldNotBeWritten(answer, stack.members) || wasForgotten(evidence, answer))) return [];
      const wrong = whatIsWrong(answer, row);
      return wrong === null ? [] : [`${answer.requestId} of ${answer.process}: ${wrong}`];
    });
  return {
    promise:
      'every whole answer was charged once, by the tokens it took, unless its process died while the database was away from it',
    failures,
  };
}

function whatIsWrong({ usage }: TextAnswer, row: UsageRow | undefined): string | null {
  if (!row) return 'nothing is on record';
  if (row.outcome !== 'succeeded' || BigInt(row.charge) === 0n) return `${row.outcome}, charged ${row.charge}`;
  if (!usage) return null;
  const { input, output } = usage;
  const isRight = Number(row.input_tokens) === input && Number(row.output_tokens) === output;
  return isRight ? null : `${row.input_tokens} and ${row.output_tokens} tokens instead of ${input} and ${output}`;
}

/**
 * An answer is not kept from its client because the database is away: it is charged when the database is back. Should its
 * process be killed before that, the answer is free. This is the one loss that is accepted.
 */
function couldNotBeWritten({ process, endedAtMs }: TextAnswer, members: readonly Member[]): boolean {
  const own = members.find((member) => member.name === process);
  const away = [
    ...(members.find(({ role }) => role === 'postgres')?.outages ?? []),
    ...(own?.troubles.filter(({ what }) => what !== 'temporal cut') ?? []),
  ].filter(({ fromMs, untilMs }) => fromMs <= endedAtMs + LONGEST_SETTLING_MS && endedAtMs <= untilMs);
  if (away.length === 0) return false;
  const backAtMs = Math.max(...away.map(({ untilMs }) => untilMs));
  return (own?.outages ?? []).some(({ fromMs }) => fromMs >= endedAtMs && fromMs <= backAtMs + LONGEST_SETTLING_MS);
}

/** It was charged in the period before a restore that the database has forgotten. */
function wasForgotten({ forgotten }: Evidence, { endedAtMs }: TextAnswer): boolean {
  return forgotten.some(({ fromMs, untilMs }) => fromMs - LONGEST_SETTLING_MS <= endedAtMs && endedAtMs <= untilMs);
}

async function checkFailures({ textAnswers, database }: Evidence): Promise<CheckResult> {
  const usage = await readUsage(database);
  const failures = textAnswers
    .filter(({ status }) => status !== 200)
    .flatMap(({ requestId, status }) => {
      const charge = usage.get(requestId)?.charge ?? '0';
      return BigInt(charge) === 0n ? [] : [`${requestId} was answered ${status} and charged ${charge}`];
    });
  return { promise: 'no text request that was answered with an error was charged', failures };
}

async function readUsage(database: Evidence['database']): Promise<Map<string, UsageRow>> {
  const { rows } = await database.raw<{ rows: UsageRow[] }>(
    'SELECT request_id, outcome, charge, input_tokens, output_tokens FROM text_requests',
  );
  return new Map(rows.map((row) => [row.request_id, row]));
}

const checkCharges = sqlCheck(
  'every text request is on record once, and its transfers are its charge',
  /* sql */ `
  SELECT format('%s: %s records, charged %s, the ledger has %s', request_id, count(DISTINCT id), max(charge), max(paid))
    AS failure
  FROM text_requests, LATERAL (
    SELECT coalesce(sum(amount), 0) AS paid FROM transfers
    WHERE text_request_id = text_requests.id AND credit = 'revenue') AS ledger
  GROUP BY request_id HAVING max(charge) <> max(paid) OR count(*) > 1`,
);

const checkHolds = sqlCheck(
  'nothing is held any more',
  /* sql */ `
  SELECT format('%s of %s are held since %s', amount, id, opened_at) AS failure FROM text_holds
  UNION ALL SELECT format('%s of %s are reserved', signup_reserved + funded_reserved, id) FROM accounts
    WHERE signup_reserved + funded_reserved > 0`,
);

export const TEXT_CHECKS: readonly Check[] = [checkWholeAnswers, checkFailures, checkCharges, checkHolds];
