/** Attacks with batches: on the batches and files of others, on the memory of a process, and on charges. */
import Joi from 'joi';
import { formatUsd, parseUsd } from '../../domain/money.ts';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { FORM_HEADERS, formOf } from '../../test/support/forms.ts';
import { openAccount } from '../stack/accounts.ts';
import { type Answer, call, settledCharge, type Victim } from './attacker.ts';
import { type AttackCase, holds } from './case.ts';
import { staysQuick } from './stall.ts';

const MIB = 2 ** 20;
const ENDPOINT = '/v1/chat/completions';
const MODEL = 'textd-v2.5';
const RACE_LINES = 200;
const ENDED_TIMEOUT_MS = 120_000;

const readObject = (text: string) => Joi.attempt(JSON.parse(text), Joi.object<Record<string, unknown>>().unknown());
const idIn = ({ text }: Answer): string => String(readObject(text)['id']);

function lineOf(customId: string, text: string): string {
  const body = { model: MODEL, messages: [{ role: 'user', content: text }] };
  return JSON.stringify({ custom_id: customId, method: 'POST', url: ENDPOINT, body });
}

function upload({ apiUrl }: Victim, apiKey: string, content: string | Uint8Array): Promise<Answer> {
  const form = formOf({ name: 'purpose', content: 'batch' }, { filename: 'input.jsonl', content });
  return call(`${apiUrl}/v1/files`, apiKey, { body: form, headers: FORM_HEADERS });
}

function orderOf(fileId: string): object {
  return { input_file_id: fileId, endpoint: ENDPOINT, completion_window: '24h' };
}

async function createBatch(victim: Victim, apiKey: string, lines: readonly string[]): Promise<string> {
  const body = orderOf(idIn(await upload(victim, apiKey, lines.join('\n'))));
  return idIn(await call(`${victim.apiUrl}/v1/batches`, apiKey, { body }));
}

/** A batch with the fields that attacks look at. */
interface ShownBatch {
  readonly status: string;
  readonly paused_reason: string | null;
  readonly output_file_id: string | null;
  readonly error_file_id: string | null;
  readonly request_counts: { readonly total: number; readonly completed: number };
}

const FILE = Joi.string().allow(null).required();
const SHOWN_BATCH = Joi.object<ShownBatch>({
  status: Joi.string().required(),
  paused_reason: Joi.string().allow(null).required(),
  output_file_id: FILE,
  error_file_id: FILE,
  request_counts: Joi.object({ total: Joi.number().required(), completed: Joi.number().required() }).unknown(),
}).unknown();

async function readBatch({ apiUrl }: Victim, apiKey: string, id: string): Promise<ShownBatch> {
  return Joi.attempt(JSON.parse((await call(`${apiUrl}/v1/batches/${id}`, apiKey, {})).text), SHOWN_BATCH);
}

/** Waits for a batch. @returns it */
function batchWhen(
  victim: Victim,
  apiKey: string,
  id: string,
  isMet: (batch: ShownBatch) => boolean,
): Promise<ShownBatch> {
  const look = async (): Promise<ShownBatch> => {
    const batch = await readBatch(victim, apiKey, id);
    holds(isMet(batch), `${id} is still ${JSON.stringify(batch)}`);
    return batch;
  };
  return waitUntil(look, { timeoutMs: ENDED_TIMEOUT_MS, pauseMs: 20 });
}

const hasEnded = ({ status }: ShownBatch): boolean => ['completed', 'failed', 'expired', 'cancelled'].includes(status);

/** Waits for the end of a batch. @returns the number of answers @throws Error unless each line is in one of its files */
async function checkFiles(victim: Victim, apiKey: string, id: string, lines: number): Promise<number> {
  const { output_file_id: output, error_file_id: errors } = await batchWhen(victim, apiKey, id, hasEnded);
  const idsIn = async (file: string | null): Promise<readonly string[]> => {
    if (file === null) return [];
    const { text } = await call(`${victim.apiUrl}/v1/files/${file}/content`, apiKey, {});
    return text
      .trim()
      .split('\n')
      .map((line) => String(readObject(line)['custom_id']));
  };
  const [answered, others] = [await idsIn(output), await idsIn(errors)];
  const distinct = new Set([...answered, ...others]);
  holds(
    distinct.size === lines && answered.length + others.length === lines,
    `${answered.length} and ${others.length} lines in the files of ${id}`,
  );
  return answered.length;
}

const batchesOfOthers: AttackCase = {
  name: 'batches and files of another account',
  run: async (victim) => {
    const [owner, attacker] = [await openAccount(victim, 10), await openAccount(victim, 10)];
    const file = idIn(await upload(victim, owner.apiKey, lineOf('a', 'secret')));
    const batch = await createBatch(victim, owner.apiKey, [lineOf('a', 'secret')]);
    const input = { input_file_id: file, endpoint: ENDPOINT, completion_window: '24h' };
    const attempts: readonly (readonly ['GET' | 'POST', string, object?])[] = [
      ['GET', `/v1/files/${file}`],
      ['GET', `/v1/files/${file}/content`],
      ['GET', `/v1/batches/${batch}`],
      ['POST', `/v1/batches/${batch}/cancel`],
      ['POST', '/v1/batches', input],
      ['GET', `/v1/messages/batches/${batch}`],
      ['GET', `/v1/messages/batches/${batch}/results`],
      ['POST', `/v1/messages/batches/${batch}/cancel`],
      ['GET', `/files/private/${file}.jsonl`],
    ];
    for (const [method, path, body] of attempts) {
      const { status, text } = await call(victim.apiUrl + path, attacker.apiKey, { method, ...(body && { body }) });
      holds(status === 404 && !text.includes('secret'), `${method} ${path} answered ${status}`);
    }
    for (const path of ['/v1/files', '/v1/batches', '/v1/messages/batches']) {
      const { text } = await call(victim.apiUrl + path, attacker.apiKey, {});
      holds(!text.includes(file) && !text.includes(batch), `${path} does not list them`);
    }
    return `${attempts.length} attempts answered 404`;
  },
};

/** Files whose lines are expensive to read, or wrong. */
const FILES: readonly (readonly [name: string, content: () => string | Uint8Array])[] = [
  ['a line of 16 MB of brackets', () => '['.repeat(16 * MIB)],
  ['a line of 16 MB of empty objects', () => `{"custom_id":"a","body":[${'{},'.repeat(5 * MIB)}{}]}`],
  ['a line of 100 MB', () => Buffer.alloc(100 * MIB, '{"a":"'.padEnd(64, 'x'))],
  ['100 MB of line breaks', () => `{}\n${'\n'.repeat(100 * MIB)}`],
  ['50,000 bad lines', () => Array.from({ length: 50_000 }, (_, index) => `{"custom_id":${index}}`).join('\n')],
  ['50,000 lines of one custom_id', () => Array.from({ length: 50_000 }, () => lineOf('a', 'x')).join('\n')],
  ['50,000 good lines', () => Array.from({ length: 50_000 }, (_, index) => lineOf(String(index), 'x')).join('\n')],
];

const fileCases: readonly AttackCase[] = FILES.map(([name, content]) => ({
  name: `a batch of ${name}`,
  run: async (victim) => {
    const { apiKey } = await openAccount(victim, 10);
    const bytes = content();
    return staysQuick(victim, victim.apiUrl, async () => String((await upload(victim, apiKey, bytes)).status));
  },
}));

const messageBomb: AttackCase = {
  name: 'a batch of messages of brackets without end',
  run: async (victim) => {
    const { apiKey } = await openAccount(victim, 10);
    const body = Buffer.from(`{"requests":[${'['.repeat(32 * MIB)}`);
    return staysQuick(victim, victim.apiUrl, async () =>
      String((await call(`${victim.apiUrl}/v1/messages/batches`, apiKey, { body })).status),
    );
  },
};

const unfinishedLines: AttackCase = {
  name: '48 batches with an unfinished line of 12 MB at once',
  run: async (victim) => {
    const { apiKey } = await openAccount(victim, 10);
    const content = Buffer.alloc(12 * MIB, 'x');
    return staysQuick(victim, victim.apiUrl, async () => {
      const answers = await Promise.all(Array.from({ length: 48 }, () => upload(victim, apiKey, content)));
      const statuses = new Set(answers.map(({ status }) => status));
      holds(![...statuses].some((status) => status === 500 || status < 400), [...statuses].join(' '));
      return [...statuses].join(' ');
    });
  },
};

/** Cancels a batch 20 times at once. @throws Error for another answer than 200 */
async function cancelOften({ apiUrl }: Victim, apiKey: string, id: string): Promise<void> {
  const cancel = () => call(`${apiUrl}/v1/batches/${id}/cancel`, apiKey, { method: 'POST' });
  const answers = await Promise.all(Array.from({ length: 20 }, cancel));
  const statuses = answers.map(({ status }) => status);
  holds(
    statuses.every((status) => status === 200),
    `cancellations answered ${statuses.join(' ')}`,
  );
}

const numbered = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => lineOf(String(index), 'Say exactly: x'));

/** When a race cancels its batch. */
const CANCEL_MOMENTS: readonly (readonly [name: string, isMet: (batch: ShownBatch) => boolean])[] = [
  ['before its file is read', () => true],
  ['while it runs', ({ status }) => status !== 'validating'],
  [
    'while its files are written',
    ({ status, request_counts: { completed, total } }) => status === 'finalizing' || completed === total,
  ],
];

const cancelRaces: readonly AttackCase[] = CANCEL_MOMENTS.map(([name, isMet]) => ({
  name: `20 cancellations of a batch of ${RACE_LINES} requests ${name}`,
  run: async (victim) => {
    const account = await openAccount(victim, 10);
    const { apiKey } = account;
    const id = await createBatch(victim, apiKey, numbered(RACE_LINES));
    await batchWhen(victim, apiKey, id, isMet);
    await cancelOften(victim, apiKey, id);
    const answered = await checkFiles(victim, apiKey, id, RACE_LINES);
    const charged = await settledCharge(victim, account);
    const { data } = readObject((await call(`${victim.apiUrl}/v1/usage/requests?limit=500`, apiKey, {})).text);
    const requests = Array.isArray(data) ? data.length : 0;
    return holds(requests >= answered, `${answered} answered, ${requests} requests, charged ${charged} pico-USD`);
  },
}));

const oneKey: AttackCase = {
  name: '16 creations of a batch with one idempotency key',
  run: async (victim) => {
    const { apiKey } = await openAccount(victim, 10);
    const body = orderOf(idIn(await upload(victim, apiKey, lineOf('a', 'Say exactly: x'))));
    const headers = { 'idempotency-key': 'the-same' };
    const create = () => call(`${victim.apiUrl}/v1/batches`, apiKey, { body, headers });
    const answers = await Promise.all(Array.from({ length: 16 }, create));
    const created = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status === 409);
    holds(created.length + refused.length === 16, answers.map(({ status }) => status).join(' '));
    const { data } = readObject((await call(`${victim.apiUrl}/v1/batches`, apiKey, {})).text);
    holds(Array.isArray(data) && data.length === 1, `there are ${JSON.stringify(data)}`);
    return `1 batch, ${created.length} answers with it, ${refused.length} conflicts`;
  },
};

const deletedInput: AttackCase = {
  name: 'the deletion of the input files of batches that are read and that run',
  run: async (victim) => {
    const { apiKey } = await openAccount(victim, 10);
    const outcomes: string[] = [];
    for (const isMet of [() => true, ({ status }: ShownBatch) => status !== 'validating']) {
      const file = idIn(await upload(victim, apiKey, numbered(RACE_LINES).join('\n')));
      const id = idIn(await call(`${victim.apiUrl}/v1/batches`, apiKey, { body: orderOf(file) }));
      await batchWhen(victim, apiKey, id, isMet);
      const { status } = await call(`${victim.apiUrl}/v1/files/${file}`, apiKey, { method: 'DELETE' });
      holds(status === 200, `the deletion answered ${status}`);
      const batch = await batchWhen(victim, apiKey, id, hasEnded);
      if (batch.status !== 'failed') await checkFiles(victim, apiKey, id, RACE_LINES);
      outcomes.push(batch.status);
    }
    return outcomes.join(', ');
  },
};

const POOR_USD = 0.000_2;

const spentMoney: AttackCase = {
  name: 'four batches that share a balance for a part of their requests',
  run: async (victim) => {
    const account = await openAccount(victim, POOR_USD);
    const { apiKey } = account;
    const ids = await Promise.all(Array.from({ length: 4 }, () => createBatch(victim, apiKey, numbered(RACE_LINES))));
    for (const id of ids) await batchWhen(victim, apiKey, id, ({ paused_reason: reason }) => reason !== null);
    const paid = await settledCharge(victim, account);
    holds(paid > 0n && paid <= parseUsd(POOR_USD), `charged ${formatUsd(paid)} of ${POOR_USD} USD`);
    const topUp = { amount_usd: 10, reference: `second of ${account.accountId}` };
    const path = `/admin/v1/accounts/${account.accountId}/topups`;
    await call(victim.apiUrl + path, victim.adminToken, { body: topUp });
    for (const id of ids) {
      const answered = await checkFiles(victim, apiKey, id, RACE_LINES);
      holds(answered === RACE_LINES, `${answered} answers after the top-up`);
    }
    const charged = await settledCharge(victim, account);
    return `charged ${formatUsd(paid)} of ${POOR_USD} USD before the top-up, and ${formatUsd(charged)} in all`;
  },
};

const manyBatches: AttackCase = {
  name: 'a small batch beside 50 batches of another account',
  run: async (victim) => {
    const [attacker, other] = [await openAccount(victim, 100), await openAccount(victim, 10)];
    const attack: string[] = [];
    while (attack.length < 50) attack.push(await createBatch(victim, attacker.apiKey, numbered(RACE_LINES)));
    const startedAt = performance.now();
    const id = await createBatch(victim, other.apiKey, numbered(5));
    await batchWhen(victim, other.apiKey, id, hasEnded);
    const seconds = (performance.now() - startedAt) / 1_000;
    const read = attack.map((one) => readBatch(victim, attacker.apiKey, one));
    const left = (await Promise.all(read)).filter((batch) => !hasEnded(batch)).length;
    for (const one of attack)
      await call(`${victim.apiUrl}/v1/batches/${one}/cancel`, attacker.apiKey, { method: 'POST' });
    for (const one of attack) await batchWhen(victim, attacker.apiKey, one, hasEnded);
    return holds(left > 0, `ended after ${seconds.toFixed(1)} s, while ${left} of the others were left`);
  },
};

export const BATCH_CASES: readonly AttackCase[] = [
  batchesOfOthers,
  ...fileCases,
  messageBomb,
  unfinishedLines,
  ...cancelRaces,
  oneKey,
  deletedInput,
  spentMoney,
  manyBatches,
];
