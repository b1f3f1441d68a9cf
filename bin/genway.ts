/** The `genway` command for operators and finance. */
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import {
  loadCommandConfig,
  loadDatabaseConfig,
  loadFilesConfig,
  loadRecoveryConfig,
  loadSecretsConfig,
} from '../config.ts';
import { CommandError, connectAdmin } from './command/admin-client.ts';
import { addCommands } from './command/commands.ts';
import { addConfigCommands } from './command/config.ts';
import { addPartitionCommands } from './command/partitions.ts';
import { describeError } from './parts/describe-error.ts';
import { toLines } from './parts/terminal-text.ts';
import { addRecoverCommand } from './command/recover.ts';
import { addSecretsCommands } from './command/secrets.ts';

const program = new Command('genway')
  .description('Administer Genway')
  .option('--json', 'print answers as JSON')
  .showHelpAfterError();

const print = (text: string): void => console.log(toLines(text));
const connect = () => connectAdmin(loadCommandConfig());
addCommands(program, connect, {
  print,
  pipe: async (chunks) => {
    try {
      await pipeline(process.stdout.isTTY ? readable(chunks) : chunks, process.stdout, { end: false });
    } catch (error) {
      // The reader closed the pipe early, as `head` does.
      if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error;
    }
  },
});
addConfigCommands(
  program,
  { load: loadFilesConfig, connect },
  {
    print,
    isJson: () => program.opts<{ json?: boolean }>().json === true,
    endWith: (exitCode) => void (process.exitCode = exitCode),
  },
);
addPartitionCommands(program, loadDatabaseConfig, print);
addRecoverCommand(program, loadRecoveryConfig, print);
addSecretsCommands(program, loadSecretsConfig, print);
program
  .command('replay <file>')
  .description('check that the workflows of this version would make the same decisions as a saved history')
  .action(async (file: string) => {
    const { replayHistoryFile } = await import('./replay.ts');
    const { workflowType, workflowId, events, difference } = await replayHistoryFile(file);
    if (difference !== null)
      throw new CommandError(`${workflowType} ${workflowId} would behave differently: ${difference}`);
    print(`${workflowType} ${workflowId} replays: ${events} events`);
  });

try {
  await program.parseAsync();
} catch (error) {
  console.error(toLines(describeError(error)));
  process.exitCode = 1;
}

/** Makes output safe and readable for a terminal. */
async function* readable(chunks: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  const decoder = new TextDecoder();
  for await (const chunk of chunks) yield toLines(decoder.decode(chunk, { stream: true }).replaceAll('\r\n', '\n'));
}
