/** The commands of admin tokens: making, listing and revoking them, and what was done with them. */
import { type Command, Option } from 'commander';
import { ADMIN_ROLES } from '../../domain/admin-role.ts';
import { type Administration, given, LIST_FILTERS, listOptions, type Options, query } from './administration.ts';

const TOKEN_COLUMNS = ['id', 'name', 'role', 'hint', 'created_by', 'created_at', 'expires_at', 'last_used_at'];
const ACTION_COLUMNS = ['created_at', 'author', 'action', 'path', 'request_id'];

export function addAdminTokenCommands(program: Command, admin: Administration): void {
  const tokens = program.command('admin-tokens').description('tokens for administration, each with a name and a role');
  tokens
    .command('create <name>')
    .description('create a token, which is shown only once; its name is the author of what is done with it')
    .addOption(new Option('--role <role>', 'what it may do').choices(ADMIN_ROLES).makeOptionMandatory())
    .option('--expires-at <time>', 'when it stops working')
    .action(async (name: string, { role, expiresAt }: Options) =>
      admin.show('POST', '/admin-tokens', given({ name, role, expires_at: expiresAt })),
    );
  tokens
    .command('list')
    .description('list the tokens that are not revoked, newest first')
    .action(async () => admin.list('/admin-tokens', TOKEN_COLUMNS));
  tokens
    .command('revoke <token>')
    .description('revoke the token with that id, which stops working at once')
    .action(async (token: string) => admin.show('DELETE', `/admin-tokens/${token}`));
  listOptions(program.command('actions').description('list what was changed over the administration, newest first'))
    .option('--author <name>', 'only by this author')
    .action(async (options: Options) =>
      admin.list(`/admin-actions${query(options, { ...LIST_FILTERS, author: 'author' })}`, ACTION_COLUMNS),
    );
}
