/** The subcommands for finance: balances, credits, ledgers, statements, usage, refunds and reconciliations. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { isObject } from '../../domain/json.ts';
import { CommandError } from './admin-client.ts';
import { type Json, type Fields } from './json.ts';
import { dataOf, rowsOf, table, textOf } from './print.ts';
import {
  type Administration,
  AUTHOR,
  exportOptions,
  given,
  LIST_FILTERS,
  listOptions,
  type Options,
  pageOptions,
  PERIOD_FILTERS,
  periodOptions,
  query,
} from './administration.ts';

export function addFinanceCommands(program: Command, accounts: Command, admin: Administration): void {
  addBalanceCommands(accounts, admin);
  addCreditCommands(program, accounts, admin);
  addStatementCommands(accounts, admin);
  addUsageCommands(accounts, admin);
  addRefundCommand(program, admin);
  addMonthCommands(program, admin);
  addReconciliationCommands(program, admin);
}

function addBalanceCommands(accounts: Command, admin: Administration): void {
  accounts
    .command('show <account>')
    .alias('balance')
    .description('show balances and totals')
    .action(async (account: string) => admin.show('GET', `/accounts/${account}`));
  accounts
    .command('top-up <account> <usd>')
    .description('credit a payment, once per reference')
    .requiredOption('--reference <text>', 'identifies the payment')
    .action(async (account: string, usd: string, { reference }: Options) =>
      admin.show('POST', `/accounts/${account}/topups`, { amount_usd: usd, reference }),
    );
  accounts
    .command('adjust <account> <usd>')
    .description('correct a balance with a new transfer; a negative amount reduces it')
    .requiredOption('--reason <text>', 'why; recorded in the ledger')
    .option(...AUTHOR)
    .action(async (account: string, usd: string, { reason, author }: Options) =>
      admin.show('POST', `/accounts/${account}/adjustments`, given({ amount_usd: usd, reason, author })),
    );
}

const PROMO_COLUMNS = ['id', 'amount_usd', 'available_usd', 'reserved_usd', 'spent_usd', 'expired_usd', 'expires_at'];

function addCreditCommands(program: Command, accounts: Command, admin: Administration): void {
  program
    .command('credit <account> <usd>')
    .description('give credit by hand: funded credit, or with --promo credit that expires')
    .requiredOption('--reason <text>', 'why; recorded with the credit')
    .option('--promo', 'credit that can be spent until --expires, and is spent first')
    .option('--expires <time>', 'with --promo: until when, such as 2027-01-31T00:00:00Z')
    .option('--reference <text>', 'with --promo: identifies the grant, which an account is given once')
    .option(...AUTHOR)
    .action(async (account: string, usd: string, { promo, expires, reference, reason, author }: Options) => {
      const body = { amount_usd: usd, reason, author };
      if (promo !== true) {
        if (expires !== undefined)
          throw new CommandError('Only promo credit expires: add --promo, or leave --expires.');
        return admin.show('POST', `/accounts/${account}/adjustments`, given(body));
      }
      if (expires === undefined || reference === undefined)
        throw new CommandError('Promo credit needs --expires and --reference.');
      const grant = given({ ...body, expires_at: expires, reference });
      await admin.show('POST', `/accounts/${account}/promo-grants`, grant);
    });
  pageOptions(accounts.command('promo <account>'))
    .description('list the promo credit of an account, newest first')
    .action(async (account: string, options: Options) =>
      admin.list(`/accounts/${account}/promo-grants${query(options, LIST_FILTERS)}`, PROMO_COLUMNS),
    );
}

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
const STATEMENT_COLUMNS = ['line', 'transfers', 'available_usd', 'reserved_usd', 'total_usd'];

function addStatementCommands(accounts: Command, admin: Administration): void {
  exportOptions(listOptions(accounts.command('ledger <account>')))
    .description('list transfers: a page, newest first, or with --csv or --ndjson all of them, oldest first')
    .action(async (account: string, options: Options) =>
      admin.exportOrList(`/accounts/${account}/ledger${query(options, LIST_FILTERS)}`, options, LEDGER_COLUMNS),
    );
  exportOptions(accounts.command('statement <account>'))
    .description('show the opening balance, activity and closing balance of a day or month')
    .option('--date <day>', 'the day in UTC, such as 2026-11-30 (default: today)')
    .option('--month <month>', 'the month in UTC, such as 2026-11, instead of a day')
    .action(async (account: string, options: Options) => {
      const day = new Date().toISOString().slice(0, 10);
      const period = options['month'] === undefined ? { date: day, ...options } : options;
      const path = `/accounts/${account}/statements${query(period, { date: 'date', month: 'month' })}`;
      if (await admin.exportAll(path, options)) return;
      const answer = await admin.call('GET', path);
      if (admin.isJson()) return admin.showJson(answer);
      admin.print(table(linesOf(dataOf(answer)), STATEMENT_COLUMNS));
    });
}

function linesOf({ opening, activity, closing }: Fields): readonly Fields[] {
  const changes = rowsOf({ data: activity ?? [] }).map((row) => ({ line: row['kind'] ?? null, ...row }));
  return [booksAt('opening', opening), ...changes, booksAt('closing', closing)];
}

function booksAt(line: string, books: Json | undefined): Fields {
  return { line, ...(isObject(books) && books) };
}

const USAGE_COLUMNS = [
  'date',
  'kind',
  'model',
  'api_key_id',
  'requests',
  'failed',
  'input_tokens',
  'output_tokens',
  'billable_duration_seconds',
  'charged_usd',
];
const REQUEST_COLUMNS = [
  'id',
  'model',
  'format',
  'upstream',
  'outcome',
  'input_tokens',
  'cache_read_tokens',
  'output_tokens',
  'charged_usd',
  'estimated',
  'latency_ms',
];

function addMonthCommands(program: Command, admin: Administration): void {
  const months = program.command('months').description('months of all accounts: exporting and closing them');
  months
    .command('export <month>')
    .description('print everything that is booked in a month, such as 2026-10: JSON lines, or CSV with --csv')
    .option('--csv', 'print CSV, for a spreadsheet')
    .action(async (month: string, { csv }: Options) => {
      const format = csv === true ? { csv } : { ndjson: true };
      await admin.exportAll(`/months/${encodeURIComponent(month)}/export`, format);
    });
  months
    .command('close <month>')
    .description('close a month: corrections are booked in the open month from then on')
    .option(...AUTHOR)
    .action(async (month: string, { author }: Options) =>
      admin.show('POST', `/months/${encodeURIComponent(month)}/close`, given({ author })),
    );
  months
    .command('list')
    .description('list the closed months')
    .action(async () => admin.list('/months', MONTH_COLUMNS));
}

const MONTH_COLUMNS = ['month', 'closed_at', 'author', 'transfers', 'revenue_usd', 'checksum'];

function addUsageCommands(accounts: Command, admin: Administration): void {
  exportOptions(periodOptions(accounts.command('usage <account>')))
    .description('show usage by day, model and key (default: the last 30 days)')
    .action(async (account: string, options: Options) =>
      admin.exportOrList(`/accounts/${account}/usage${query(options, PERIOD_FILTERS)}`, options, USAGE_COLUMNS),
    );
  exportOptions(listOptions(accounts.command('requests <account>')))
    .description('list text requests with routes, tokens and charges, newest first')
    .option('--key <key>', 'only with this key')
    .option('--model <model>', 'only to this model')
    .action(async (account: string, options: Options) => {
      const filters = { ...LIST_FILTERS, key: 'api_key_id', model: 'model' };
      await admin.exportOrList(
        `/accounts/${account}/usage/requests${query(options, filters)}`,
        options,
        REQUEST_COLUMNS,
      );
    });
}

const REFUND_COLUMNS = ['created_at', 'account_id', 'amount_usd', 'model', 'cause', 'task_id', 'text_request_id'];

function addRefundCommand(program: Command, admin: Administration): void {
  exportOptions(listOptions(program.command('refunds')))
    .description('list refunds and their reasons, newest first')
    .option('--account <account>', 'only of this account')
    .action(async (options: Options) =>
      admin.exportOrList(
        `/refunds${query(options, { ...LIST_FILTERS, account: 'account_id' })}`,
        options,
        REFUND_COLUMNS,
      ),
    );
}

const RECONCILIATION_COLUMNS = ['id', 'status', 'findings_total', 'requested_by', 'created_at', 'finished_at'];
const CHECK_COLUMNS = ['check', 'findings', 'duration_ms', 'question'];
const POLL_MS = 500;

function addReconciliationCommands(program: Command, admin: Administration): void {
  program
    .command('reconcile')
    .description('compare the books with each other and with Temporal; exits with code 1 if they disagree')
    .option('--no-wait', 'do not wait for the report')
    .action(async ({ wait }: Options) => {
      if (wait === false) return admin.show('POST', '/reconciliations');
      const begun = await admin.call('POST', '/reconciliations');
      showReconciliation(await reportOf(admin, textOf(dataOf(begun)['id'])), admin);
    });

  const reconciliations = program.command('reconciliations').description('the reports of reconciliations');
  reconciliations
    .command('list', { isDefault: true })
    .description('list reports, newest first')
    .option('--limit <count>', 'the maximum number of rows')
    .option('--cursor <cursor>', 'continue after a previous page')
    .action(async (options: Options) =>
      admin.list(`/reconciliations${query(options, { limit: 'limit', cursor: 'cursor' })}`, RECONCILIATION_COLUMNS),
    );
  reconciliations
    .command('acknowledge <reconciliation> <findings...>')
    .description(
      'say why findings that nobody can remedy stay as they are: by their numbers in the report, such as 1 2',
    )
    .requiredOption('--reason <text>', 'why; kept with the month that is closed')
    .option('--author <name>', 'who; by default whose admin token it is')
    .action(async (id: string, findings: readonly string[], { reason, author }: Options) => {
      const path = `/reconciliations/${encodeURIComponent(id)}/acknowledgements`;
      const body = given({ findings: findings.map(Number), reason, author });
      const answer = await admin.call('POST', path, body);
      if (admin.isJson()) admin.showJson(answer);
      else showReport(dataOf(answer), admin);
    });
  exportOptions(reconciliations.command('show <reconciliation>'))
    .description(
      'show the checks and findings of a report; exits with code 1 if there are findings that nobody has acknowledged',
    )
    .action(async (id: string, options: Options) => {
      const path = `/reconciliations/${id}`;
      if (await admin.exportAll(path, options)) return;
      showReconciliation(await admin.call('GET', path), admin);
    });
}

/** Waits for the report until the command is interrupted. */
async function reportOf(admin: Administration, id: string): Promise<Fields> {
  for (;;) {
    const answer = await admin.call('GET', `/reconciliations/${id}`);
    if (dataOf(answer)['status'] !== 'running') return answer;
    await sleep(POLL_MS);
  }
}

/** @throws CommandError when there are findings that nobody has acknowledged */
function showReconciliation(answer: Fields, admin: Administration): void {
  const reconciliation = dataOf(answer);
  if (admin.isJson()) admin.showJson(answer);
  else showReport(reconciliation, admin);
  const findings = rowsOf({ data: reconciliation['findings'] ?? [] });
  const open = Number(reconciliation['findings_total']) - findings.filter(isAcknowledged).length;
  if (open > 0) throw new CommandError(`The books disagree. Findings: ${open}.`);
}

function showReport(reconciliation: Fields, { print }: Pick<Administration, 'print'>): void {
  print(table(rowsOf({ data: reconciliation['checks'] ?? [] }), CHECK_COLUMNS));
  for (const [index, finding] of rowsOf({ data: reconciliation['findings'] ?? [] }).entries()) {
    const { check, subject, detail, remedy, acknowledgement } = finding;
    print(`\n${index + 1}. ${textOf(check)}: ${textOf(subject)}\n  ${textOf(detail)}\n  To do: ${textOf(remedy)}`);
    if (!isObject(acknowledgement)) continue;
    const { state, author, reason } = acknowledgement;
    const words = state === 'confirmed' ? 'Acknowledged by' : 'Waits for a second person; acknowledged by';
    print(`  ${words} ${textOf(author)}: ${textOf(reason)}`);
  }
  print(`\n${textOf(reconciliation['id'])}: ${textOf(reconciliation['status'])}`);
}

function isAcknowledged({ acknowledgement }: Fields): boolean {
  return isObject(acknowledgement) && acknowledgement['state'] === 'confirmed';
}
