/** The `genway` command, run in this process, because a process of its own takes two seconds to load. */
import { Command } from 'commander';
import { type AdminClient, CommandError, connectAdmin } from '../../bin/command/admin-client.ts';
import { addCommands } from '../../bin/command/commands.ts';
import { addLocalCommands } from '../../bin/command/local-commands.ts';
import { describeError } from '../../bin/parts/describe-error.ts';
import { type Environment, loadCommandConfig } from '../../config.ts';
import type { TestApp } from './app.ts';

/** @returns the output of the command; a refusal is its last line */
export type Genway = (...words: string[]) => Promise<string>;

export async function connectGenway({ baseUrl, adminToken }: Pick<TestApp, 'baseUrl' | 'adminToken'>): Promise<Genway> {
  const admin = await connectAdmin({ baseUrl, adminToken, home: '/nowhere' });
  return async (...words) => {
    const { program, output } = createProgram(async () => admin);
    try {
      await program.parseAsync(words, { from: 'user' });
    } catch (error) {
      if (!(error instanceof CommandError || (error instanceof Error && error.name === 'CommanderError'))) throw error;
      output.printed += `${error.name}: ${error.message}`;
    }
    return output.printed;
  };
}

/**
 * Runs a command with the configuration of an environment.
 *
 * @returns the output of the command; the explanation of an error is the last line
 */
export async function runGenway(words: readonly string[], environment: Environment): Promise<string> {
  const connect = (): Promise<AdminClient> => connectAdmin(loadCommandConfig(environment));
  const { program, output } = createProgram(connect);
  const { print } = output;
  addLocalCommands(program, { connect, print, endWith: () => {}, environment });
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    print(describeError(error));
  }
  return output.printed;
}

interface Output {
  printed: string;
  readonly print: (text: string) => void;
}

function createProgram(connect: () => Promise<AdminClient>): { program: Command; output: Output } {
  const output: Output = { printed: '', print: (text) => void (output.printed += `${text}\n`) };
  const program = new Command('genway')
    .option('--json')
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  addCommands(program, connect, {
    print: output.print,
    pipe: async (chunks) => {
      for await (const chunk of chunks) output.printed += Buffer.from(chunk).toString('utf8');
    },
  });
  return { program, output };
}

/** The value that an answer shows under a name. */
export function field(output: string, name: string): string {
  return new RegExp(`^${name.replaceAll('.', '\\.')} +(.+)$`, 'm').exec(output)?.[1] ?? '';
}
