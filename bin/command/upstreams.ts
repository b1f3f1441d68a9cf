/** The commands of upstreams: how they stand, and taking them out of service and back. */
import type { Command } from 'commander';
import type { AdminClient } from './admin-client.ts';
import { given, type Options, type Report } from './report.ts';

const COLUMNS = ['name', 'format', 'model', 'key', 'state', 'cause', 'until', 'requests', 'failures'];

export function addUpstreamCommands(program: Command, connect: () => Promise<AdminClient>, report: Report): void {
  const upstreams = program.command('upstreams').description('vendors behind the models');
  upstreams
    .command('list', { isDefault: true })
    .description('how they stand, as the process knows them that answers')
    .action(async () => report.showList(await (await connect()).call('GET', '/upstreams'), COLUMNS));
  upstreams
    .command('rest <name>')
    .description('take one out of service for a while, in all processes')
    .requiredOption('--seconds <count>', 'for how long')
    .requiredOption('--reason <text>', 'why; kept with the order')
    .option('--author <name>', 'who; by default whose admin token it is')
    .action(async (name: string, { seconds, reason, author }: Options) => {
      const body = given({ seconds: Number(seconds), reason, author });
      report.show(await (await connect()).call('POST', `/upstreams/${encodeURIComponent(name)}/rest`, body));
    });
  upstreams
    .command('resume <name>')
    .description('take one back into service, and forget what was wrong with it')
    .option('--reason <text>', 'why; kept with the order')
    .option('--author <name>', 'who; by default whose admin token it is')
    .action(async (name: string, { reason, author }: Options) => {
      const body = given({ reason, author });
      report.show(await (await connect()).call('POST', `/upstreams/${encodeURIComponent(name)}/resume`, body));
    });
}
