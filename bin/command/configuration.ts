/** The commands of the configuration in force: which it is, and taking up the files as they are now. */
import type { Command } from 'commander';
import type { Administration } from './administration.ts';

const COLUMNS = ['created_at', 'process', 'catalogue_version', 'digest', 'refusal'];

export function addConfigurationCommands(program: Command, admin: Administration): void {
  const config = configCommand(program);
  config
    .command('show')
    .description('show which version of the files is in force, in the process that answers')
    .action(async () => admin.show('GET', '/configuration'));
  config
    .command('history')
    .description('list when processes took up a version of the files or refused one, newest first')
    .action(async () => admin.list('/configuration/history', COLUMNS));
  config
    .command('apply')
    .description('take up the files as they are now; the other processes follow within seconds')
    .action(async () => admin.show('POST', '/configuration/apply'));
}

/** `genway config`, to which commands with and without a running Genway belong. */
export function configCommand(program: Command): Command {
  const known = program.commands.find((command) => command.name() === 'config');
  return known ?? program.command('config').description('the catalogue and the file of upstreams');
}
