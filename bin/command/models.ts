/** The commands of models: which are sold, and disabling one for all customers at once. */
import type { Command } from 'commander';
import { type Administration, AUTHOR, given, type Options } from './administration.ts';

const COLUMNS = ['id', 'kind', 'providers', 'enabled', 'disabled_at', 'disabled_by', 'disabled_reason'];

export function addModelCommands(program: Command, admin: Administration): void {
  const models = program.command('models').description('models of the catalogue');
  const order = async (model: string, action: 'disable' | 'enable', { reason, author }: Options): Promise<void> =>
    admin.show('POST', `/models/${encodeURIComponent(model)}/${action}`, given({ reason, author }));
  models
    .command('list', { isDefault: true })
    .description('list them, and which are disabled')
    .action(async () => admin.list('/models', COLUMNS));
  models
    .command('disable <model>')
    .description('refuse requests for it, in all processes; what is under way goes on')
    .requiredOption('--reason <text>', 'why; kept with the order')
    .option(...AUTHOR)
    .action(async (model: string, options: Options) => order(model, 'disable', options));
  models
    .command('enable <model>')
    .description('take requests for it again')
    .option('--reason <text>', 'why; kept with the order')
    .option(...AUTHOR)
    .action(async (model: string, options: Options) => order(model, 'enable', options));
}
