/** Attacks with audio: uploads that are slow, huge, malformed or lie about their duration, and speech without paying. */
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { VOICE } from '../../domain/policy.ts';
import { bytesPerSecond, USUAL_PCM, wavHeader } from '../../domain/wav.ts';
import { BOUNDARY, FORM_HEADERS, formOf, partOf } from '../../test/support/forms.ts';
import { openAccount } from '../stack/accounts.ts';
import { type Answer, call, settledCharge, type Victim } from './attacker.ts';
import { type AttackCase, holds } from './case.ts';
import { openSocket, residentBytes, staysQuick } from './stall.ts';

const MIB = 2 ** 20;
const TRANSCRIPTIONS = '/v1/audio/transcriptions';
const SPEECH = '/v1/audio/speech';
const LISTENER = 'voice-stt';
const SPEAKER = 'voice-tts';
/** Beside the file itself, which is on disk. */
const MEMORY_BUDGET_BYTES = 200 * MIB;

const MODEL_PART = { name: 'model', content: LISTENER };

function fileForm(content: Uint8Array | string, filename = 'a.wav', type = 'audio/wav'): Buffer {
  return formOf(MODEL_PART, { filename, type, content });
}

function transcribe({ textUrl }: Victim, apiKey: string, body: Uint8Array): Promise<Answer> {
  return call(textUrl + TRANSCRIPTIONS, apiKey, { headers: FORM_HEADERS, body });
}

function spooledFolders(): Promise<string[]> {
  return readdir(tmpdir()).then((names) => names.filter((name) => name.startsWith('genway-audio-')));
}

/** Runs an attack, and waits until its files are removed. Other stacks of the machine may have files before. */
async function withoutFiles(attack: () => Promise<string>): Promise<string> {
  const before = new Set(await spooledFolders());
  const finding = await attack();
  await waitUntil(
    async () => {
      const left = (await spooledFolders()).filter((name) => !before.has(name));
      if (left.length > 0) throw new Error(`${left.length} folders are left on disk`);
    },
    { timeoutMs: 30_000 },
  );
  return `${finding}; no files left`;
}

const SLOW_UPLOADS = 20;

const slowUploads: AttackCase = {
  name: `${SLOW_UPLOADS} slow uploads of audio of 100 MB that stop`,
  run: (victim) =>
    withoutFiles(async () => {
      const { apiKey } = await openAccount(victim, 100);
      const base = victim.textUrl;
      const before = await residentBytes(base, victim);
      const head =
        `POST ${TRANSCRIPTIONS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${apiKey}\r\n` +
        `Content-Type: multipart/form-data; boundary=${BOUNDARY}\r\nContent-Length: ${VOICE.maxFileBytes}\r\n\r\n`;
      const form = Buffer.concat([partOf(MODEL_PART), partOf({ filename: 'a.wav', content: Buffer.alloc(2 * MIB) })]);
      const sockets = await Promise.all(Array.from({ length: SLOW_UPLOADS }, () => openSocket(base)));
      try {
        return await staysQuick(victim, base, async () => {
          for (const socket of sockets) {
            socket.write(head);
            // Without the end of the last part.
            socket.write(form.subarray(0, form.byteLength - 2));
          }
          await sleep(6_000);
          const grown = (await residentBytes(base, victim)) - before;
          return holds(grown < MEMORY_BUDGET_BYTES, `(memory + ${(grown / MIB).toFixed(0)} MiB)`);
        });
      } finally {
        for (const socket of sockets) socket.destroy();
      }
    }),
};

const ABORTED = 8;

const abortedUploads: AttackCase = {
  name: `${ABORTED} uploads of audio that the client aborts`,
  run: (victim) =>
    withoutFiles(async () => {
      const account = await openAccount(victim, 100);
      const body = fileForm(Buffer.alloc(60 * MIB));
      const leave = { afterMs: 150 };
      const url = victim.textUrl + TRANSCRIPTIONS;
      await Promise.all(
        Array.from({ length: ABORTED }, () => call(url, account.apiKey, { headers: FORM_HEADERS, body, leave })),
      );
      const charge = await settledCharge(victim, account);
      return `charged ${charge}`;
    }),
};

/** A file that makes a reader of durations work. */
const emptyChunks = (bytes: number): Buffer =>
  Buffer.concat([wavHeader(USUAL_PCM).subarray(0, 36), Buffer.alloc(bytes, Buffer.from('junk\0\0\0\0'))]);
const emptyBoxes = (bytes: number): Buffer =>
  Buffer.concat([Buffer.from('\0\0\0\x10ftypM4A \0\0\0\0'), Buffer.alloc(bytes, Buffer.from('\0\0\0\x08free'))]);
const tinyFrames = (bytes: number): Buffer => {
  const size = [21, 14, 7, 0].map((shift) => (bytes >> shift) & 127);
  const head = Buffer.concat([Buffer.from('ID3'), Buffer.from([4, 0, 0, ...size])]);
  return Buffer.concat([head, Buffer.alloc(bytes, Buffer.from('TIT2\0\0\0\x01\0\0\0'))]);
};

const BOMBS: readonly (readonly [what: string, filename: string, make: (bytes: number) => Buffer])[] = [
  ['empty chunks', 'a.wav', emptyChunks],
  ['empty boxes', 'a.m4a', emptyBoxes],
  ['tiny frames of a tag', 'a.mp3', tinyFrames],
];
/** On a busy machine. A reader of every part needs minutes. */
const MOST_BOMB_MS = 60_000;

const durationBombs: readonly AttackCase[] = BOMBS.map(([what, filename, make]) => ({
  name: `4 files of audio of 10 MB of ${what}`,
  run: (victim) =>
    withoutFiles(async () => {
      const { apiKey } = await openAccount(victim, 1_000);
      const body = fileForm(make(10 * MIB), filename);
      return staysQuick(victim, victim.textUrl, async () => {
        const startedAt = performance.now();
        const answers = await Promise.all(Array.from({ length: 4 }, () => transcribe(victim, apiKey, body)));
        const statuses = [...new Set(answers.map(({ status }) => status))].join(', ');
        const tookMs = performance.now() - startedAt;
        return holds(tookMs < MOST_BOMB_MS, `${statuses} within ${(tookMs / 1000).toFixed(1)} s`);
      });
    }),
}));

/** A file whose header announces another duration than it has. */
const liars: AttackCase = {
  name: 'audio that lies about its duration',
  run: async (victim) => {
    const second = bytesPerSecond(USUAL_PCM);
    // Ten hours in a second's bytes, and a second in 100 seconds' bytes.
    const long = Buffer.concat([wavHeader(USUAL_PCM, 36_000 * second), Buffer.alloc(second)]);
    const short = Buffer.concat([wavHeader(USUAL_PCM, second), Buffer.alloc(100 * second)]);
    const owed = await openAccount(victim, 100);
    const answered = await transcribe(victim, owed.apiKey, fileForm(long));
    const charge = await settledCharge(victim, owed);
    // As the vendor measures the file.
    holds(answered.status === 200 && charge === 100_000_000n, `${answered.status}, charged ${charge} for one second`);
    const other = await openAccount(victim, 100);
    const { status } = await transcribe(victim, other.apiKey, fileForm(short));
    const charged = await settledCharge(victim, other);
    return holds(status === 200 && charged === 100n * 100_000_000n, `${status}, charged ${charged} for 100 seconds`);
  },
};

const MALFORMED: readonly (readonly [what: string, body: () => Buffer, statuses: readonly number[]])[] = [
  [
    '10,000 parts',
    () => formOf(...Array.from({ length: 10_000 }, (_, index) => ({ name: `f${index}`, content: 'x' }))),
    [400],
  ],
  ['10,000 files', () => formOf(...Array.from({ length: 10_000 }, () => ({ filename: 'a.wav', content: 'x' }))), [400]],
  ['a name of 1 MB', () => formOf({ name: 'n'.repeat(MIB), content: 'x' }), [400]],
  ['a field of 10 MB', () => formOf({ name: 'prompt', content: 'x'.repeat(10 * MIB) }), [400]],
  ['no file', () => formOf(MODEL_PART), [400]],
  ['an empty file', () => fileForm(''), [400]],
  ['a body that is no form', () => Buffer.from('{"model":"voice-stt"}'), [400]],
  // A file without audio reaches the vendor, which may refuse it.
  ['a program', () => fileForm(Buffer.from('MZ\x90\0'.repeat(1_000)), 'a.exe', 'application/x-msdownload'), [200, 400]],
  ['names that lead elsewhere', () => fileForm('x'.repeat(1_000), '../../../etc/passwd\0.wav'), [200, 400]],
];

const malformed: readonly AttackCase[] = MALFORMED.map(([what, body, statuses]) => ({
  name: `a form of audio with ${what}`,
  run: (victim) =>
    withoutFiles(async () => {
      const { apiKey } = await openAccount(victim, 100);
      const { status, text } = await transcribe(victim, apiKey, body());
      return holds(statuses.includes(status), `answered ${status}${statuses.includes(status) ? '' : `: ${text}`}`);
    }),
}));

const speechWithoutMoney: AttackCase = {
  name: 'speech of the maximum length without the money for it',
  run: async (victim) => {
    // A sixth of the price.
    const account = await openAccount(victim, 0.01);
    victim.vendor.forget();
    const body = { model: SPEAKER, voice: 'alloy', input: 'a '.repeat(VOICE.maxCharacters / 2) };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => call(victim.textUrl + SPEECH, account.apiKey, { body })),
    );
    const statuses = [...new Set(answers.map(({ status }) => status))];
    holds(victim.vendor.calls.length === 0, `the vendor spoke ${victim.vendor.calls.length} times`);
    return holds(
      statuses.every((status) => status === 402),
      `answered ${statuses.join(', ')}`,
    );
  },
};

const DEPARTURES = 20;

const departures: AttackCase = {
  name: `${DEPARTURES} clients that leave in the middle of speech`,
  run: async (victim) => {
    const account = await openAccount(victim, 100);
    const input = 'word '.repeat(400) + '[vendor:pause_ms=20]';
    const body = { model: SPEAKER, voice: 'alloy', input };
    const leave = { when: (received: string) => received.length > 0 };
    await Promise.all(
      Array.from({ length: DEPARTURES }, () => call(victim.textUrl + SPEECH, account.apiKey, { body, leave })),
    );
    const charge = await settledCharge(victim, account);
    // USD 15 per million characters.
    const price = BigInt(DEPARTURES * input.length) * 15_000_000n;
    return holds(charge === price, `charged ${charge} of ${price}`);
  },
};

export const VOICE_CASES: readonly AttackCase[] = [
  slowUploads,
  abortedUploads,
  ...durationBombs,
  liars,
  ...malformed,
  speechWithoutMoney,
  departures,
];
