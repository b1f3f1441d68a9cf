/** One drill from its start to its verdict: load, faults, quiet, checks. */
import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { createDatabase } from '../../db/database.ts';
import { BATCH_CHECKS } from './checks/batches.ts';
import type { CheckResult, Evidence } from './checks/check.ts';
import { LIST_CHECKS } from './checks/lists.ts';
import { MEDIA_CHECKS } from './checks/media.ts';
import { MONEY_CHECKS } from './checks/money.ts';
import { PROCESS_CHECKS } from './checks/processes.ts';
import { describeRealtime, REALTIME_CHECKS } from './checks/realtime.ts';
import { TEXT_CHECKS } from './checks/text.ts';
import { measureWaits, WAIT_CHECKS } from './checks/waits.ts';
import { WEBHOOK_CHECKS } from './checks/webhooks.ts';
import type { Stage } from './faults/fault.ts';
import { FIRST_BUILD, makeCurrent } from './faults/roll.ts';
import { createCustomers, type Customer, TOP_UP_USD } from './customers.ts';
import { carryOut, strikeFirst } from './carry-out.ts';
import { type BatchLoad, startBatchLoad } from './load/batch.ts';
import { type MediaLoad, startMediaLoad } from './load/media.ts';
import { type RealtimeLoad, startRealtimeLoad } from './load/realtime.ts';
import { writeDrillCatalogue } from './load/native-routes.ts';
import { scenariosFor } from './load/scenarios.ts';
import { startTextLoad, type TextLoad } from './load/text.ts';
import type { DrillOptions } from './options.ts';
import { type PlannedFault, planFaults } from './plan.ts';
import { waitForQuiet } from './quiet.ts';
import { createRandom, type Random } from './random.ts';
import { openStores, possibleKinds } from './stores.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { describeDeeds, describeWaits } from './report.ts';
import { watchSlowness } from './slowness.ts';
import { openAccount } from '../stack/accounts.ts';
import { type Built, type Settings, type Stack, startStack } from '../stack/stack.ts';

const CHECKS = [
  ...MEDIA_CHECKS,
  ...WEBHOOK_CHECKS,
  ...LIST_CHECKS,
  ...TEXT_CHECKS,
  ...REALTIME_CHECKS,
  ...BATCH_CHECKS,
  ...MONEY_CHECKS,
  ...PROCESS_CHECKS,
  ...WAIT_CHECKS,
];

/** Many short waits, so that a receiver that recovers gets everything within seconds. */
const WEBHOOK_WAITS_S = Array.from({ length: 50 }, (_, attempt) => Math.min(attempt, 5));

/** The running parts of a drill. */
interface Scene {
  readonly stack: Stack;
  readonly receiver: Receiver;
  readonly customers: readonly Customer[];
  /** The key of an account that only runs batches. */
  readonly batchKey: string;
  readonly stage: Stage;
}

interface Load {
  /** In milliseconds since 1970. */
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  readonly media: MediaLoad;
  readonly text: TextLoad;
  readonly realtime: RealtimeLoad;
  readonly batch: BatchLoad;
  readonly slowness: number;
}

/**
 * Runs a drill against a stack of its own, and stops the stack.
 *
 * @param place `home` is the folder for state and logs, `print` gets each line of progress
 * @returns the findings of the checks
 * @throws Error when the stack does not start
 */
export async function runDrill(
  options: DrillOptions,
  { home, built, print }: { home: string; built?: Built; print: (line: string) => void },
): Promise<readonly CheckResult[]> {
  const random = createRandom(options.seed);
  const stores = await openStores(home, options.kinds, print);
  const plan = planFaults(random, { ...options, kinds: possibleKinds(options.kinds, stores) });
  const receiver = await startReceiver(random.fork());
  const { copies, textProcesses, taskDeadlineMs, isCluster } = options;
  const catalogue = join(home, 'catalogue.yaml');
  await writeDrillCatalogue(catalogue);
  try {
    const stack = await startStack({
      home,
      processes: { api: copies, text: textProcesses, worker: copies },
      isTemporalKept: true,
      isCluster,
      isDisturbable: true,
      // Only durability across a crash of the machine is off: commits survive the kill of a process without it.
      postgres: { fsync: 'off' },
      settings: {
        ...settingsFor(taskDeadlineMs),
        GENWAY_CATALOGUE: catalogue,
        ...(isCluster && { GENWAY_WORKER_BUILD_ID: FIRST_BUILD }),
      },
      settingsOf: (name) => stores.settingsOf(name),
      ...(built && { built }),
      report: print,
    });
    try {
      const { temporalAddress, adminToken, apiUrls } = stack;
      const stage: Stage = {
        ...stack,
        stores,
        genway: (...args) => stack.run('bin/genway.ts', args),
        receiver,
        upstreams: { scenarios: scenariosFor(taskDeadlineMs) },
        struck: new Set(),
        unheeded: [],
        forgotten: [],
        revoked: [],
      };
      if (isCluster) await makeCurrent(temporalAddress, FIRST_BUILD);
      const tools = { stage, random: random.fork(), report: print };
      await strikeFirst(plan, tools);
      const administration = { apiUrl: apiUrls[0] ?? '', adminToken };
      const customers = await createCustomers(administration, receiver);
      const { apiKey: batchKey } = await openAccount(administration, TOP_UP_USD);
      await strikeFirst(plan, tools);
      const scene = { stack, receiver, customers, batchKey, stage };
      // All processes read the files of batches.
      const loaded = stores.areMixed ? { ...options, batchClients: 0 } : options;
      const load = await underLoad(scene, random, loaded, () => carryOut(plan, tools));
      return await check(scene, plan, load, options.quietMs, print);
    } finally {
      await stack.stop();
    }
  } finally {
    await receiver.close();
    await stores.close();
  }
}

function settingsFor(taskDeadlineMs: number): Settings {
  return {
    GENWAY_PROVIDER_CALLBACKS: 'true',
    GENWAY_TASK_DEADLINE_S: String(taskDeadlineMs / 1000),
    GENWAY_PROVIDER_PATIENCE_S: '10',
    GENWAY_WEBHOOK_SCHEDULE_S: WEBHOOK_WAITS_S.join(','),
    GENWAY_LOG_LEVEL: 'warn',
  };
}

/** Keeps up the load for its time while `disturb` runs, and waits until the clients have their results. */
async function underLoad(
  { stack, receiver, customers, batchKey, stage }: Scene,
  random: Random,
  { durationMs, createsPerSecond, textRequestsPerSecond, realtimeSessions, batchClients, quietMs }: DrillOptions,
  disturb: () => Promise<void>,
): Promise<Load> {
  const loadEnded = new AbortController();
  const patienceEnded = new AbortController();
  // Every client listens.
  setMaxListeners(0, loadEnded.signal, patienceEnded.signal);
  const beganAtMs = Date.now();
  const watch = watchSlowness();
  const media = startMediaLoad({
    random: random.fork(),
    perSecond: createsPerSecond,
    apiUrls: stack.apiUrls,
    customers,
    upstreams: stage.upstreams,
    loadEnded: loadEnded.signal,
    patienceEnded: patienceEnded.signal,
  });
  const isUp = (name: string): boolean => stack.members.find((member) => member.name === name)?.isUp() === true;
  const clients = { isUp, customers, ended: loadEnded.signal };
  const text = startTextLoad({
    ...clients,
    random: random.fork(),
    perSecond: textRequestsPerSecond,
    textUrls: stack.textUrls,
  });
  const realtime = startRealtimeLoad({
    ...clients,
    random: random.fork(),
    sessions: realtimeSessions,
    apiUrls: new Map([...stack.textUrls].filter(([, url]) => stack.apiUrls.includes(url))),
  });
  const batch = startBatchLoad({
    random: random.fork(),
    clients: batchClients,
    apiUrls: stack.apiUrls,
    apiKey: batchKey,
    ended: loadEnded.signal,
    patienceEnded: patienceEnded.signal,
  });
  await Promise.all([disturb(), sleep(durationMs)]);
  const endedAtMs = Date.now();
  loadEnded.abort();
  receiver.calmDown();
  const patience = setTimeout(() => patienceEnded.abort(), quietMs);
  await Promise.all([media.done, text.done, realtime.done, batch.done]);
  clearTimeout(patience);
  return { beganAtMs, endedAtMs, media, text, realtime, batch, slowness: watch.stop() };
}

async function check(
  { stack, receiver, customers, batchKey, stage }: Scene,
  plan: readonly PlannedFault[],
  { beganAtMs, endedAtMs, media, text, realtime, batch, slowness }: Load,
  quietMs: number,
  print: (line: string) => void,
): Promise<readonly CheckResult[]> {
  const database = createDatabase(stack.databaseUrl, 4);
  const connection = await Connection.connect({ address: stack.temporalAddress });
  try {
    const temporal = new Client({ connection });
    const unfinished = await waitForQuiet(database, temporal, quietMs);
    for (const line of describeDeeds({ plan, media, text, realtime, batch, receiver })) print(line);
    const evidence: Evidence = {
      stack,
      load: { fromMs: beganAtMs, untilMs: endedAtMs },
      forgotten: stage.forgotten,
      slowness,
      createdAtMs: media.createdAtMs,
      customers,
      orders: media.orders,
      mediaAnswers: media.answers,
      textAnswers: text.answers,
      textLost: text.lost,
      batches: batch.batches,
      batchKey,
      realtime,
      revoked: stage.revoked,
      receiver,
      database,
      temporal,
    };
    print(await describeRealtime(evidence));
    print(describeWaits(measureWaits(evidence), evidence.load));
    print(`everything took ${slowness.toFixed(1)} times as long as on a machine that is idle otherwise`);
    const results: CheckResult[] = [
      {
        promise: 'all that was begun has ended',
        failures: Object.entries(unfinished).map(([what, count]) => `${count} ${what} are under way`),
      },
      { promise: 'every process said by itself what kept it from its work', failures: stage.unheeded },
    ];
    for (const ask of CHECKS) results.push(await ask(evidence));
    return results;
  } finally {
    await connection.close();
    await database.destroy();
  }
}
