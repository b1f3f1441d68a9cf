/** The database's clock, which all processes share. Deadlines, leases and ordering follow this clock. */
import { type Database, onlyRow } from './database.ts';

export interface Clock {
  /** Milliseconds since 1970. */
  nowMs(): number;
}

export interface DatabaseClock extends Clock {
  /** How far the machine's clock is ahead of the database's; 0 until measured. */
  aheadMs(): number;
  /** Measures the difference in one round trip. @throws if the database does not answer */
  measure(): Promise<void>;
  /** Resolves when the difference has been measured for the first time. */
  readonly measured: Promise<void>;
}

/** The machine's own clock. */
export const MACHINE_CLOCK: Clock = { nowMs: () => Date.now() };

/** @param machine the clock to correct by the last measurement */
export function createDatabaseClock(database: Database, machine: Clock = MACHINE_CLOCK): DatabaseClock {
  let aheadMs = 0;
  let noteMeasured: (() => void) | undefined;
  const measured = new Promise<void>((resolve) => void (noteMeasured = resolve));
  return {
    measured,
    nowMs: () => machine.nowMs() - aheadMs,
    aheadMs: () => aheadMs,
    measure: async () => {
      const sentAtMs = machine.nowMs();
      const { rows } = await database.raw<{ rows: { now_ms: number }[] }>(
        'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now_ms',
      );
      const receivedAtMs = machine.nowMs();
      const now = rows[0]?.now_ms;
      if (now === undefined) throw new Error('a SELECT without FROM always has a row');
      const halfMs = (receivedAtMs - sentAtMs) / 2;
      const measuredMs = Math.round(sentAtMs + halfMs - now);
      // The database read its clock at any moment of the round trip: a slow answer agrees with many differences.
      if (Math.abs(measuredMs - aheadMs) > halfMs) aheadMs = measuredMs;
      noteMeasured?.();
    },
  };
}

/** The time of the database, which is not that of the transaction. */
export async function readDatabaseTime(database: Database): Promise<Date> {
  const { rows } = await database.raw<{ rows: { now: Date }[] }>('SELECT clock_timestamp() AS now');
  return onlyRow(rows).now;
}
