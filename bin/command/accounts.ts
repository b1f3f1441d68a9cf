/** The commands for accounts: who the customers are, and whether their keys work. */
import type { Command } from 'commander';
import {
  type Administration,
  AUTHOR,
  given,
  LIST_FILTERS,
  type Options,
  pageOptions,
  query,
} from './administration.ts';

const COLUMNS = [
  'id',
  'name',
  'email',
  'external_id',
  'balances.available_usd',
  'topped_up',
  'suspended',
  'created_at',
];

/** @returns the command to which those for the money of accounts are added */
export function addAccountCommands(program: Command, admin: Administration): Command {
  const accounts = program.command('accounts').description('accounts, their keys and their balances');
  detailOptions(accounts.command('create <name>').description('create an account'))
    .option('--signup-credit <usd>', 'credit that pays only for models on the free list')
    .action(async (name: string, options: Options) =>
      admin.show('POST', '/accounts', given({ name, ...details(options), signup_credit_usd: options['signupCredit'] })),
    );
  pageOptions(accounts.command('list [search]'))
    .description('list accounts, newest first, or those whose name, e-mail address or external id contains a text')
    .option('--email <address>', 'only with this e-mail address')
    .option('--external-id <id>', 'only the account with this external id')
    .option('--suspended', 'only those that are suspended')
    .action(async (search: string | undefined, options: Options) => {
      const filters = {
        ...LIST_FILTERS,
        search: 'search',
        email: 'email',
        externalId: 'external_id',
        only: 'suspended',
      };
      const only = options['suspended'] === true ? 'true' : undefined;
      await admin.list(`/accounts${query({ ...options, search, only }, filters)}`, COLUMNS);
    });
  addChanges(accounts, admin);
  return accounts;
}

function addChanges(accounts: Command, admin: Administration): void {
  detailOptions(accounts.command('update <account>').description('edit an account'))
    .option('--name <name>', 'a name, for people')
    .option('--no-email', 'take the e-mail address away')
    .option('--no-external-id', 'take the external id away')
    .option('--no-max-concurrent-tasks', 'go back to the default')
    .option(...AUTHOR)
    .action(async (account: string, options: Options) =>
      admin.show(
        'PATCH',
        `/accounts/${account}`,
        given({ name: options['name'], ...details(options), author: options['author'] }),
      ),
    );
  accounts
    .command('suspend <account>')
    .description('stop all keys of the account at once; what is under way goes on')
    .requiredOption('--reason <text>', 'why; recorded in the log of operator actions')
    .option(...AUTHOR)
    .action(async (account: string, { reason, author }: Options) =>
      admin.show('POST', `/accounts/${account}/suspend`, given({ reason, author })),
    );
  accounts
    .command('reopen <account>')
    .description('let the keys of a suspended account work again')
    .option('--reason <text>', 'why; recorded in the log of operator actions')
    .option(...AUTHOR)
    .action(async (account: string, { reason, author }: Options) =>
      admin.show('POST', `/accounts/${account}/reopen`, given({ reason, author })),
    );
}

function detailOptions(command: Command): Command {
  return command
    .option('--email <address>', 'where people of the account are written to')
    .option('--external-id <id>', 'what another system calls the customer')
    .option('--max-concurrent-tasks <count>', 'tasks that may run at once');
}

/** An option that was negated, such as `--no-email`, takes the detail away. */
function details({ email, externalId, maxConcurrentTasks }: Options): Readonly<Record<string, unknown>> {
  return {
    email: unlessNegated(email),
    external_id: unlessNegated(externalId),
    max_concurrent_tasks: unlessNegated(maxConcurrentTasks, Number),
  };
}

/** The value of an option in a body: null when it was negated, undefined when it is absent. */
export function unlessNegated<Value = string>(
  option: string | boolean | undefined,
  convert?: (text: string) => Value,
): Value | string | null | undefined {
  if (option === false) return null;
  if (typeof option !== 'string') return undefined;
  return convert ? convert(option) : option;
}
