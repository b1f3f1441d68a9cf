/** The commands for the people who sign in to the console. */
import { type Command, Option } from 'commander';
import { ADMIN_ROLES } from '../../domain/admin-role.ts';
import { MEMBER_ROLES } from '../../domain/member-role.ts';
import { unlessNegated } from './accounts.ts';
import { type Administration, given, LIST_FILTERS, type Options, pageOptions, query } from './administration.ts';

const COLUMNS = ['id', 'email', 'name', 'staff_role', 'has_password', 'has_second_factor', 'disabled_at', 'created_at'];

export function addUserCommands(program: Command, admin: Administration): void {
  const users = program.command('users').description('people who sign in to the console');
  users
    .command('invite <email> <name>')
    .description('invite somebody, and print the link where they choose a password')
    .option('--account <account>', 'an account that they belong to')
    .addOption(new Option('--role <role>', 'what they may do in it (default: owner)').choices(MEMBER_ROLES))
    .addOption(staffRole())
    .action(async (email: string, name: string, options: Options) => {
      const { account, role, staffRole: staff_role } = options;
      await admin.show('POST', '/users', given({ email, name, account_id: account, member_role: role, staff_role }));
    });
  pageOptions(users.command('list [search]'))
    .description('list users, newest first, or those whose name or e-mail address contains a text')
    .option('--account <account>', 'only members of this account')
    .option('--staff', 'only staff of the gateway')
    .option('--disabled', 'only those who are disabled')
    .action(async (search: string | undefined, options: Options) => {
      const only = { staff: whenSet(options['staff']), disabled: whenSet(options['disabled']) };
      const filters = {
        ...LIST_FILTERS,
        search: 'search',
        account: 'account_id',
        staff: 'staff',
        disabled: 'disabled',
      };
      await admin.list(`/users${query({ ...options, search, ...only }, filters)}`, COLUMNS);
    });
  users
    .command('show <user>')
    .description('show a user with their accounts')
    .action(async (user: string) => admin.show('GET', `/users/${user}`));
  users
    .command('link <user>')
    .description('print a new link where a user chooses a password: it works once, for three days')
    .action(async (user: string) => admin.show('POST', `/users/${user}/links`));
  addChanges(users, admin);
}

function addChanges(users: Command, admin: Administration): void {
  users
    .command('update <user>')
    .description('edit, disable or enable a user')
    .option('--name <name>', 'a name, for people')
    .addOption(staffRole())
    .option('--no-staff-role', 'make them a customer')
    .option('--disable', 'sign them out at once, and keep them out until they are enabled')
    .option('--enable', 'let them sign in again')
    .option('--no-second-factor', 'take the second factor away from somebody who lost the authenticator app')
    .action(async (user: string, { name, staffRole: role, disable, enable, secondFactor }: Options) => {
      const disabled = disable ? true : enable ? false : undefined;
      const second_factor = secondFactor === false ? null : undefined;
      await admin.show(
        'PATCH',
        `/users/${user}`,
        given({ name, staff_role: unlessNegated(role), disabled, second_factor }),
      );
    });
  users
    .command('join <user> <account>')
    .description('make a user a member of an account, or change their role in it')
    .addOption(new Option('--role <role>', 'what they may do in it').choices(MEMBER_ROLES).makeOptionMandatory())
    .action(async (user: string, account: string, { role }: Options) =>
      admin.show('POST', `/users/${user}/accounts`, { account_id: account, role }),
    );
  users
    .command('leave <user> <account>')
    .description('take an account away from a user, at once')
    .action(async (user: string, account: string) => admin.show('DELETE', `/users/${user}/accounts/${account}`));
  users
    .command('remove <user>')
    .description('delete a user, who is signed out at once')
    .action(async (user: string) => admin.show('DELETE', `/users/${user}`));
}

function staffRole(): Option {
  return new Option('--staff-role <role>', 'what they may do as staff of the gateway').choices(ADMIN_ROLES);
}

/** A flag that was set, as the query takes it. */
function whenSet(flag: Options[string]): string | undefined {
  return flag === true ? 'true' : undefined;
}
