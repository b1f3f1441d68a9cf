/** The subcommands of `genway` that call the administration endpoints. */
import type { Command } from 'commander';
import type { AdminClient } from './admin-client.ts';
import { createAdministration, type Terminal } from './administration.ts';
import { addEndpointCommand, groupOf } from './endpoint-command.ts';
import { ENDPOINT_COMMANDS, GROUPS } from './endpoint-commands.ts';
import { addFinanceCommands } from './finance.ts';

/** @param connect called when a command runs, so that `--help` needs no running Genway */
export function addCommands(program: Command, connect: () => Promise<AdminClient>, terminal: Terminal): void {
  const admin = createAdministration(connect, terminal, () => program.opts<{ json?: boolean }>().json === true);
  for (const [name, description] of Object.entries(GROUPS)) groupOf(program, name).description(description);
  for (const command of ENDPOINT_COMMANDS) addEndpointCommand(program, command, admin);
  addFinanceCommands(program, admin);
}
