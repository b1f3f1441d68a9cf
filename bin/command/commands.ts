/** The subcommands of `genway` that call the administration endpoints. */
import type { Command } from 'commander';
import { addAccountCommands } from './accounts.ts';
import type { AdminClient } from './admin-client.ts';
import { addAdminTokenCommands } from './admin-tokens.ts';
import { addConfigurationCommands } from './configuration.ts';
import { addFinanceCommands } from './finance.ts';
import { addKeyCommands } from './keys.ts';
import { addModelCommands } from './models.ts';
import { addMarginCommands } from './margins.ts';
import { createAdministration, type Terminal } from './administration.ts';
import { addTaskCommands } from './tasks.ts';
import { addUpstreamCommands } from './upstreams.ts';
import { addUserCommands } from './users.ts';
import { addWebhookCommands } from './webhooks.ts';

/** @param connect is called when a command runs, so that `--help` needs no running Genway */
export function addCommands(program: Command, connect: () => Promise<AdminClient>, terminal: Terminal): void {
  const admin = createAdministration(connect, terminal, () => program.opts<{ json?: boolean }>().json === true);
  program
    .command('find <id>')
    .description('find the account and the story of any id: of a request, answer, task, key, delivery, file, …')
    .action(async (id: string) => admin.showText(`/find/${encodeURIComponent(id)}`));
  const accounts = addAccountCommands(program, admin);
  addFinanceCommands(program, accounts, admin);
  addUpstreamCommands(program, admin);
  addConfigurationCommands(program, admin);
  addModelCommands(program, admin);
  addMarginCommands(program, admin);
  addAdminTokenCommands(program, admin);
  addUserCommands(program, admin);
  addKeyCommands(program, admin);
  addTaskCommands(program, admin);
  addWebhookCommands(program, admin);
}
