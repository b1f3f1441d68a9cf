/** Network faults on the connections of a process to PostgreSQL and Temporal. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Link, Member } from '../../stack/member.ts';
import type { Random } from '../random.ts';
import type { TcpProxy } from '../../stack/tcp-proxy.ts';
import { AROUND_LEASE, type FaultKind, membersOf, seconds, type Stage, strikeOne } from './fault.ts';

/** The limits of a delay for one round trip; opening a connection takes several. */
const SHORTEST_DELAY_MS = 50;
const LONGEST_DELAY_MS = 300;
/** A text process under load writes within this time. */
const COMMITTED_MS = 1_000;

/** New connections work at once; the data of the old ones arrives at the end. */
export const SILENCE: FaultKind = {
  meaning: 'the connections to PostgreSQL go silent and do not break; new ones work',
  leastMs: 3_000,
  mostMs: 15_000,
  strike: (stage, random, lastsMs) =>
    random.next() < 0.5
      ? silenceAll(stage, lastsMs)
      : onLink(stage, random, ['postgres'], async (victim, link, proxy) => {
          const count = proxy.connections();
          proxy.silence();
          await victim.suffer('silence', () => sleep(lastsMs));
          proxy.release();
          return `silenced ${count} connections of ${victim.name} to ${link} for ${seconds(lastsMs)}`;
        }),
};

/** Simulates a network device between all of them and the database that loses its state. */
async function silenceAll({ members }: Stage, lastsMs: number): Promise<string> {
  const proxies = members.flatMap((member) =>
    member.links.postgres ? [{ member, proxy: member.links.postgres }] : [],
  );
  const count = proxies.reduce((sum, { proxy }) => sum + proxy.connections(), 0);
  await Promise.all(
    proxies.map(async ({ member, proxy }) => {
      proxy.silence();
      await member.suffer('silence', () => sleep(lastsMs));
      proxy.release();
    }),
  );
  return `silenced all ${count} connections to postgres for ${seconds(lastsMs)}`;
}

export const CUT: FaultKind = {
  meaning: 'the connections of a process to PostgreSQL or Temporal break, and new ones are refused',
  leastMs: 500,
  mostMs: 10_000,
  strike: (stage, random, lastsMs) => cutOff(stage, random, ['postgres', 'temporal'], lastsMs),
};

/** After 10 s the others take the process for dead, and release the money that it charges when it is back. */
export const TEXT_CUT: FaultKind = {
  ...AROUND_LEASE,
  meaning: 'a text process is cut off PostgreSQL for less or more than its lease, while others serve its accounts',
  strike: (stage, random, lastsMs) =>
    cutOff({ ...stage, members: membersOf(stage, 'text')() }, random, ['postgres'], lastsMs),
};

/** The others take the process for dead before it learns that its last write was committed. */
export const TEXT_LOST: FaultKind = {
  meaning: 'a text process loses the answer of a commit, and is cut off PostgreSQL for longer than it counts as alive',
  leastMs: 13_000,
  mostMs: 15_000,
  strike: (stage, random, lastsMs) =>
    onLink({ ...stage, members: membersOf(stage, 'text')() }, random, ['postgres'], async (victim, link, proxy) => {
      proxy.swallowAnswers();
      await victim.suffer('lost', async () => {
        await sleep(COMMITTED_MS);
        proxy.refuseNew();
        proxy.reset();
        await sleep(lastsMs);
      });
      proxy.refuseNew(false);
      return `lost the answers of ${link} to ${victim.name}, and cut it off for ${seconds(lastsMs)}`;
    }),
};

export const NODE_CUT: FaultKind = {
  meaning: 'a node of Temporal is cut off PostgreSQL, and goes on to answer clients and the other node',
  only: 'cluster',
  leastMs: 5_000,
  mostMs: 30_000,
  strike: (stage, random, lastsMs) =>
    cutOff({ ...stage, members: membersOf(stage, 'temporal')() }, random, ['postgres'], lastsMs),
};

function cutOff(stage: Stage, random: Random, links: readonly Link[], lastsMs: number): Promise<string> {
  return onLink(stage, random, links, async (victim, link) => {
    await cutOffDuring(victim, link, () => sleep(lastsMs));
    return `cut ${victim.name} off ${link} for ${seconds(lastsMs)}`;
  });
}

/** Breaks the connections of a process to a service, and refuses new ones until the work is done. */
export async function cutOffDuring(victim: Member, link: Link, work: () => Promise<unknown>): Promise<void> {
  const proxy = proxyOf(victim, link);
  proxy.refuseNew();
  proxy.reset();
  await victim.suffer(link === 'postgres' ? 'cut' : 'temporal cut', work);
  proxy.refuseNew(false);
}

function proxyOf(victim: Member, link: Link): TcpProxy {
  const proxy = victim.links[link];
  if (proxy === undefined) throw new Error(`${victim.name} has no connections to ${link}`);
  return proxy;
}

export const DELAY: FaultKind = {
  meaning: 'what a process says to PostgreSQL or Temporal takes long, and so do the answers',
  leastMs: 3_000,
  mostMs: 15_000,
  strike: (stage, random, lastsMs) =>
    onLink(stage, random, ['postgres', 'temporal'], async (victim, link, proxy) => {
      const delayMs = random.integer(SHORTEST_DELAY_MS, LONGEST_DELAY_MS);
      proxy.delay(delayMs);
      await victim.suffer('delay', () => sleep(lastsMs));
      proxy.delay(0);
      return `delayed ${victim.name} to ${link} by twice ${delayMs} ms for ${seconds(lastsMs)}`;
    }),
};

/** The server completes the work, and the client never receives the answer. */
export const LOST: FaultKind = {
  meaning: 'answers of PostgreSQL or Temporal are lost, then the connections break',
  leastMs: 200,
  mostMs: 2_500,
  strike: (stage, random, lastsMs) =>
    onLink(stage, random, ['postgres', 'postgres', 'temporal'], async (victim, link, proxy) => {
      proxy.swallowAnswers();
      await victim.suffer('lost', () => sleep(lastsMs));
      proxy.reset();
      return `lost the answers of ${link} to ${victim.name} for ${seconds(lastsMs)}`;
    }),
};

async function onLink(
  stage: Stage,
  random: Random,
  links: readonly Link[],
  act: (victim: Member, link: Link, proxy: TcpProxy) => Promise<string>,
): Promise<string> {
  const link = random.pick(links);
  const linked = (): readonly Member[] => stage.members.filter((member) => member.links[link] !== undefined);
  return strikeOne(stage, random, linked, (victim) => act(victim, link, proxyOf(victim, link)));
}
