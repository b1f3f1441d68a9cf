/**
 * Holds and settles text requests as fast as one text process can. Arguments: the URL of the database, the seconds, the
 * number of concurrent requests, and a file with a hex digest of a key per line. Prints a line of JSON.
 */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { pino } from 'pino';
import { loadCatalogue } from '../../../catalogue/load.ts';
import { createDatabase } from '../../../db/database.ts';
import { type Caller, findCallers } from '../../../db/queries/api-keys.ts';
import type { TextHold, TextOutcome } from '../../../db/text-money/billing.ts';
import { createTextBilling } from '../../../db/text-money/create-billing.ts';
import { usageOf } from '../../../domain/text-tokens.ts';
import { createMetrics } from '../../../telemetry/metrics.ts';
import { MEASURED } from '../../../test/support/text-money.ts';
import { percentile } from '../statistics.ts';
import type { LedgerLoad } from './run.ts';

const [databaseUrl = '', seconds = '', requestsAtOnce = '', keyFile = ''] = process.argv.slice(2);
const MODEL = 'textd-v2.5';
/** Lets the event loop run, and bounds the unrecorded requests. */
const WAIT_EVERY = 50;
const OUTCOME: TextOutcome = {
  status: 'succeeded',
  errorCode: null,
  usage: { ...usageOf(() => null), inputTotal: 120, outputTotal: 200 },
  countedOutputTokens: 200,
  upstream: { provider: 'simulator', format: 'chat-completions', model: 'textc-M3' },
  failedAttempts: [],
  ...MEASURED,
};

const database = createDatabase(databaseUrl, 2);
const catalogue = loadCatalogue();
const model = catalogue.textModels.get(MODEL);
if (model === undefined) throw new Error(`${MODEL} is not in the catalogue`);
const charge = {
  model,
  catalogueVersion: catalogue.version,
  format: 'chat-completions',
  streamed: false,
  estimateInputTokens: () => 150,
  maxInputTokens: 300,
  maxOutputTokens: 400,
  isCachedFor1h: false,
  hasAudioInput: false,
  hasAudioOutput: false,
  characters: 0,
  audioSeconds: 0,
  choiceCount: 1,
  callCount: 1,
  uncounted: null,
  priceList: null,
  endUser: null,
  batchId: null,
  budgets: [],
} as const;

const billing = createTextBilling({
  database,
  databaseUrl,
  catalogue,
  log: pino({ enabled: false }),
  metrics: createMetrics(),
});
await billing.ready();
const callers = await findTheCallers();
const holdMs: number[] = [];
const settleMs: number[] = [];
let settled = 0;
let started = 0;
const startedAt = performance.now();
await Promise.all(Array.from({ length: Number(requestsAtOnce) }, holdAndSettle));
const elapsedSeconds = (performance.now() - startedAt) / 1000;
const load: LedgerLoad = {
  settled,
  perSecond: settled / elapsedSeconds,
  holdP50Ms: percentile(holdMs, 0.5),
  holdP99Ms: percentile(holdMs, 0.99),
  settleP50Ms: percentile(settleMs, 0.5),
};
console.log(JSON.stringify(load));
await billing.close();
await database.destroy();

async function findTheCallers(): Promise<readonly Caller[]> {
  const digests = (await readFile(keyFile, 'utf8')).trim().split('\n');
  const found = await findCallers(
    database,
    digests.map((digest) => Buffer.from(digest, 'hex')),
  );
  return found.filter((caller) => caller !== null);
}

async function holdAndSettle(): Promise<void> {
  while (performance.now() - startedAt < Number(seconds) * 1000) {
    const caller = callers[started % callers.length];
    if (caller === undefined) throw new Error('there are callers');
    const began = performance.now();
    const hold = await billing.hold({ ...charge, caller, requestId: randomUUID(), startedAtMs: Date.now() });
    const held = performance.now();
    holdMs.push(held - began);
    started += 1;
    // An answer does not wait for its charge.
    const recorded = settle(hold);
    if (started % WAIT_EVERY === 0) await recorded;
  }
}

async function settle(hold: TextHold): Promise<void> {
  const began = performance.now();
  await hold.settle(OUTCOME);
  settleMs.push(performance.now() - began);
  settled += 1;
}
