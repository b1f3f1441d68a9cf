/** `genway recover`: works directly on PostgreSQL, Temporal and the store, and needs no running process of Genway. */
import { type Command, InvalidArgumentError } from 'commander';
import type { RecoveryConfig } from '../../config.ts';
import { parseIsoTime } from '../../domain/iso-time.ts';

interface Options {
  readonly dryRun?: boolean;
  readonly terminateUnknown?: boolean;
  readonly since?: Date;
  readonly files: boolean;
  readonly filesSince?: Date;
}

/** @param load called when the command runs, so that `--help` needs no configuration */
export function addRecoverCommand(program: Command, load: () => RecoveryConfig, print: (text: string) => void): void {
  program
    .command('recover')
    .description(
      'repair every task and delivery, and look for missing files, after PostgreSQL was restored or Temporal was lost; needs DATABASE_URL and TEMPORAL_ADDRESS',
    )
    .option('--dry-run', 'change nothing; print the actions')
    .option('--terminate-unknown', 'terminate open workflows that are unknown to the database')
    .option('--since <time>', 'when the backup was made (default: when its newest task was created)', toTime)
    .option('--files-since <time>', 'look only for files of tasks created since then (default: all)', toTime)
    .option('--no-files', 'do not look for files')
    .action(async ({ dryRun, terminateUnknown, since, files, filesSince }: Options) => {
      const { recover, withRecovery } = await import('../recover.ts');
      await withRecovery(load(), (dependencies) =>
        recover(
          dependencies,
          {
            isDryRun: dryRun === true,
            canTerminateUnknown: terminateUnknown === true,
            ...(since && { since }),
            filesSince: files ? (filesSince ?? new Date(0)) : null,
          },
          print,
        ),
      );
    });
}

function toTime(text: string): Date {
  const time = parseIsoTime(text);
  if (time === null) throw new InvalidArgumentError('Give a time such as 2026-11-21T13:41:58Z.');
  return time;
}
