/**
 * Measures realtime sessions: the time that Genway adds to an audio delta with 200 sessions, beside the same sessions
 * at the upstream itself, the memory of a session, also while one client does not read, and the time to open a call over
 * WebRTC. Prints a JSON line for
 * each part, with the time of a fixed loop before and after it. The clients send no audio.
 */
import { once } from 'node:events';
import { OFFER } from '../stack/offer.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { findFreePort } from '../../bin/stack/ports.ts';
import { expectAnswer, startUntil } from '../../bin/stack/node-process.ts';
import { childEnvironment } from '../../config.ts';
import { openAccount } from '../stack/accounts.ts';
import { buildPrograms } from '../stack/build.ts';
import { REALTIME_MODEL } from '../drill/realtime-prices.ts';
import { startStack } from '../stack/stack.ts';
import { cpuTimeUs, residentMegabytesOf } from './load/processes.ts';
import { reportPart } from './report-part.ts';
import { percentile, rounded } from './statistics.ts';

const SESSIONS = 200;
/** Below the limit of an account. */
const SESSIONS_PER_ACCOUNT = 50;
const ROUNDS = 2;
/** As fast as the audio plays. */
const PAUSE_MS = 200;
const DELTAS = 35;
/** Sessions start their responses over this time. */
const STARTS_MS = 1_000;
/** More than the buffers of the system hold. */
const UNREAD_DELTAS = 2_000;
const UNREAD_SECONDS = 5;
const CALLS = 100;
const STOP_GRACE_MS = 5_000;

const home = await mkdtemp(join(tmpdir(), 'genway-bench-realtime-'));
const port = await findFreePort();
const upstreamUrl = `http://127.0.0.1:${port}`;
const upstream = await startUntil(() => expectAnswer(upstreamUrl), 'lab/bench/realtime-upstream.ts', [String(port)], {
  env: childEnvironment({}),
  logFile: join(home, 'upstream.log'),
});
const stack = await startStack({
  home,
  processes: { api: 1, text: 0, worker: 0 },
  built: { programs: await buildPrograms(home), workflowBundle: '' },
  upstreams: (simulator) => ({
    media: [{ name: 'simulator', protocol: 'http-jobs', base_url: simulator.url, api_key: simulator.apiKey }],
    text: [{ name: 'simulator', base_url: `${upstreamUrl}/v1`, api_key: 'none' }],
  }),
});
const pid = stack.members.find(({ role }) => role === 'api')?.pid() ?? 0;
try {
  await measure();
} finally {
  await stack.stop();
  await upstream.stop(STOP_GRACE_MS);
  await rm(home, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  const direct = await openAll(() => new WebSocket(`${upstreamUrl.replace('http', 'ws')}/v1/realtime?model=x`));
  const before = residentMegabytesOf(pid);
  let through: readonly WebSocket[] = [];
  await reportPart('idle', async () => {
    through = await openThroughGateway();
    return { resident_mb_before: rounded(before), kb_per_session: perSession(before) };
  });
  await reportPart('deltas', () => compareDeltas(direct, through, before));
  await reportPart('calls', openCalls);
  await reportPart('unread', () => leaveUnread(through));
  for (const socket of [...direct, ...through]) socket.terminate();
}

async function compareDeltas(
  direct: readonly WebSocket[],
  through: readonly WebSocket[],
  megabytesBefore: number,
): Promise<Figures> {
  const latencies = { direct: [] as number[], through: [] as number[] };
  let cpuUs = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    latencies.direct.push(...(await hear(direct)));
    const before = cpuTimeUs(pid);
    latencies.through.push(...(await hear(through)));
    cpuUs += cpuTimeUs(pid) - before;
  }
  const at = (share: number): number => percentile(latencies.through, share);
  const addedAt = (share: number): number => rounded(at(share) - percentile(latencies.direct, share), 2);
  return {
    sessions: SESSIONS,
    deltas_per_second: rounded((SESSIONS * 1000) / PAUSE_MS),
    p50_ms: rounded(at(0.5), 2),
    p99_ms: rounded(at(0.99), 2),
    added_p50_ms: addedAt(0.5),
    added_p99_ms: addedAt(0.99),
    cpu_us_per_delta: rounded(cpuUs / latencies.through.length, 0),
    kb_per_session: perSession(megabytesBefore),
  };
}

/** Figures by name. */
type Figures = Readonly<Record<string, number>>;

/** The memory that the process has taken for each session since. */
function perSession(megabytesBefore: number): number {
  return rounded(((residentMegabytesOf(pid) - megabytesBefore) * 1024) / SESSIONS, 0);
}

async function openThroughGateway(): Promise<readonly WebSocket[]> {
  const apiUrl = stack.apiUrls[0] ?? '';
  const url = `${apiUrl.replace('http', 'ws')}/v1/realtime?model=${REALTIME_MODEL}`;
  const administration = { apiUrl, adminToken: stack.adminToken };
  const accounts = Array.from({ length: SESSIONS / SESSIONS_PER_ACCOUNT }, () => openAccount(administration, 10_000));
  const keys = (await Promise.all(accounts)).map(({ apiKey }) => apiKey);
  return openAll(
    (index) => new WebSocket(url, { headers: { authorization: `Bearer ${keys[index % keys.length] ?? ''}` } }),
  );
}

/** Opens all sessions, a few at a time. */
async function openAll(open: (index: number) => WebSocket): Promise<readonly WebSocket[]> {
  const sockets: WebSocket[] = [];
  while (sockets.length < SESSIONS) {
    const some = Array.from({ length: 20 }, (_, index) => open(sockets.length + index));
    await Promise.all(some.map((socket) => once(socket, 'message')));
    sockets.push(...some);
  }
  return sockets;
}

function requestDeltas(socket: WebSocket, deltas: number, pauseMs: number): void {
  const metadata = { deltas: String(deltas), pause_ms: String(pauseMs) };
  socket.send(JSON.stringify({ type: 'response.create', response: { metadata } }));
}

/** @returns from the upstream to the client, for each delta, in milliseconds */
async function hear(sockets: readonly WebSocket[]): Promise<readonly number[]> {
  const latencies: number[] = [];
  const one = async (socket: WebSocket, index: number): Promise<void> => {
    await sleep((index * STARTS_MS) / sockets.length);
    const done = new Promise<void>((resolve, reject) => {
      const read = (data: Buffer): void => {
        const now = performance.timeOrigin + performance.now();
        const text = data.toString('latin1');
        const sentAt = /"sent_at":([\d.]+)/.exec(text)?.[1];
        if (sentAt !== undefined) return void latencies.push(now - Number(sentAt));
        if (text.includes('"type":"error"')) reject(new Error(text));
        if (!text.includes('"type":"response.done"')) return;
        socket.off('message', read);
        resolve();
      };
      socket.on('message', read);
      socket.once('close', () => reject(new Error('a session was closed')));
    });
    requestDeltas(socket, DELTAS, PAUSE_MS);
    await done;
  };
  await Promise.all(sockets.map(one));
  return latencies;
}

/** The time to open a call, by turns at the upstream itself and through Genway. */
async function openCalls(): Promise<Figures> {
  const apiUrl = stack.apiUrls[0] ?? '';
  const { apiKey } = await openAccount({ apiUrl, adminToken: stack.adminToken }, 10_000);
  const took = { direct: [] as number[], through: [] as number[] };
  for (let count = 0; count < CALLS; count += 1) {
    took.direct.push(await openCall(upstreamUrl, 'none'));
    took.through.push(await openCall(apiUrl, apiKey));
  }
  return {
    calls: CALLS,
    direct_p50_ms: rounded(percentile(took.direct, 0.5), 2),
    p50_ms: rounded(percentile(took.through, 0.5), 2),
    p99_ms: rounded(percentile(took.through, 0.99), 2),
  };
}

/** Opens and ends a call. @returns how long opening took, in milliseconds */
async function openCall(url: string, key: string): Promise<number> {
  const authorization = `Bearer ${key}`;
  const startedAt = performance.now();
  const opened = await fetch(`${url}/v1/realtime/calls?model=${REALTIME_MODEL}`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/sdp' },
    body: OFFER,
  });
  const answer = await opened.text();
  const tookMs = performance.now() - startedAt;
  if (opened.status !== 201) throw new Error(`a call was answered ${opened.status}: ${answer}`);
  const ended = await fetch(`${url}${opened.headers.get('location')}/hangup`, {
    method: 'POST',
    headers: { authorization },
  });
  await ended.text();
  return tookMs;
}

/** The memory while one client does not read a large answer, which its upstream sends at once. */
async function leaveUnread([slow]: readonly WebSocket[]): Promise<Figures> {
  const before = residentMegabytesOf(pid);
  let most = before;
  slow?.pause();
  if (slow) requestDeltas(slow, UNREAD_DELTAS, 0);
  for (let second = 0; second < UNREAD_SECONDS * 2; second += 1) {
    await sleep(500);
    most = Math.max(most, residentMegabytesOf(pid));
  }
  return { unread_mb_sent: rounded((UNREAD_DELTAS * 12_800) / 2 ** 20), resident_mb_added: rounded(most - before) };
}
