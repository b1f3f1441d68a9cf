/** One process of a stack, which is always brought back after it was killed. */
import type { Killable } from '../../bin/stack/supervise.ts';
import { freezeProcesses } from './freeze.ts';
import { pause } from './pause.ts';
import type { Period } from './period.ts';
import type { TcpProxy } from './tcp-proxy.ts';

/** The roles of separate processes. The relay runs in the api processes. */
export type Role = 'api' | 'text' | 'worker' | 'temporal' | 'postgres';

/** The services that a process is connected to. */
export type Link = 'postgres' | 'temporal';

/** A fault that a process survived, and its duration. */
export interface Trouble extends Period {
  readonly what: 'freeze' | 'silence' | 'cut' | 'temporal cut' | 'delay' | 'lost';
}

export interface Interruption {
  /** How it ends: by SIGKILL, or in order. */
  readonly by: 'kill' | 'stop';
  /** How long it serves what it has, while nobody sends it anything new, before it ends. */
  readonly drainMs?: number;
  /** The work between the end of the process and its next start. */
  readonly meanwhile?: () => Promise<unknown>;
  /** The modules to load before its own from then on. */
  readonly preload?: readonly string[];
}

/** A period in which a process did not do its work, since it was killed or stopped. */
export interface Outage extends Period {
  readonly by: Interruption['by'];
}

export interface Member {
  readonly role: Role;
  readonly name: string;
  /** The proxies of its connections. */
  readonly links: Readonly<Partial<Record<Link, TcpProxy>>>;
  /** Where it reports its health; empty for servers that are not Genway's. */
  readonly url: string;
  /** The id of the current process. */
  pid(): number;
  isUp(): boolean;
  /** SIGKILL; brought back after `downMs`. Resolves when it does its work again. */
  kill(downMs: number): Promise<Period>;
  /** Ends it and starts it again. Resolves when it does its work again. */
  interrupt(interruption: Interruption): Promise<Period>;
  /** SIGSTOP, and SIGCONT after a while. */
  freeze(forMs: number): Promise<void>;
  /** Records what the process suffers while something is done to it. */
  suffer(what: Trouble['what'], done: () => Promise<unknown>): Promise<void>;
  readonly troubles: readonly Trouble[];
  /** By its interruptions alone: until it did its work again. */
  readonly outages: readonly Outage[];
  /** When it ended unexpectedly, in milliseconds since 1970. */
  readonly unexpectedEnds: readonly number[];
  /** Stops it properly, for good. */
  stop(): Promise<void>;
}

const PAUSE_BETWEEN_STARTS_MS = 500;

interface MemberOptions {
  readonly role: Role;
  readonly name: string;
  readonly links?: Member['links'];
  readonly url?: string;
  /** Is given the modules to load first, and resolves when the process does its work. */
  readonly start: (preload: readonly string[]) => Promise<Killable>;
  readonly report: (line: string) => void;
}

/** @throws what the first start throws */
export async function startMember({ role, name, links = {}, url = '', start, report }: MemberOptions): Promise<Member> {
  const stopping = new AbortController();
  const outages: Outage[] = [];
  const troubles: Trouble[] = [];
  const unexpectedEnds: number[] = [];
  let preload: readonly string[] = [];
  let current = await start(preload);
  let isUp = true;
  let comingBack: Promise<void> = Promise.resolve();
  void watch(current);

  async function comeBack(): Promise<void> {
    const started = await startUntilItStays(() => start(preload), stopping.signal);
    if (!started) return;
    current = started;
    isUp = true;
    void watch(current);
  }

  async function watch(watched: Killable): Promise<void> {
    const cause = await watched.exited;
    if (watched !== current || !isUp || stopping.signal.aborted) return;
    isUp = false;
    unexpectedEnds.push(Date.now());
    report(`${name} ended by itself (${String(cause)})`);
    comingBack = comeBack();
  }

  async function interrupt({ by, drainMs = 0, meanwhile, preload: next = preload }: Interruption): Promise<Period> {
    isUp = false;
    await pause(drainMs, stopping.signal);
    const fromMs = Date.now();
    await (by === 'kill' ? current.kill() : current.stop());
    await meanwhile?.();
    preload = next;
    comingBack = comeBack();
    await comingBack;
    const outage = { by, fromMs, untilMs: Date.now() };
    outages.push(outage);
    return outage;
  }

  return {
    role,
    name,
    links,
    url,
    outages,
    troubles,
    pid: () => current.pid,
    isUp: () => isUp,
    unexpectedEnds,
    kill: (downMs) => interrupt({ by: 'kill', meanwhile: () => pause(downMs, stopping.signal) }),
    interrupt,
    freeze: (forMs) => freezeProcesses([current.pid], forMs, stopping.signal),
    suffer: async (what, done) => {
      const fromMs = Date.now();
      await done();
      troubles.push({ what, fromMs, untilMs: Date.now() });
    },
    stop: async () => {
      stopping.abort();
      await comingBack;
      isUp = false;
      await current.stop();
    },
  };
}

/** A process that dies with what it depends on is started again and again. @returns undefined once nobody wants it */
async function startUntilItStays(start: () => Promise<Killable>, signal: AbortSignal): Promise<Killable | undefined> {
  while (!signal.aborted) {
    try {
      return await start();
    } catch {
      await pause(PAUSE_BETWEEN_STARTS_MS, signal);
    }
  }
  return undefined;
}
