/** `genway config`: writes, checks and compares the operator's files before a process uses them. */
import type { Command } from 'commander';
import type { FilesConfig } from '../../config.ts';
import type { AdminClient } from './admin-client.ts';
import { checkConfig } from './config-check.ts';
import { initConfig } from './config-init.ts';
import { compareWithCurrent } from './config-diff.ts';
import type { ConfigTerminal } from './config-terminal.ts';
import { groupOf } from './endpoint-command.ts';

/** Called when a command runs, so that `--help` needs neither configuration nor a running Genway. */
export interface ConfigSources {
  readonly load: () => FilesConfig;
  readonly connect: () => Promise<AdminClient>;
}

const FILES = '(default: those of GENWAY_CATALOGUE and GENWAY_PROVIDERS)';

export function addConfigCommands(program: Command, { load, connect }: ConfigSources, terminal: ConfigTerminal): void {
  const config = groupOf(program, 'config');
  config
    .command('init <vendors...>')
    .description(
      'write a catalogue and a file of upstreams for vendors such as openai, anthropic, google or fal, to begin with',
    )
    .option('--folder <folder>', 'where to write them', '.')
    .action((vendors: string[], { folder }: { folder: string }) => initConfig(vendors, { folder, terminal }));
  config
    .command('check [files...]')
    .description(`list all mistakes in the files ${FILES}`)
    .option(
      '--online',
      'also check that every upstream accepts its keys, which costs nothing, and check the price lists of customers',
    )
    .action(async (files: string[], { online }: { online?: true }) => {
      terminal.endWith(await checkConfig(load(), files, { online: online === true, terminal, connect }));
    });
  config
    .command('diff [files...]')
    .description(`show how the files would change the current models, prices and costs ${FILES}`)
    .action(async (files: string[]) => {
      terminal.endWith(await compareWithCurrent(load(), files, { connect, terminal }));
    });
}
