/** The `genway` command for operators and finance. */
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import {
  loadCommandConfig,
  loadDatabaseConfig,
  loadFilesConfig,
  loadRecoveryConfig,
  loadReplayConfig,
  loadSecretsConfig,
} from '../config.ts';
import { connectAdmin } from './command/admin-client.ts';
import { addCommands } from './command/commands.ts';
import { addConfigCommands } from './command/config.ts';
import { addPartitionCommands } from './command/partitions.ts';
import { describeError } from './parts/describe-error.ts';
import { toLines } from './parts/terminal-text.ts';
import { addRecoverCommand } from './command/recover.ts';
import { addReplayCommand } from './command/replay.ts';
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
addReplayCommand(program, loadReplayConfig, print);

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
