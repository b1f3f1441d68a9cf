/** Commands for upstreams: listing them, taking them out of service and putting them back. */
import type { Command } from 'commander';
import { type Administration, AUTHOR, given, type Options } from './administration.ts';

const COLUMNS = ['kind', 'name', 'format', 'model', 'key', 'state', 'cause', 'until', 'requests', 'failures'];

export function addUpstreamCommands(program: Command, admin: Administration): void {
  const upstreams = program.command('upstreams').description('vendors behind the models');
  upstreams
    .command('list', { isDefault: true })
    .description('list upstreams and their health, as seen by the process that answers')
    .action(async () => admin.list('/upstreams', COLUMNS));
  upstreams
    .command('rest <name>')
    .description('take one out of service for a while, in all processes')
    .requiredOption('--seconds <count>', 'how long it stays out of service')
    .requiredOption('--reason <text>', 'the reason; kept with the order')
    .option(...AUTHOR)
    .action(async (name: string, { seconds, reason, author }: Options) =>
      admin.show(
        'POST',
        `/upstreams/${encodeURIComponent(name)}/rest`,
        given({ seconds: Number(seconds), reason, author }),
      ),
    );
  upstreams
    .command('resume <name>')
    .description('put one back into service, and clear its record of failures')
    .option('--reason <text>', 'the reason; kept with the order')
    .option(...AUTHOR)
    .action(async (name: string, { reason, author }: Options) =>
      admin.show('POST', `/upstreams/${encodeURIComponent(name)}/resume`, given({ reason, author })),
    );
}
