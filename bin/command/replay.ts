/** `genway replay`: checks the workflows of this version against a saved history. */
import type { Command } from 'commander';
import { CommandError } from './admin-client.ts';

/** @param load called when the command runs; names the file with the bundled workflows, if they were bundled before */
export function addReplayCommand(
  program: Command,
  load: () => { readonly workflowBundle: string | undefined },
  print: (text: string) => void,
): void {
  program
    .command('replay <file>')
    .description('check that the workflows of this version would make the same decisions as a saved history')
    .action(async (file: string) => {
      const { replayHistoryFile } = await import('../replay.ts');
      const { workflowBundle: codePath } = load();
      const replay = await replayHistoryFile(file, codePath === undefined ? undefined : { codePath });
      const { workflowType, workflowId, events, difference } = replay;
      if (difference !== null)
        throw new CommandError(`${workflowType} ${workflowId} would behave differently: ${difference}`);
      print(`${workflowType} ${workflowId} replays: ${events} events`);
    });
}
