/** The `genway` command: what operators and finance do with a running Genway. */
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import { loadCommandConfig, loadDatabaseConfig, loadRecoveryConfig } from '../config.ts';
import { CommandError, connectAdmin } from './command/admin-client.ts';
import { addCommands } from './command/commands.ts';
import { addPartitionCommands } from './command/partitions.ts';
import { explain } from './parts/explain.ts';
import { addRecoverCommand } from './command/recover.ts';

const program = new Command('genway')
  .description('Administer a running Genway')
  .option('--json', 'print the answers as they come')
  .showHelpAfterError();
addCommands(program, () => connectAdmin(loadCommandConfig()), {
  print: (text) => console.log(text),
  pipe: async (chunks) => {
    try {
      await pipeline(chunks, process.stdout, { end: false });
    } catch (error) {
      // Whoever reads has seen enough, as `head` does.
      if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error;
    }
  },
});
addPartitionCommands(program, loadDatabaseConfig, (text) => console.log(text));
addRecoverCommand(program, loadRecoveryConfig, (text) => console.log(text));
program
  .command('replay <file>')
  .description('whether the workflows of this version would decide as a saved history records')
  .action(async (file: string) => {
    const { replayHistoryFile } = await import('./replay.ts');
    const { workflowType, workflowId, events, difference } = await replayHistoryFile(file);
    if (difference !== null)
      throw new CommandError(`${workflowType} ${workflowId} would go another way: ${difference}`);
    console.log(`${workflowType} ${workflowId} replays: ${events} events`);
  });

try {
  await program.parseAsync();
} catch (error) {
  console.error(explain(error));
  process.exitCode = 1;
}
