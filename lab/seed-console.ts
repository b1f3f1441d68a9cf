/**
 * Fills the database of GENWAY_DATABASE_URL with 100,000 tasks and 1,000,000 transfers, or the requested numbers:
 * `npm run seed:console -- --tasks 1000 --transfers 10000`. For tests of the console; never for real customers.
 */
import { parseArgs } from 'node:util';
import { REPORT_LIMITS } from '../db/connections.ts';
import { createDatabase } from '../db/database.ts';
import { seedConsole } from './bench/console/seed.ts';

const { values } = parseArgs({
  options: {
    accounts: { type: 'string', default: '200' },
    tasks: { type: 'string', default: '100000' },
    transfers: { type: 'string', default: '1000000' },
  },
});
const url = process.env['GENWAY_DATABASE_URL'];
if (url === undefined) throw new Error('Set GENWAY_DATABASE_URL to a migrated database that no customer uses.');
const database = createDatabase(url, 2, REPORT_LIMITS);
try {
  const { accounts, tasks, transfers } = values;
  await seedConsole(
    database,
    { accounts: Number(accounts), tasks: Number(tasks), transfers: Number(transfers) },
    (line) => console.log(line),
  );
} finally {
  await database.destroy();
}
