/** The `genway` command for operators and finance. */
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import { loadCommandConfig } from '../config.ts';
import { connectAdmin } from './command/admin-client.ts';
import { addCommands } from './command/commands.ts';
import { addLocalCommands } from './command/local-commands.ts';
import { describeError } from './parts/describe-error.ts';
import { toLines } from './parts/terminal-text.ts';

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
addLocalCommands(program, { connect, print, endWith: (exitCode) => void (process.exitCode = exitCode) });

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
