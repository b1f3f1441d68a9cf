/** The turn of a month without prepared tables. */
import { createDatabase } from '../../../db/database.ts';
import type { FaultKind } from './fault.ts';

const TABLES = ['tasks', 'transfers', 'text_requests', 'submissions'];
/** Detached first: other tables refer to the missing rows. */
const DROP_EMPTY_MONTH = /* sql */ `
  DO $$
  DECLARE
    parent text;
    partition text;
    is_empty boolean;
  BEGIN
    SET LOCAL lock_timeout = '10s';
    FOREACH parent IN ARRAY ARRAY['${TABLES.join("', '")}'] LOOP
      partition := parent || to_char(now() AT TIME ZONE 'UTC', '_YYYY_MM');
      -- Missing if nothing has been written since the fault struck before.
      CONTINUE WHEN to_regclass(partition) IS NULL;
      EXECUTE format('SELECT NOT EXISTS (SELECT FROM %I)', partition) INTO is_empty;
      CONTINUE WHEN NOT is_empty;
      EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', parent, partition);
      EXECUTE format('DROP TABLE %I', partition);
    END LOOP;
  END $$`;

export const MONTHS: FaultKind = {
  meaning: 'the month begins, and its tables are missing; once, before anything is in them',
  isFirst: true,
  leastMs: 0,
  mostMs: 0,
  strike: async ({ databaseUrl }) => {
    const database = createDatabase(databaseUrl, 1);
    try {
      await database.raw(DROP_EMPTY_MONTH);
    } finally {
      await database.destroy();
    }
    return 'took the tables of this month away that were empty';
  },
};
