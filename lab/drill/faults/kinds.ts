/** Every kind of fault, by its name on the command line. */
import { CLOCKS } from './clocks.ts';
import type { FaultKind } from './fault.ts';
import { FREEZE, NODE_FREEZE, TEXT_FREEZE } from './freeze.ts';
import { LIMIT_CUT } from './limits.ts';
import { FAILOVER, killOf, LATE, TEMPORAL_OUTAGE } from './kill.ts';
import { MONTHS } from './months.ts';
import { CUT, DELAY, LOST, NODE_CUT, SILENCE, TEXT_CUT, TEXT_LOST } from './network.ts';
import { POSTGRES_PAUSE } from './postgres-pause.ts';
import { REALTIME } from './realtime.ts';
import { RESTORE, WIPE } from './restores.ts';
import { ROLL } from './roll.ts';
import { FULL, S3, S3_OUTAGE, STORE } from './store.ts';
import { DOWNLOADS, SUBMISSIONS } from './upstreams.ts';
import { WEBHOOKS } from './webhooks.ts';

export const FAULTS = {
  api: killOf('api', 'an api process is killed, and with it the relay in it'),
  text: killOf('text', 'a text process is killed'),
  worker: killOf('worker', 'a worker is killed'),
  temporal: killOf('temporal', 'the Temporal server, or one of its nodes, is killed'),
  'temporal-outage': TEMPORAL_OUTAGE,
  postgres: { ...killOf('postgres', 'the PostgreSQL server is killed'), only: 'development' },
  'postgres-pause': POSTGRES_PAUSE,
  failover: FAILOVER,
  freeze: FREEZE,
  'text-freeze': TEXT_FREEZE,
  silence: SILENCE,
  cut: CUT,
  'text-cut': TEXT_CUT,
  'text-lost': TEXT_LOST,
  'limit-cut': LIMIT_CUT,
  'node-cut': NODE_CUT,
  'node-freeze': NODE_FREEZE,
  delay: DELAY,
  lost: LOST,
  clocks: CLOCKS,
  months: MONTHS,
  store: STORE,
  full: FULL,
  s3: S3,
  's3-outage': S3_OUTAGE,
  restore: RESTORE,
  wipe: WIPE,
  downloads: DOWNLOADS,
  submissions: SUBMISSIONS,
  realtime: REALTIME,
  late: LATE,
  roll: ROLL,
  webhooks: WEBHOOKS,
} as const satisfies Readonly<Record<string, FaultKind>>;

export type FaultName = keyof typeof FAULTS;

/** In the order in which they are listed. */
export const FAULT_NAMES = Object.keys(FAULTS).filter((name): name is FaultName => name in FAULTS);
