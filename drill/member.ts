/** One process of the drill's stack: killed now and then, and always brought back. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Role } from './plan.ts';

/** What can be kept running. */
export interface Killable {
  readonly pid: number;
  readonly exited: Promise<unknown>;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** From one moment to another, in milliseconds since 1970. */
export interface Outage {
  readonly fromMs: number;
  /** When it did its work again. */
  readonly untilMs: number;
}

export interface Member {
  readonly role: Role;
  readonly name: string;
  isUp(): boolean;
  /** SIGKILL; brought back after `downMs`. Resolves when it does its work again. */
  kill(downMs: number): Promise<Outage>;
  /** By its kills alone. */
  readonly outages: readonly Outage[];
  /** How often it ended although nobody killed it. */
  unexpectedEnds(): number;
  /** Stops it in order, and brings it back no more. */
  stop(): Promise<void>;
}

const PAUSE_BETWEEN_STARTS_MS = 500;

/**
 * @param start resolves when the process does its work
 * @throws what the first start throws
 */
export async function startMember({
  role,
  name,
  start,
  report,
}: {
  role: Role;
  name: string;
  start: () => Promise<Killable>;
  report: (line: string) => void;
}): Promise<Member> {
  const stopping = new AbortController();
  const outages: Outage[] = [];
  let unexpectedEnds = 0;
  let current = await start();
  let isUp = true;
  let comingBack: Promise<void> = Promise.resolve();
  void watch(current);

  /** A process that dies with what it depends on is started until it stays. */
  async function comeBack(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        current = await start();
        isUp = true;
        void watch(current);
        return;
      } catch {
        await sleep(PAUSE_BETWEEN_STARTS_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
  }

  async function watch(watched: Killable): Promise<void> {
    const cause = await watched.exited;
    if (watched !== current || !isUp || stopping.signal.aborted) return;
    isUp = false;
    unexpectedEnds += 1;
    report(`${name} ended by itself (${String(cause)})`);
    comingBack = comeBack();
  }

  return {
    role,
    name,
    outages,
    isUp: () => isUp,
    unexpectedEnds: () => unexpectedEnds,
    kill: async (downMs) => {
      isUp = false;
      const fromMs = Date.now();
      await current.kill();
      await sleep(downMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      comingBack = comeBack();
      await comingBack;
      const outage = { fromMs, untilMs: Date.now() };
      outages.push(outage);
      return outage;
    },
    stop: async () => {
      stopping.abort();
      await comingBack;
      await current.stop();
    },
  };
}
