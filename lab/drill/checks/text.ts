/** Checks that every answer was charged once, and nothing else. */
import type { LostRequest, TextAnswer } from '../load/text.ts';
import { seconds } from '../faults/fault.ts';
import type { Member } from '../../stack/member.ts';
import { type Check, type CheckResult, type Evidence, sqlCheck } from './check.ts';

interface UsageRow {
  readonly request_id: string;
  readonly outcome: string;
  readonly charge: string;
  readonly input_tokens: string;
  readonly output_tokens: string;
}

/** When an answer of a process ended. */
type Ended = Pick<TextAnswer, 'process' | 'endedAtMs'>;

/** What delayed the charges of answers. */
interface Timing {
  readonly stack: { readonly members: readonly Member[] };
  readonly slowness: number;
}

/** The longest pause between two attempts to write a settlement, and the attempt. */
const LONGEST_SETTLING_MS = 15_000;
/** Settlements are written within this on an idle machine. */
const IDLE_SETTLING_MS = 100;
/** Everything takes several times as long in a drill. */
const USUAL_SETTLING_MS = 500;
/** The client reads the end of an answer a moment after its process sent it. */
const CLOCK_MS = 100;

async function checkWholeAnswers(evidence: Evidence): Promise<CheckResult> {
  const { textAnswers, database } = evidence;
  const usage = await readUsage(database);
  const failures = textAnswers
    .filter(({ isWhole }) => isWhole)
    .flatMap((answer) => {
      const row = usage.get(answer.requestId);
      if (row === undefined && (couldNotBeWritten(answer, evidence) || wasForgotten(evidence, answer))) return [];
      const wrong = whatIsWrong(answer, row);
      return wrong === null ? [] : [`${answer.requestId} of ${answer.process}: ${wrong}`];
    });
  return {
    promise:
      'every whole answer was charged once, by the tokens it took, unless its process died before it could be written',
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
 * An answer does not wait for its charge. If its process is killed before it has written the charge, or before the
 * database is available again, the answer is free. This is the one accepted loss.
 */
function couldNotBeWritten(answer: Ended, evidence: Timing): boolean {
  const { process, endedAtMs } = answer;
  const own = evidence.stack.members.find((member) => member.name === process);
  const byMs = writtenByMs(answer, evidence);
  return (own?.outages ?? []).some(({ fromMs }) => fromMs >= endedAtMs - CLOCK_MS && fromMs <= byMs);
}

/** Whether a request was charged in the period before a restore whose commits the database has lost. */
export function wasForgotten(evidence: Evidence, answer: Ended): boolean {
  const byMs = Math.max(writtenByMs(answer, evidence), answer.endedAtMs + LONGEST_SETTLING_MS);
  return evidence.forgotten.some(({ fromMs, untilMs }) => fromMs <= byMs && answer.endedAtMs <= untilMs);
}

/** The latest time of an answer's charge: after all consecutive faults that delayed its process. */
export function writtenByMs({ process, endedAtMs }: Ended, { stack: { members }, slowness }: Timing): number {
  const own = members.find((member) => member.name === process);
  const postgres = members.find(({ role }) => role === 'postgres');
  const away = [
    ...(postgres?.outages ?? []),
    ...(postgres?.troubles ?? []),
    ...(own?.troubles.filter(({ what }) => what !== 'temporal cut') ?? []),
  ].toSorted((one, other) => one.fromMs - other.fromMs);
  let byMs = endedAtMs + Math.max(USUAL_SETTLING_MS, IDLE_SETTLING_MS * slowness);
  for (const { fromMs, untilMs } of away) {
    const isInTheWay = fromMs <= Math.max(byMs, endedAtMs + LONGEST_SETTLING_MS) && endedAtMs <= untilMs;
    if (isInTheWay) byMs = Math.max(byMs, untilMs + LONGEST_SETTLING_MS);
  }
  return byMs;
}

/** A process that stops in order answers all accepted requests. */
async function checkLost({ textLost, stack }: Pick<Evidence, 'textLost' | 'stack'>): Promise<CheckResult> {
  const wasDisturbed = ({ process, fromMs, untilMs }: LostRequest): boolean => {
    const { outages = [], troubles = [] } = stack.members.find(({ name }) => name === process) ?? {};
    const faults = [...outages.filter(({ by }) => by === 'kill'), ...troubles];
    return faults.some((fault) => fault.fromMs <= untilMs + CLOCK_MS && fromMs <= fault.untilMs);
  };
  return {
    promise: 'no text request was lost, unless its process was killed, frozen or cut off, or its upstream broke off',
    failures: textLost
      .filter((request) => !request.isBrokenOff && !wasDisturbed(request))
      .map(({ process, fromMs, untilMs, reason }) => `${process} after ${seconds(untilMs - fromMs)}: ${reason}`),
  };
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
  -- All responses of a realtime session have its request id.
  GROUP BY request_id, CASE format WHEN 'realtime' THEN id END HAVING max(charge) <> max(paid) OR count(*) > 1`,
);

const checkHolds = sqlCheck(
  'nothing is held any more',
  /* sql */ `
  SELECT format('%s are left of %s since %s', amount, id, opened_at) AS failure FROM text_allowances
  UNION ALL SELECT format('%s of %s are reserved', signup_reserved + funded_reserved, id) FROM accounts
    WHERE signup_reserved + funded_reserved > 0`,
);

/** By account and key, in total and for signup credit. Other processes released the allowances of dead ones. */
export const checkAllowances = sqlCheck(
  'every allowance of every account is spent, released or left, to the last digit',
  /* sql */ `
  WITH moves AS (
    SELECT allowance_id, account_id, api_key_id, kind, amount, signup_amount FROM transfers
      WHERE allowance_id IS NOT NULL
    UNION ALL SELECT id, account_id, api_key_id, 'left', amount, signup_amount FROM text_allowances
  ), sums AS (
    SELECT allowance_id, account_id, api_key_id,
      string_agg(format('%s %s (%s of signup credit)', kind, amount, signup_amount), ', ' ORDER BY kind) AS parts,
      sum(CASE kind WHEN 'allowance' THEN amount ELSE -amount END) AS missing,
      sum(CASE kind WHEN 'allowance' THEN signup_amount ELSE -signup_amount END) AS missing_signup
    FROM (SELECT allowance_id, account_id, api_key_id, kind, sum(amount) AS amount, sum(signup_amount) AS signup_amount
      FROM moves GROUP BY allowance_id, account_id, api_key_id, kind) AS by_kind
    GROUP BY allowance_id, account_id, api_key_id
  )
  SELECT format('%s of %s with %s: %s', allowance_id, account_id, api_key_id, parts) AS failure
  FROM sums WHERE missing <> 0 OR missing_signup <> 0`,
);

export const TEXT_CHECKS: readonly Check[] = [
  checkWholeAnswers,
  checkLost,
  checkFailures,
  checkCharges,
  checkAllowances,
  checkHolds,
];
