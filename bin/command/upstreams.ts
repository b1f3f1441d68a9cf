/** Commands for upstreams: listing them, taking them out of service and putting them back. */
import type { Command } from 'commander';
import type { AdminClient } from './admin-client.ts';
import { given, type Options, type Report } from './report.ts';

const COLUMNS = ['kind', 'name', 'format', 'model', 'key', 'state', 'cause', 'until', 'requests', 'failures'];

export function addUpstreamCommands(program: Command, connect: () => Promise<AdminClient>, report: Report): void {
  const upstreams = program.command('upstreams').description('vendors behind the models');
  upstreams
    .command('list', { isDefault: true })
    .description('list upstreams and their health, as seen by the process that answers')
    .action(async () => report.showList(await (await connect()).call('GET', '/upstreams'), COLUMNS));
  upstreams
    .command('rest <name>')
    .description('take one out of service for a while, in all processes')
    .requiredOption('--seconds <count>', 'how long it stays out of service')
    .requiredOption('--reason <text>', 'the reason; kept with the order')
    .option('--author <name>', 'who; by default whose admin token it is')
    .action(async (name: string, { seconds, reason, author }: Options) => {
      const body = given({ seconds: Number(seconds), reason, author });
      report.show(await (await connect()).call('POST', `/upstreams/${encodeURIComponent(name)}/rest`, body));
    });
  upstreams
    .command('resume <name>')
    .description('put one back into service, and clear its record of failures')
    .option('--reason <text>', 'the reason; kept with the order')
    .option('--author <name>', 'who; by default whose admin token it is')
    .action(async (name: string, { reason, author }: Options) => {
      const body = given({ reason, author });
      report.show(await (await connect()).call('POST', `/upstreams/${encodeURIComponent(name)}/resume`, body));
    });
}
