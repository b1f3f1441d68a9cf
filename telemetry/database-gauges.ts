/** Gauges that each scrape reads from the database. */
import { Gauge, type Registry } from 'prom-client';
import type { Database } from '../db/database.ts';
import { type Backlog, readBacklog } from '../db/queries/backlog.ts';
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

/** The metrics of a reading, by metric name. */
type Gauges<Reading> = Readonly<Record<string, { readonly help: string; readonly read: (reading: Reading) => number }>>;

const BACKLOG: Gauges<Backlog> = {
  genway_tasks_running: { help: 'Media tasks that are not final', read: ({ running }) => running },
  genway_tasks_unstarted: {
    help: 'Media tasks whose workflow Temporal has not acknowledged yet',
    read: ({ unstarted }) => unstarted,
  },
  genway_tasks_oldest_unstarted_seconds: {
    help: 'Age of the oldest media task that has not been started; 0 if there is none',
    read: ({ oldestUnstartedSeconds }) => oldestUnstartedSeconds,
  },
  genway_tasks_overdue: {
    help: 'Media tasks that are past their deadline and not final',
    read: ({ overdue }) => overdue,
  },
  genway_tasks_reserved_usd: {
    help: 'USD reserved by running media tasks',
    read: ({ reservedUsd }) => reservedUsd,
  },
  genway_deliveries_unstarted: {
    help: 'Webhook deliveries whose workflow Temporal has not acknowledged yet',
    read: ({ unstartedDeliveries }) => unstartedDeliveries,
  },
  genway_deliveries_oldest_unstarted_seconds: {
    help: 'Time for which the oldest delivery without a workflow, to an endpoint that answers, has been due; 0 if there is none',
    read: ({ oldestUnstartedDeliverySeconds }) => oldestUnstartedDeliverySeconds,
  },
  genway_deliveries_pending: {
    help: 'Webhook deliveries that have neither arrived nor failed for good',
    read: ({ pendingDeliveries }) => pendingDeliveries,
  },
};

const BOOKS: Gauges<LedgerHealth> = {
  genway_absorbed_loss_usd: {
    help: 'Cost of text in USD that accounts could not pay in the last 24 hours',
    read: ({ absorbedUsd }) => absorbedUsd,
  },
  genway_reconciliation_findings: {
    help: 'Number of findings of the last reconciliation',
    read: ({ findings }) => findings,
  },
  genway_reconciliation_age_seconds: {
    help: 'Time since the last reconciliation finished',
    read: ({ secondsSinceReconciliation }) => secondsSinceReconciliation,
  },
};

/**
 * Measures the backlog in the database and the state of the ledger. Every process reports the same numbers, so take the
 * maximum over processes, not the sum. If the database does not answer, only these measurements are missing.
 */
export function watchDatabaseState(registry: Registry, database: Database): void {
  watchReading(registry, () => readBacklog(database), BACKLOG);
  watchReading(registry, () => readLedgerHealth(database), BOOKS);
}

function watchReading<Reading>(registry: Registry, takeReading: () => Promise<Reading>, gauges: Gauges<Reading>): void {
  let latest: Promise<Reading | null> | undefined;
  // A scrape collects all gauges at the same time, and they share one reading.
  const read = (): Promise<Reading | null> => {
    latest ??= takeReading()
      .catch(() => null)
      .finally(() => (latest = undefined));
    return latest;
  };
  for (const [name, { help, read: valueOf }] of Object.entries(gauges)) {
    const gauge = new Gauge({
      name,
      help,
      registers: [registry],
      collect: async () => {
        const reading = await read();
        if (reading) gauge.set(valueOf(reading));
        else gauge.reset();
      },
    });
  }
}
