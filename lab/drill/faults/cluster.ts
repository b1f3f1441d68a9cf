/** Faults of servers that run in several processes. */
import { type FaultKind, seconds, strikeRole } from './fault.ts';

const TEMPORAL_OUTAGE_MS = 60_000;

export const FAILOVER: FaultKind = {
  meaning: 'the primary PostgreSQL server is killed, and its standby promoted',
  only: 'cluster',
  leastMs: 0,
  mostMs: 0,
  strike: (stage) =>
    strikeRole(stage, 'postgres', async () => {
      if (!stage.failOver) throw new Error('only a cluster has a standby');
      return `killed the primary, and promoted its standby after ${seconds(await stage.failOver())}`;
    }),
};

export const TEMPORAL_OUTAGE: FaultKind = {
  meaning: 'all nodes of Temporal are killed, and away for a minute',
  only: 'cluster',
  leastMs: TEMPORAL_OUTAGE_MS,
  mostMs: TEMPORAL_OUTAGE_MS,
  strike: (stage, _random, lastsMs) =>
    strikeRole(stage, 'temporal', async (nodes) => {
      await Promise.all(nodes.map((node) => node.kill(lastsMs)));
      return `killed every node of temporal for ${seconds(lastsMs)}`;
    }),
};
