/** The commands for API keys. */
import type { Command } from 'commander';
import { unlessNegated } from './accounts.ts';
import { type Administration, given, LIST_FILTERS, type Options, pageOptions, query } from './administration.ts';

const COLUMNS = ['id', 'name', 'hint', 'used_usd', 'usage_limit_usd', 'models', 'disabled', 'expires_at', 'created_at'];

export function addKeyCommands(program: Command, admin: Administration): void {
  const keys = program.command('keys').description('API keys');
  limitOptions(keys.command('create <account>').description('create a key, which is shown only once')).action(
    async (account: string, options: Options) => admin.show('POST', `/accounts/${account}/keys`, settings(options)),
  );
  pageOptions(keys.command('list <account>').description('list the keys of an account, newest first')).action(
    async (account: string, options: Options) =>
      admin.list(`/accounts/${account}/keys${query(options, LIST_FILTERS)}`, COLUMNS),
  );
  keys
    .command('show <key>')
    .description('show a key with its limits and what it used')
    .action(async (key: string) => admin.show('GET', `/keys/${key}`));
  limitOptions(keys.command('update <key>').description('change or remove limits, disable or enable'))
    .option('--no-usage-limit', 'let it spend without a limit of its own')
    .option('--no-models', 'let it use all models')
    .option('--no-ip-allowlist', 'let it be used from every address')
    .option('--no-expires-at', 'let it work for good')
    .option('--no-rate-limit', 'go back to the default')
    .option('--disable', 'refuse requests with this key until it is enabled')
    .option('--enable', 'accept the key again')
    .action(async (key: string, options: Options) => {
      const disabled = options['disable'] ? true : options['enable'] ? false : undefined;
      await admin.show('PATCH', `/keys/${key}`, { ...settings(options), ...given({ disabled }) });
    });
  keys
    .command('delete <key>')
    .description('delete the key, which stops working at once')
    .action(async (key: string) => admin.show('DELETE', `/keys/${key}`));
}

function limitOptions(command: Command): Command {
  return command
    .option('--name <name>', 'a name, for people')
    .option('--usage-limit <usd>', 'how much the key may spend in total')
    .option('--models <ids>', 'the models it may use, separated by commas')
    .option('--ip-allowlist <addresses>', 'the addresses from which it may be used, separated by commas')
    .option('--expires-at <time>', 'when it stops working')
    .option('--rate-limit <count>', 'requests per minute');
}

function settings({ name, usageLimit, models, ipAllowlist, expiresAt, rateLimit }: Options): object {
  return given({
    name,
    usage_limit_usd: unlessNegated(usageLimit),
    models: unlessNegated(models, toList),
    ip_allowlist: unlessNegated(ipAllowlist, toList),
    expires_at: unlessNegated(expiresAt),
    rate_limit_rpm: unlessNegated(rateLimit, Number),
  });
}

function toList(text: string): readonly string[] {
  return text.split(',');
}
