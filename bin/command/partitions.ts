/** `genway partitions`: manages the monthly partitions of tables, directly in the database. */
import type { Command } from 'commander';
import type { Config } from '../../config.ts';
import { REPORT_LIMITS } from '../../db/connections.ts';
import { createDatabase, type Database } from '../../db/database.ts';
import { detachMonth, ensurePartitions, listMonths } from '../../db/partitions.ts';
import { table } from './print.ts';

/** @param load called when a command runs, so that `--help` needs no database */
export function addPartitionCommands(
  program: Command,
  load: () => Config['database'],
  print: (text: string) => void,
): void {
  async function withDatabase(action: (database: Database) => Promise<void>): Promise<void> {
    const database = createDatabase(load().url, 2, REPORT_LIMITS);
    try {
      await action(database);
    } finally {
      await database.destroy();
    }
  }

  const partitions = program
    .command('partitions')
    .description('monthly partitions of tasks, transfers and text requests; needs DATABASE_URL');
  partitions
    .command('list')
    .description('list the attached months and their sizes')
    .action(() =>
      withDatabase(async (database) => {
        const months = await listMonths(database);
        print(
          table(
            months.map(({ month, bytes }) => ({ month, megabytes: Math.round(bytes / 1e5) / 10 })),
            ['month', 'megabytes'],
          ),
        );
      }),
    );
  partitions
    .command('create')
    .description('create the partitions of coming months; the api process also creates them')
    .action(() => withDatabase((database) => ensurePartitions(database)));
  partitions
    .command('detach <month>')
    .description('detach an old month, such as 2026-05, from the tables; balances do not change')
    .action((month: string) =>
      withDatabase(async (database) => {
        await detachMonth(database, month);
        const suffix = month.replace('-', '_');
        print(
          `${month} is detached. Now dump and then drop transfers_${suffix}, tasks_${suffix} and text_requests_${suffix}`,
        );
      }),
    );
}
