/** The commands for webhooks of all accounts. */
import type { Command } from 'commander';
import { type Administration, given, LIST_FILTERS, type Options, pageOptions, query } from './administration.ts';

const ENDPOINT_COLUMNS = ['id', 'account_id', 'url', 'events', 'enabled', 'failing_since', 'disabled_reason'];
const DELIVERY_COLUMNS = [
  'id',
  'account_id',
  'webhook_id',
  'event',
  'task_id',
  'status',
  'created_at',
  'next_attempt_at',
];

export function addWebhookCommands(program: Command, admin: Administration): void {
  const webhooks = program.command('webhooks').description('webhook endpoints of customers, and their deliveries');
  webhooks
    .command('create <account> <url>')
    .description('create an endpoint; its secret is shown only once')
    .option('--events <types>', 'the events to deliver, separated by commas (default: all of tasks)')
    .option('--description <text>', 'an internal label')
    .action(async (account: string, url: string, { events, description }: Options) => {
      const list = typeof events === 'string' ? events.split(',') : undefined;
      await admin.show('POST', `/accounts/${account}/webhooks`, given({ url, description, events: list }));
    });
  pageOptions(webhooks.command('list').description('list endpoints, newest first'))
    .option('--account <account>', 'only of this account')
    .option('--failing', 'only those whose last attempt failed, disabled ones included')
    .action(async (options: Options) => {
      const only = options['failing'] === true ? 'true' : undefined;
      await admin.list(
        `/webhooks${query({ ...options, only }, { ...LIST_FILTERS, account: 'account_id', only: 'failing' })}`,
        ENDPOINT_COLUMNS,
      );
    });
  addDeliveryCommands(webhooks, admin);
}

function addDeliveryCommands(webhooks: Command, admin: Administration): void {
  pageOptions(webhooks.command('deliveries').description('list deliveries, newest first'))
    .option('--account <account>', 'only of this account')
    .option('--endpoint <endpoint>', 'only to this endpoint')
    .option('--task <task>', 'only about this task')
    .option('--status <status>', 'only with this status: pending, delivered or failed')
    .action(async (options: Options) => {
      const filters = { account: 'account_id', endpoint: 'endpoint_id', task: 'task_id', status: 'status' };
      await admin.list(`/webhooks/deliveries${query(options, { ...LIST_FILTERS, ...filters })}`, DELIVERY_COLUMNS);
    });
  webhooks
    .command('redeliver <delivery>')
    .description('send one delivery again')
    .action(async (delivery: string) => admin.show('POST', `/webhooks/deliveries/${delivery}/redeliver`, {}));
  webhooks
    .command('redeliver-all <endpoint>')
    .description('send the failed deliveries of an endpoint again')
    .requiredOption('--from <time>', 'events from this time on (inclusive)')
    .option('--to <time>', 'events until this time (exclusive)')
    .option('--status <status>', 'deliveries with this status instead of failed: pending or delivered')
    .action(async (endpoint: string, { from, to, status }: Options) =>
      admin.show('POST', `/webhooks/${endpoint}/redeliver`, given({ from, to, status })),
    );
}
