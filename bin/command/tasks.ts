/** The commands for media tasks of all accounts. */
import type { Command } from 'commander';
import {
  type Administration,
  AUTHOR,
  given,
  LIST_FILTERS,
  listOptions,
  type Options,
  query,
} from './administration.ts';

export function addTaskCommands(program: Command, admin: Administration): void {
  const tasks = program.command('tasks').description('media tasks of all accounts');
  const list = listOptions(tasks.command('list').description('list tasks, newest first'))
    .option('--account <account>', 'only of this account')
    .option('--status <status>', 'only with this status: queued, processing, succeeded or failed')
    .option('--model <model>', 'only for this model');
  promptOptions(list).action(async (options: Options) => {
    const filters = { ...LIST_FILTERS, ...PROMPT_FILTERS, account: 'account_id', status: 'status', model: 'model' };
    const columns = options['prompts'] === true ? [...TASK_COLUMNS, 'prompt'] : TASK_COLUMNS;
    await admin.list(`/tasks${query(asTexts(options), filters)}`, columns);
  });
  promptOptions(tasks.command('show <task>').description('show a task, with a link to its history')).action(
    async (task: string, options: Options) =>
      admin.show('GET', `/tasks/${task}${query(asTexts(options), PROMPT_FILTERS)}`),
  );
  tasks
    .command('explain <task>')
    .description('show everything that happened to a task, from its row, the ledger, its deliveries and its workflow')
    .action(async (task: string) => admin.showText(`/tasks/${task}/explanation`));
  for (const [action, description] of Object.entries(TASK_ACTIONS)) {
    tasks
      .command(`${action} <task>`)
      .description(description)
      .requiredOption('--reason <text>', 'why; recorded in the log of operator actions')
      .option(...AUTHOR)
      .action(async (task: string, { reason, author }: Options) =>
        admin.show('POST', `/tasks/${task}/${action}`, given({ reason, author })),
      );
  }
}

const TASK_ACTIONS: Readonly<Record<string, string>> = {
  cancel: 'end a task as failed and refund its price',
  redeliver: 'send the webhook events of a task again',
};

const TASK_COLUMNS = [
  'id',
  'account_id',
  'model',
  'status',
  'created_at',
  'completed_at',
  'usage.credits_charged',
  'error_code',
];

const PROMPT_FILTERS: Readonly<Record<string, string>> = { prompts: 'prompts', reason: 'reason', author: 'author' };

function promptOptions(command: Command): Command {
  return command
    .option('--prompts', 'show prompts, too, which is recorded; needs --reason')
    .option('--reason <text>', 'why you read the prompts')
    .option('--author <name>', 'who reads them; by default whose admin token it is');
}

/** With the options that were merely set written out, as a query has them. */
function asTexts(options: Options): Options {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, value === true ? 'true' : value]));
}
