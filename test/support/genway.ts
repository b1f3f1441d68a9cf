/** The `genway` command, run in this process. */
import { Command } from 'commander';
import { CommandError, connectAdmin } from '../../bin/command/admin-client.ts';
import { addCommands } from '../../bin/command/commands.ts';
import type { TestApp } from './app.ts';

/** @returns what the command prints; a refusal is its last line */
export type Genway = (...words: string[]) => Promise<string>;

export async function connectGenway({ baseUrl, adminToken }: Pick<TestApp, 'baseUrl' | 'adminToken'>): Promise<Genway> {
  const admin = await connectAdmin({ baseUrl, adminToken, home: '/nowhere' });
  return async (...words) => {
    let printed = '';
    const program = new Command('genway')
      .option('--json')
      .exitOverride()
      .configureOutput({ writeErr: () => {} });
    addCommands(program, async () => admin, {
      print: (text) => void (printed += `${text}\n`),
      pipe: async (chunks) => {
        for await (const chunk of chunks) printed += Buffer.from(chunk).toString('utf8');
      },
    });
    try {
      await program.parseAsync(words, { from: 'user' });
    } catch (error) {
      if (!(error instanceof CommandError || (error instanceof Error && error.name === 'CommanderError'))) throw error;
      printed += `${error.name}: ${error.message}`;
    }
    return printed;
  };
}

/** The value that an answer shows under a name. */
export function field(output: string, name: string): string {
  return new RegExp(`^${name.replaceAll('.', '\\.')} +(.+)$`, 'm').exec(output)?.[1] ?? '';
}
