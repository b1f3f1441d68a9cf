/** Gauges that each scrape reads from the database. */
import { Gauge, type Registry } from 'prom-client';
import type { Database } from '../db/database.ts';
import { type Backlog, type BatchBacklog, readBacklog, readBatchBacklog } from '../db/queries/backlog.ts';
import { type LedgerHealth, readLedgerHealth } from '../db/queries/ledger-health.ts';

/** Measures how a process uses its connections. */
export function watchPool(registry: Registry, database: Database): void {
  const gauge = new Gauge({
    name: 'genway_database_connections',
    help: 'Connections of this process to PostgreSQL: used, free, and the number of queries waiting for one',
    labelNames: ['state'],
    registers: [registry],
    collect: () => {
      const { pool } = database.client as { pool?: Pool };
      gauge.set({ state: 'used' }, pool?.numUsed() ?? 0);
      gauge.set({ state: 'free' }, pool?.numFree() ?? 0);
      gauge.set({ state: 'waiting' }, pool?.numPendingAcquires() ?? 0);
    },
  });
}

/** The used part of knex's pool: https://github.com/vincit/tarn.js#usage. */
interface Pool {
  numUsed(): number;
  numFree(): number;
  numPendingAcquires(): number;
}

/** The metric of each field of a reading: its name and its help. */
type Gauges<Reading> = Readonly<Record<keyof Reading, readonly [name: string, help: string]>>;

const BACKLOG: Gauges<Backlog> = {
  running: ['genway_tasks_running', 'Media tasks that are not final'],
  unstarted: ['genway_tasks_unstarted', 'Media tasks whose workflow Temporal has not acknowledged yet'],
  oldestUnstartedSeconds: [
    'genway_tasks_oldest_unstarted_seconds',
    'Age of the oldest media task that has not been started; 0 if there is none',
  ],
  overdue: ['genway_tasks_overdue', 'Media tasks that are past their deadline and not final'],
  reservedUsd: ['genway_tasks_reserved_usd', 'USD reserved by running media tasks'],
  unstartedDeliveries: [
    'genway_deliveries_unstarted',
    'Webhook deliveries whose workflow Temporal has not acknowledged yet',
  ],
  oldestUnstartedDeliverySeconds: [
    'genway_deliveries_oldest_unstarted_seconds',
    'Time for which the oldest delivery without a workflow, to an endpoint that answers, has been due; 0 if there is none',
  ],
  pendingDeliveries: ['genway_deliveries_pending', 'Webhook deliveries that have neither arrived nor failed for good'],
};

const BATCHES: Gauges<BatchBacklog> = {
  inProgress: ['genway_batches_in_progress', 'Batches whose requests may start'],
  paused: ['genway_batches_paused', 'Batches in progress that wait for money, a key or an operator'],
  changing: ['genway_batches_changing', 'Batches whose input is read, whose files are written, or that are cancelled'],
  requests: ['genway_batches_requests', 'Requests of all batches that are not final, including those that have ended'],
};

const LEDGER_HEALTH: Gauges<LedgerHealth> = {
  absorbedUsd: [
    'genway_absorbed_loss_usd',
    'Cost of text in USD in the last 24 hours that balances, key limits and budgets did not cover',
  ],
  findings: ['genway_reconciliation_findings', 'Number of findings of the last reconciliation'],
  refusedPayments: [
    'genway_payments_refused',
    'Announcements of payments and of changes of plans that were refused, and that nobody resolved',
  ],
  secondsSinceReconciliation: ['genway_reconciliation_age_seconds', 'Time since the last reconciliation finished'],
};

/**
 * Measures the backlog in the database and the state of the ledger. Every process reports the same numbers, so take the
 * maximum over processes, not the sum. If the database does not answer, only these measurements are missing.
 */
export function watchDatabaseState(registry: Registry, database: Database): void {
  watchReading(registry, () => readBacklog(database), BACKLOG);
  watchReading(registry, () => readBatchBacklog(database), BATCHES);
  watchReading(registry, () => readLedgerHealth(database), LEDGER_HEALTH);
}

function watchReading<Field extends string>(
  registry: Registry,
  takeReading: () => Promise<Readonly<Record<Field, number>>>,
  gauges: Gauges<Record<Field, number>>,
): void {
  let latest: Promise<Readonly<Record<Field, number>> | null> | undefined;
  // A scrape collects all gauges at the same time, and they share one reading.
  const read = () => {
    latest ??= takeReading()
      .catch(() => null)
      .finally(() => (latest = undefined));
    return latest;
  };
  for (const field in gauges) {
    const [name, help] = gauges[field];
    const gauge = new Gauge({
      name,
      help,
      registers: [registry],
      collect: async () => {
        const reading = await read();
        if (reading) gauge.set(reading[field]);
        else gauge.reset();
      },
    });
  }
}
