/** `genway recover`: it works on PostgreSQL, Temporal and the store themselves, so that nothing has to serve meanwhile. */
import { type Command, InvalidArgumentError } from 'commander';
import type { RecoveryConfig } from '../../config.ts';

interface Options {
  readonly dryRun?: boolean;
  readonly terminateUnknown?: boolean;
  readonly since?: Date;
  readonly files: boolean;
  readonly filesSince?: Date;
}

/** @param load is called when the command runs, so that `--help` needs no configuration */
export function addRecoverCommand(program: Command, load: () => RecoveryConfig, print: (text: string) => void): void {
  program
    .command('recover')
    .description(
      'after a restore of PostgreSQL or the loss of Temporal: see to every task and delivery, and look for files; needs DATABASE_URL and TEMPORAL_ADDRESS',
    )
    .option('--dry-run', 'only say what would be done')
    .option('--terminate-unknown', 'end open workflows that the database has never heard of')
    .option('--since <time>', 'the moment of the backup; that of the newest task when not given', toTime)
    .option('--files-since <time>', 'look for the files of tasks created from then on; all when not given', toTime)
    .option('--no-files', 'look for no files')
    .action(async ({ dryRun, terminateUnknown, since, files, filesSince }: Options) => {
      const { recover, withRecovery } = await import('../recover.ts');
      await withRecovery(load(), (dependencies) =>
        recover(
          dependencies,
          {
            isDryRun: dryRun === true,
            terminatesUnknown: terminateUnknown === true,
            ...(since && { since }),
            filesSince: files ? (filesSince ?? new Date(0)) : null,
          },
          print,
        ),
      );
    });
}

function toTime(text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new InvalidArgumentError('Write a time such as 2026-11-21T13:41:58Z.');
  return time;
}
