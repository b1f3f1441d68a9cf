/** What only realtime sessions suffer: an upstream that breaks them off or goes silent, and the end of their key. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { WebSocket } from 'ws';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { openAccount } from '../../stack/accounts.ts';
import { openRealtimeSocket } from '../load/realtime.ts';
import type { Random } from '../random.ts';
import { type FaultKind, membersOf, seconds, type Stage, strikeOne, strikeThe } from './fault.ts';

const REVOKED_SESSIONS = 5;
const CALL_TIMEOUT_MS = 60_000;
/** Longer than any other fault. */
const CLOSED_WITHIN_MS = 60_000;

export const REALTIME: FaultKind = {
  meaning: 'the upstream breaks all realtime sessions off, or goes silent; or the key of some sessions is deleted',
  leastMs: 1_000,
  mostMs: 15_000,
  strike: (stage, random, lastsMs) => {
    const chance = random.next();
    if (chance < 1 / 3) return revoke(stage, random);
    return strikeThe(stage, random, { name: 'realtime upstream', lastsMs: chance < 2 / 3 ? 0 : lastsMs }, async () => {
      const { realtimeUpstream } = stage;
      if (chance < 2 / 3) return [`broke off ${realtimeUpstream.breakOff()} realtime sessions`, () => undefined];
      const { sessions, goOn } = realtimeUpstream.silence();
      return [`silenced the upstream of ${sessions} realtime sessions`, goOn];
    });
  },
};

/** No other fault aims at the process meanwhile, but others may hit PostgreSQL. */
function revoke(stage: Stage, random: Random): Promise<string> {
  return strikeOne(stage, random, membersOf(stage, 'api'), async ({ name, url }) => {
    const { apiKey, keyId } = await retry(() => openAccount({ apiUrl: url, adminToken: stage.adminToken }, 1));
    const open = async (): Promise<WebSocket> => {
      const socket = await openRealtimeSocket(url, apiKey, true);
      if (typeof socket === 'string') throw new Error(`a session was not opened: ${socket}`);
      return socket;
    };
    const sockets = await Promise.all(Array.from({ length: REVOKED_SESSIONS }, () => retry(open)));
    const closings = sockets.map(async (socket) => {
      if (socket.readyState !== WebSocket.CLOSED) await once(socket, 'close');
      return Date.now();
    });
    await retry(() => deleteKey(url, stage.adminToken, keyId));
    const deletedAtMs = Date.now();
    const closed = await Promise.all(
      closings.map((closing) => Promise.race([closing, sleep(CLOSED_WITHIN_MS, null, { ref: false })])),
    );
    for (const closedAtMs of closed) stage.revoked.push({ process: name, deletedAtMs, closedAtMs });
    for (const socket of sockets) socket.terminate();
    const lastMs = Math.max(...closed.map((atMs) => (atMs ?? Number.POSITIVE_INFINITY) - deletedAtMs));
    return `deleted the key of ${sockets.length} sessions of ${name}; the last one ended after ${seconds(lastMs)}`;
  });
}

function retry<Result>(call: () => Promise<Result>): Promise<Result> {
  return waitUntil(call, { timeoutMs: CALL_TIMEOUT_MS, pauseMs: 500 });
}

async function deleteKey(url: string, adminToken: string, keyId: string): Promise<void> {
  const { statusCode, body } = await request(`${url}/admin/v1/keys/${keyId}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${adminToken}` },
  });
  await body.dump();
  // A repetition of a call whose answer was lost finds no key.
  if (statusCode >= 300 && statusCode !== 404) throw new Error(`the deletion of a key was answered ${statusCode}`);
}
