/** The definition of a kind of fault, and its targets. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import type { Scenario } from '../load/scenarios.ts';
import type { Member, Role } from '../../stack/member.ts';
import type { Random } from '../random.ts';
import type { Period } from '../../stack/period.ts';
import type { Stack } from '../../stack/stack.ts';
import type { Receiver } from '../receiver.ts';
import type { Stores } from '../stores.ts';

/** A session whose key was deleted. */
export interface RevokedSession {
  readonly process: string;
  /** When the deletion was answered, in milliseconds since 1970. */
  readonly deletedAtMs: number;
  /** When the process closed the connection; null if it did not. */
  readonly closedAtMs: number | null;
}

/** The targets of faults. */
export interface Stage
  extends
    Pick<
      Stack,
      | 'home'
      | 'apiUrls'
      | 'adminToken'
      | 'databaseUrl'
      | 'temporalAddress'
      | 'members'
      | 'join'
      | 'leave'
      | 'realtimeUpstream'
    >,
    Partial<Pick<Stack, 'failOver'>> {
  readonly stores: Pick<Stores, 'folder' | 'disk' | 's3'>;
  /** The command `genway`, as an operator calls it. */
  readonly genway: (...args: readonly string[]) => Promise<void>;
  readonly receiver: Pick<Receiver, 'paths' | 'hang'>;
  /** The scenarios of new media tasks. */
  readonly upstreams: { scenarios: readonly Scenario[] };
  /** The names of the current targets of faults. */
  readonly struck: Set<string>;
  /** Expected reactions to faults that did not happen; a line each. */
  readonly unheeded: string[];
  /** The periods whose commits are lost: from a backup to its restore. */
  readonly forgotten: Period[];
  readonly revoked: RevokedSession[];
}

/** One kind of fault, as the plan and the command line name it. */
export interface FaultKind {
  /** For the usage. */
  readonly meaning: string;
  /** Needs servers as in development, or a cluster. */
  readonly only?: 'development' | 'cluster';
  /** Runs before there are customers and again before their first request, and never after that. */
  readonly isFirst?: true;
  /** Is planned once, since it takes minutes. */
  readonly isOnce?: true;
  /** The bounds of its duration. */
  readonly leastMs: number;
  readonly mostMs: number;
  /** If given, its duration is one of these. */
  readonly lengthsMs?: readonly number[];
  /** Hits a healthy target, and undoes the fault. @returns a description, once everything is healthy again */
  strike(stage: Stage, random: Random, lastsMs: number): Promise<string>;
}

/** A possible target of a fault. */
export interface Victim {
  readonly name: string;
  isUp(): boolean;
}

const PAUSE_MS = 50;

/**
 * Waits until a target is healthy, and keeps other faults away from it in the meantime.
 *
 * @param candidates the possible targets, which can change while it waits
 */
export async function strikeOne<Candidate extends Victim>(
  { struck }: Stage,
  random: Random,
  candidates: () => readonly Candidate[],
  act: (victim: Candidate) => Promise<string>,
): Promise<string> {
  const isWell = (candidate: Candidate): boolean => candidate.isUp() && !struck.has(candidate.name);
  let victim = random.shuffled(candidates()).find(isWell);
  while (victim === undefined) {
    await sleep(PAUSE_MS);
    victim = random.shuffled(candidates()).find(isWell);
  }
  struck.add(victim.name);
  try {
    return await act(victim);
  } finally {
    struck.delete(victim.name);
  }
}

/** {@link strikeOne} for all processes at once: waits until each of them is healthy. */
export async function strikeAll(stage: Stage, act: () => Promise<string>): Promise<string> {
  return strikeThese(stage, () => stage.members, act);
}

/** {@link strikeAll} for the processes of a role. */
export async function strikeRole(
  stage: Stage,
  role: Role,
  act: (victims: readonly Member[]) => Promise<string>,
): Promise<string> {
  return strikeThese(stage, membersOf(stage, role), act);
}

async function strikeThese<Candidate extends Victim>(
  { struck }: Stage,
  candidates: () => readonly Candidate[],
  act: (victims: readonly Candidate[]) => Promise<string>,
): Promise<string> {
  while (!candidates().every((victim) => victim.isUp() && !struck.has(victim.name))) await sleep(PAUSE_MS);
  const victims = [...candidates()];
  for (const { name } of victims) struck.add(name);
  try {
    return await act(victims);
  } finally {
    for (const { name } of victims) struck.delete(name);
  }
}

/**
 * {@link strikeOne} for a while, for a single target.
 *
 * @param begin @returns a description of the fault, and a function that undoes it
 */
export async function strikeThe(
  stage: Stage,
  random: Random,
  { name, lastsMs }: { name: string; lastsMs: number },
  begin: () => Promise<readonly [description: string, undo: () => unknown]>,
): Promise<string> {
  return strikeOne(
    stage,
    random,
    () => [{ name, isUp: () => true }],
    async () => {
      const [description, undo] = await begin();
      await sleep(lastsMs);
      await undo();
      return `${description} for ${seconds(lastsMs)}`;
    },
  );
}

/** A lease of a text process lasts 2 s; after 10 s of silence without connections the process counts as dead. */
export const AROUND_LEASE = { leastMs: 500, mostMs: 30_000, lengthsMs: [500, 3_000, 30_000] } as const;

/** The maximum time until a balancer notices that a process should get no new requests. */
export const DRAIN_MS = 2_000;

/** Longer than PostgreSQL is paused, which would be the reason first. */
const UNREADY_TIMEOUT_MS = 40_000;

/** The members of a role at each call. */
export function membersOf({ members }: Pick<Stage, 'members'>, role: Role): () => readonly Member[] {
  return () => members.filter((member) => member.role === role);
}

export function memberOf({ members }: Pick<Stage, 'members'>, role: Role): Member {
  const member = members.find((one) => one.role === role);
  if (member === undefined) throw new Error(`there is no ${role}`);
  return member;
}

/** Records a failure when a process does not report in time why it should get no requests. */
export async function expectUnready({ unheeded }: Stage, { name, url }: Member, reason: string): Promise<void> {
  const ask = async (): Promise<void> => {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(UNREADY_TIMEOUT_MS) });
    const text = await response.text();
    if (response.status !== 503 || !text.includes(reason)) throw new Error(`${response.status} ${text}`);
  };
  await waitUntil(ask, { timeoutMs: UNREADY_TIMEOUT_MS, pauseMs: 200 }).catch((error: unknown) => {
    unheeded.push(`${name} should not have been ready because of ${reason}: ${String(error)}`);
  });
}

export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
