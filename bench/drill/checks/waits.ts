/** How long did clients go without an answer, and endpoints without an event? */
import Joi from 'joi';
import type { Member } from '../../stack/member.ts';
import { coveredOf, gapsBetween, lengthOf, longestOf, type Period } from '../../stack/period.ts';
import type { Check, CheckResult, Evidence } from './check.ts';

/** Twice what is promised after a silence: the machine is busy with its own drill. */
const LONGEST_WITHOUT_ANSWER_MS = 20_000;
/** An endpoint that has hung is believed again only after some tries. */
const MISTRUSTED_MS = 60_000;

/** The longest waits of a drill. */
export interface Waits {
  readonly create: Period;
  readonly text: Period;
  readonly eventMs: number;
}

/** All waits, those included that nobody could have spared the clients, as when PostgreSQL was killed. */
export function measureWaits(evidence: Evidence): Waits {
  return {
    create: longestOf(gapsBetween(evidence.createdAtMs, evidence.load)),
    text: longestOf(gapsBetween(textMoments(evidence), evidence.load)),
    eventMs: Math.max(0, ...lagsOf(evidence)),
  };
}

async function checkCreates(evidence: Evidence): Promise<CheckResult> {
  const excused = excuses(evidence, ({ role }) => role === 'api');
  return {
    promise: `while PostgreSQL and the api processes ran, a create was answered at least every ${LONGEST_WITHOUT_ANSWER_MS / 1000} s`,
    failures: tooLong(gapsBetween(evidence.createdAtMs, evidence.load), excused),
  };
}

async function checkTexts(evidence: Evidence): Promise<CheckResult> {
  const excused = excuses(evidence, ({ role }) => role === 'api' || role === 'text');
  return {
    promise: `while PostgreSQL and the text processes ran, text was answered at least every ${LONGEST_WITHOUT_ANSWER_MS / 1000} s`,
    failures: tooLong(gapsBetween(textMoments(evidence), evidence.load), excused),
  };
}

function textMoments({ textAnswers }: Evidence): number[] {
  return textAnswers.filter(({ isWhole }) => isWhole).map(({ endedAtMs }) => endedAtMs);
}

/** When nobody can be expected to answer: who would, or the database, was down, stood still or was cut off. */
function excuses({ stack }: Evidence, answers: (member: Member) => boolean): Period[] {
  return stack.members.flatMap((member) => {
    if (member.role === 'postgres') return member.outages;
    if (!answers(member)) return [];
    return [...member.outages, ...member.troubles.filter(({ what }) => what === 'freeze' || what === 'cut')];
  });
}

function tooLong(gaps: readonly Period[], excused: readonly Period[]): string[] {
  return gaps
    .map((gap) => ({ length: lengthOf(gap), unexcused: lengthOf(gap) - coveredOf(gap, excused) }))
    .filter(({ unexcused }) => unexcused > LONGEST_WITHOUT_ANSWER_MS)
    .map(
      ({ length, unexcused }) =>
        `nothing for ${(length / 1000).toFixed(1)} s, ${(unexcused / 1000).toFixed(1)} s of it without reason`,
    );
}

const eventSchema = Joi.object<{ data: { completed_at: number } }>({
  data: Joi.object({ completed_at: Joi.number().required() }).unknown(true).required(),
})
  .unknown(true)
  .required();

/** How long each event took from the end of its task, in milliseconds, but for those of endpoints that hung. */
function lagsOf({ receiver }: Evidence): number[] {
  return [...receiver.events.values()].flatMap(({ path, body, acceptedAtMs }) => {
    if (acceptedAtMs === null) return [];
    const { data } = Joi.attempt(JSON.parse(body), eventSchema, { convert: false });
    const endedAtMs = data.completed_at * 1000;
    const hung = receiver.hangs.some(
      (hang) => hang.path === path && hang.fromMs < acceptedAtMs && endedAtMs < hang.untilMs + MISTRUSTED_MS,
    );
    return hung ? [] : [acceptedAtMs - endedAtMs];
  });
}

export const WAIT_CHECKS: readonly Check[] = [checkCreates, checkTexts];
