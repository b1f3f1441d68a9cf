/** The subcommands of `genway` that call the administration endpoints. */
import type { Command } from 'commander';
import type { AdminClient } from './admin-client.ts';
import { addAdminTokenCommands } from './admin-tokens.ts';
import { addFinanceCommands } from './finance.ts';
import { addModelCommands } from './models.ts';
import { addMarginCommands } from './margins.ts';
import { addUpstreamCommands } from './upstreams.ts';
import { createReport, given, LIST_FILTERS, listOptions, type Options, query, type Terminal } from './report.ts';

/** @param connect is called when a command runs, so that `--help` needs no running Genway */
export function addCommands(program: Command, connect: () => Promise<AdminClient>, terminal: Terminal): void {
  const report = createReport(terminal, () => program.opts<{ json?: boolean }>().json === true);
  const { show, showList, showText } = report;

  const accounts = program.command('accounts').description('accounts and their balances');
  accounts
    .command('create <name>')
    .description('create an account')
    .option('--signup-credit <usd>', 'credit that pays only for models on the free list')
    .action(async (name: string, options: Options) => {
      show(
        await (await connect()).call('POST', '/accounts', given({ name, signup_credit_usd: options['signupCredit'] })),
      );
    });
  addFinanceCommands(program, accounts, connect, report);

  addUpstreamCommands(program, connect, report);
  addModelCommands(program, connect, report);
  addMarginCommands(program, connect, report);
  addAdminTokenCommands(program, connect, report);

  const keys = program.command('keys').description('API keys');
  keyOptions(keys.command('create <account>').description('create a key, which is shown only once')).action(
    async (account: string, options: Options) => {
      show(await (await connect()).call('POST', `/accounts/${account}/keys`, keySettings(options)));
    },
  );
  keyOptions(keys.command('update <key>').description('change limits, disable or enable'))
    .option('--disable', 'refuse requests with this key until it is enabled')
    .option('--enable', 'accept the key again')
    .action(async (key: string, options: Options) => {
      const disabled = options['disable'] ? true : options['enable'] ? false : undefined;
      show(await (await connect()).call('PATCH', `/keys/${key}`, { ...keySettings(options), ...given({ disabled }) }));
    });
  keys
    .command('delete <key>')
    .description('delete the key, which stops working at once')
    .action(async (key: string) => show(await (await connect()).call('DELETE', `/keys/${key}`)));

  const tasks = program.command('tasks').description('media tasks of all accounts');
  listOptions(tasks.command('list').description('list tasks, newest first'))
    .option('--account <account>', 'only of this account')
    .option('--status <status>', 'only with this status: queued, processing, succeeded or failed')
    .option('--model <model>', 'only for this model')
    .action(async (options: Options) => {
      const path = `/tasks${query(options, { ...LIST_FILTERS, account: 'account_id', status: 'status', model: 'model' })}`;
      showList(await (await connect()).call('GET', path), TASK_COLUMNS);
    });
  tasks
    .command('show <task>')
    .description('show a task, with a link to its history')
    .action(async (task: string) => show(await (await connect()).call('GET', `/tasks/${task}`)));
  tasks
    .command('explain <task>')
    .description('show everything that happened to a task, from its row, the ledger, its deliveries and its workflow')
    .action(async (task: string) => {
      await showText(await connect(), `/tasks/${task}/explanation`);
    });
  for (const [action, description] of Object.entries(TASK_ACTIONS)) {
    tasks
      .command(`${action} <task>`)
      .description(description)
      .requiredOption('--reason <text>', 'why; recorded in the log of operator actions')
      .option('--author <name>', 'who; by default whose admin token it is')
      .action(async (task: string, { reason, author }: Options) => {
        show(await (await connect()).call('POST', `/tasks/${task}/${action}`, given({ reason, author })));
      });
  }
}

const TASK_ACTIONS: Readonly<Record<string, string>> = {
  cancel: 'end a task as failed and refund its price',
  redeliver: 'send the webhook events of a task again',
};

const TASK_COLUMNS = ['id', 'account_id', 'model', 'status', 'usage.credits_charged', 'error_code'];

function keyOptions(command: Command): Command {
  return command
    .option('--name <name>', 'a name, for people')
    .option('--usage-limit <usd>', 'how much the key may spend in total')
    .option('--models <ids>', 'the models it may use, separated by commas')
    .option('--ip-allowlist <addresses>', 'the addresses from which it may be used, separated by commas')
    .option('--expires-at <time>', 'when it stops working')
    .option('--rate-limit <count>', 'requests per minute');
}

function keySettings(options: Options): object {
  const { name, usageLimit, models, ipAllowlist, expiresAt, rateLimit } = options;
  return given({
    name,
    usage_limit_usd: usageLimit,
    models: typeof models === 'string' ? models.split(',') : undefined,
    ip_allowlist: typeof ipAllowlist === 'string' ? ipAllowlist.split(',') : undefined,
    expires_at: expiresAt,
    rate_limit_rpm: rateLimit === undefined ? undefined : Number(rateLimit),
  });
}
