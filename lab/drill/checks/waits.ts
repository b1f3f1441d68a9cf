/** Checks how long clients waited for an answer, and endpoints for an event. */
import { seconds } from '../faults/fault.ts';
import { readEvent } from '../inbox.ts';
import type { Member, Role } from '../../stack/member.ts';
import { commonTo, coveredOf, gapsBetween, lengthOf, longestOf, type Period } from '../../stack/period.ts';
import type { Check, CheckResult, Evidence } from './check.ts';

/** The documented limit after a silence. */
const LONGEST_WITHOUT_ANSWER_MS = 10_000;
/** An attempt whose worker died is repeated after 30 s, and receivers of the drill fail for some seconds at a time. */
const LONGEST_WITHOUT_EVENT_MS = 60_000;
/** An endpoint that hung counts as healthy only after some attempts. */
const MISTRUSTED_MS = 60_000;

/** The longest waits of a drill. */
export interface Waits {
  readonly create: Period;
  readonly text: Period;
  readonly eventMs: number;
}

/** All waits, including unavoidable ones, such as while PostgreSQL was killed. */
export function measureWaits(evidence: Evidence): Waits {
  return {
    create: longestOf(gapsBetween(evidence.createdAtMs, evidence.load)),
    text: longestOf(gapsBetween(textMoments(evidence), evidence.load)),
    eventMs: Math.max(0, ...lagsOf(evidence).map(({ lagMs }) => lagMs)),
  };
}

async function checkCreates(evidence: Evidence): Promise<CheckResult> {
  const excused = excuses(evidence, ({ role }) => role === 'api');
  const longestMs = LONGEST_WITHOUT_ANSWER_MS * evidence.slowness;
  return {
    promise: `while PostgreSQL and the api processes ran, a create was answered at least every ${seconds(longestMs)}`,
    failures: tooLong(gapsBetween(evidence.createdAtMs, evidence.load), excused, longestMs),
  };
}

async function checkTexts(evidence: Evidence): Promise<CheckResult> {
  const excused = excuses(evidence, ({ role }) => role === 'api' || role === 'text');
  const longestMs = LONGEST_WITHOUT_ANSWER_MS * evidence.slowness;
  return {
    promise: `while PostgreSQL and the text processes ran, text was answered at least every ${seconds(longestMs)}`,
    failures: tooLong(gapsBetween(textMoments(evidence), evidence.load), excused, longestMs),
  };
}

async function checkEvents(evidence: Evidence): Promise<CheckResult> {
  const longestMs = LONGEST_WITHOUT_EVENT_MS * evidence.slowness;
  return {
    promise: `while Temporal, PostgreSQL and the workers ran, every event reached an endpoint that did not hang within ${seconds(longestMs)}`,
    failures: lagsOf(evidence)
      .filter(({ excusedMs, lagMs }) => lagMs - excusedMs > longestMs)
      .map(({ what, lagMs }) => `${what} after ${seconds(lagMs)}`),
  };
}

function textMoments({ textAnswers }: Evidence): number[] {
  return textAnswers.filter(({ isWhole }) => isWhole).map(({ endedAtMs }) => endedAtMs);
}

/** The periods in which no answer can be expected: the process or the database was down, frozen or disconnected. */
function excuses({ stack }: Evidence, answers: (member: Member) => boolean): Period[] {
  return stack.members.flatMap((member) => {
    if (member.role !== 'postgres' && !answers(member)) return [];
    return [...member.outages, ...member.troubles.filter(({ what }) => what === 'freeze' || what === 'cut')];
  });
}

function tooLong(gaps: readonly Period[], excused: readonly Period[], longestMs: number): string[] {
  return gaps
    .map((gap) => ({ length: lengthOf(gap), unexcused: lengthOf(gap) - coveredOf(gap, excused) }))
    .filter(({ unexcused }) => unexcused > longestMs)
    .map(({ length, unexcused }) => `nothing for ${seconds(length)}, ${seconds(unexcused)} of it without reason`);
}

interface Lag {
  readonly what: string;
  readonly lagMs: number;
  /** The part of it in which Temporal or the workers could not work. */
  readonly excusedMs: number;
}

/** The delay of each event after the end of its task, except at endpoints that hung. */
function lagsOf(evidence: Evidence): readonly Lag[] {
  const { receiver, stack } = evidence;
  const ofRole = (role: Role): readonly Member[] => stack.members.filter((member) => member.role === role);
  const outages = [
    // The work of a node that is killed, frozen or disconnected waits until another node takes it over.
    ...[...ofRole('temporal'), ...ofRole('postgres')].flatMap(({ outages, troubles }) => [...outages, ...troubles]),
    ...commonTo(ofRole('worker').map((worker) => worker.outages)),
  ];
  return [...receiver.events.values()].flatMap(({ path, body, acceptedAtMs }) => {
    if (acceptedAtMs === null) return [];
    const { type, data } = readEvent(body);
    const endedAtMs = data.completed_at * 1000;
    const hung = receiver.hangs.some(
      (hang) => hang.path === path && hang.fromMs < acceptedAtMs && endedAtMs < hang.untilMs + MISTRUSTED_MS,
    );
    const lag = { fromMs: endedAtMs, untilMs: acceptedAtMs };
    const excusedMs = coveredOf(lag, outages);
    return hung ? [] : [{ what: `${type} of ${data.id} at ${path}`, lagMs: lengthOf(lag), excusedMs }];
  });
}

export const WAIT_CHECKS: readonly Check[] = [checkCreates, checkTexts, checkEvents];
