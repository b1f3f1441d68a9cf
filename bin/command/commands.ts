/** What the `genway` command can do. Every command is one call of the administration endpoints. */
import type { Command } from 'commander';
import type { AdminClient } from './admin-client.ts';
import type { JsonObject } from './json.ts';
import { dataOf, describe, rowsOf, table, textOf } from './print.ts';

type Options = Readonly<Record<string, string | boolean | undefined>>;

/** @param connect is called when a command runs, so that `--help` needs no running Genway */
export function addCommands(
  program: Command,
  connect: () => Promise<AdminClient>,
  print: (text: string) => void,
): void {
  const show = (answer: JsonObject): void => print(isJson(program) ? json(answer) : describe(dataOf(answer)));
  const showList = (list: JsonObject, columns: readonly string[]): void => {
    print(isJson(program) ? json(list) : table(rowsOf(list), columns));
    if (!isJson(program) && list['next_cursor']) print(`more: --cursor ${textOf(list['next_cursor'])}`);
  };

  const accounts = program.command('accounts').description('accounts and their money');
  accounts
    .command('create <name>')
    .description('make an account')
    .option('--signup-credit <usd>', 'credit that pays for the free list')
    .action(async (name: string, options: Options) => {
      show(
        await (await connect()).call('POST', '/accounts', given({ name, signup_credit_usd: options['signupCredit'] })),
      );
    });
  accounts
    .command('show <account>')
    .description('balances and totals')
    .action(async (account: string) => show(await (await connect()).call('GET', `/accounts/${account}`)));
  accounts
    .command('top-up <account> <usd>')
    .description('credit money, once for each reference')
    .requiredOption('--reference <text>', 'names the payment')
    .action(async (account: string, usd: string, { reference }: Options) => {
      show(await (await connect()).call('POST', `/accounts/${account}/topups`, { amount_usd: usd, reference }));
    });
  accounts
    .command('adjust <account> <usd>')
    .description('correct a balance by a new transfer; a negative amount takes')
    .requiredOption('--reason <text>', 'why')
    .option('--author <name>', 'who')
    .action(async (account: string, usd: string, { reason, author }: Options) => {
      const body = given({ amount_usd: usd, reason, author });
      show(await (await connect()).call('POST', `/accounts/${account}/adjustments`, body));
    });
  listOptions(accounts.command('ledger <account>').description('transfers, newest first'))
    .option('--csv', 'for a spreadsheet')
    .action(async (account: string, options: Options) => {
      const path = `/accounts/${account}/ledger${query(options, LIST_FILTERS)}`;
      const admin = await connect();
      if (options['csv']) print((await admin.text(path, 'text/csv')).trimEnd());
      else showList(await admin.call('GET', path), LEDGER_COLUMNS);
    });

  const keys = program.command('keys').description('API keys');
  keyOptions(keys.command('create <account>').description('make a key; it is shown once')).action(
    async (account: string, options: Options) => {
      show(await (await connect()).call('POST', `/accounts/${account}/keys`, keySettings(options)));
    },
  );
  keyOptions(keys.command('update <key>').description('change limits, disable or enable'))
    .option('--disable', 'refuse the key for now')
    .option('--enable', 'take it again')
    .action(async (key: string, options: Options) => {
      const disabled = options['disable'] ? true : options['enable'] ? false : undefined;
      show(await (await connect()).call('PATCH', `/keys/${key}`, { ...keySettings(options), ...given({ disabled }) }));
    });
  keys
    .command('delete <key>')
    .description('make the key stop working at once')
    .action(async (key: string) => show(await (await connect()).call('DELETE', `/keys/${key}`)));

  const tasks = program.command('tasks').description('media tasks of all accounts');
  listOptions(tasks.command('list').description('newest first'))
    .option('--account <account>', 'of one account')
    .option('--status <status>', 'queued, processing, succeeded or failed')
    .option('--model <model>', 'of one model')
    .action(async (options: Options) => {
      const path = `/tasks${query(options, { ...LIST_FILTERS, account: 'account_id', status: 'status', model: 'model' })}`;
      showList(await (await connect()).call('GET', path), TASK_COLUMNS);
    });
  tasks
    .command('show <task>')
    .description('one task, with the link to its history')
    .action(async (task: string) => show(await (await connect()).call('GET', `/tasks/${task}`)));
  tasks
    .command('explain <task>')
    .description('the story of one task, from its row, the ledger, its deliveries and its workflow')
    .action(async (task: string) => {
      const path = `/tasks/${task}/explanation`;
      const admin = await connect();
      print(isJson(program) ? json(await admin.call('GET', path)) : (await admin.text(path, 'text/plain')).trimEnd());
    });
  for (const [action, description] of Object.entries(TASK_ACTIONS)) {
    tasks
      .command(`${action} <task>`)
      .description(description)
      .requiredOption('--reason <text>', 'why; kept in the log of operator actions')
      .option('--author <name>', 'who')
      .action(async (task: string, { reason, author }: Options) => {
        show(await (await connect()).call('POST', `/tasks/${task}/${action}`, given({ reason, author })));
      });
  }
}

const TASK_ACTIONS: Readonly<Record<string, string>> = {
  cancel: 'end a task as failed, and give its price back',
  redeliver: 'send the events of a task again',
};

const LEDGER_COLUMNS = [
  'created_at',
  'kind',
  'amount_usd',
  'released_usd',
  'task_id',
  'text_request_id',
  'reference',
  'id',
];
const TASK_COLUMNS = ['id', 'account_id', 'model', 'status', 'usage.credits_charged', 'error_code'];

/** The query parameter of each option. */
const LIST_FILTERS: Readonly<Record<string, string>> = { from: 'from', to: 'to', limit: 'limit', cursor: 'cursor' };

function listOptions(command: Command): Command {
  return command
    .option('--from <time>', 'from this time on')
    .option('--to <time>', 'before this time')
    .option('--limit <count>', 'how many at most')
    .option('--cursor <cursor>', 'continue after an earlier page');
}

function keyOptions(command: Command): Command {
  return command
    .option('--name <name>', 'for people')
    .option('--usage-limit <usd>', 'what the key may spend in all')
    .option('--models <ids>', 'the models it may call, with commas')
    .option('--ip-allowlist <addresses>', 'where it may be used from, with commas')
    .option('--expires-at <time>', 'when it stops working')
    .option('--rate-limit <count>', 'requests a minute');
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

function query(options: Options, names: Readonly<Record<string, string>>): string {
  const parameters = new URLSearchParams();
  for (const [option, name] of Object.entries(names)) {
    const value = options[option];
    if (typeof value === 'string') parameters.set(name, value);
  }
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}

function given(fields: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function isJson(program: Command): boolean {
  return program.opts<{ json?: boolean }>().json === true;
}

function json(value: JsonObject): string {
  return JSON.stringify(value, null, 2);
}
