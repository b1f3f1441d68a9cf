/** The `genway` command: what operators and finance do with a running Genway. */
import { Command } from 'commander';
import { ConfigurationError, loadCommandConfig } from '../config.ts';
import { CommandError, connectAdmin } from './command/admin-client.ts';
import { addCommands } from './command/commands.ts';

const program = new Command('genway')
  .description('Administer a running Genway')
  .option('--json', 'print the answers as they come')
  .showHelpAfterError();
addCommands(
  program,
  () => connectAdmin(loadCommandConfig()),
  (text) => console.log(text),
);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommandError) && !(error instanceof ConfigurationError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
