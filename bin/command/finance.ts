/** The commands of finance: balances, top-ups, adjustments, ledgers, statements, usage, refunds and reconciliations. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { isObject } from '../../domain/json.ts';
import { type AdminClient, CommandError } from './admin-client.ts';
import { type Json, type Fields } from './json.ts';
import { dataOf, rowsOf, table, textOf } from './print.ts';
import {
  exportOptions,
  LIST_FILTERS,
  listOptions,
  type Options,
  PERIOD_FILTERS,
  periodOptions,
  query,
  type Report,
} from './report.ts';

type Connect = () => Promise<AdminClient>;

export function addFinanceCommands(program: Command, accounts: Command, connect: Connect, report: Report): void {
  addBalanceCommands(accounts, connect, report);
  addStatementCommands(accounts, connect, report);
  addUsageCommands(accounts, connect, report);
  addRefundCommand(program, connect, report);
  addReconciliationCommands(program, connect, report);
}

function addBalanceCommands(accounts: Command, connect: Connect, { show }: Report): void {
  accounts
    .command('show <account>')
    .alias('balance')
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
    .requiredOption('--reason <text>', 'why; kept in the ledger')
    .requiredOption('--author <name>', 'who; kept in the ledger')
    .action(async (account: string, usd: string, { reason, author }: Options) => {
      const body = { amount_usd: usd, reason, author };
      show(await (await connect()).call('POST', `/accounts/${account}/adjustments`, body));
    });
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

function addStatementCommands(accounts: Command, connect: Connect, report: Report): void {
  exportOptions(listOptions(accounts.command('ledger <account>')))
    .description('transfers: a page, newest first; or all of them, oldest first')
    .action(async (account: string, options: Options) => {
      const path = `/accounts/${account}/ledger${query(options, LIST_FILTERS)}`;
      const admin = await connect();
      if (await report.exportAll(admin, path, options)) return;
      report.showList(await admin.call('GET', path), LEDGER_COLUMNS);
    });
  exportOptions(accounts.command('statement <account>'))
    .description('what a day began with, what happened, and what it ended with')
    .option('--date <day>', 'the day in UTC, such as 2026-11-30; today when omitted')
    .action(async (account: string, options: Options) => {
      const day = new Date().toISOString().slice(0, 10);
      const path = `/accounts/${account}/statements${query({ date: day, ...options }, { date: 'date' })}`;
      const admin = await connect();
      if (await report.exportAll(admin, path, options)) return;
      const answer = await admin.call('GET', path);
      if (report.isJson()) return report.showJson(answer);
      report.print(table(linesOf(dataOf(answer)), STATEMENT_COLUMNS));
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

function addUsageCommands(accounts: Command, connect: Connect, report: Report): void {
  exportOptions(periodOptions(accounts.command('usage <account>')))
    .description('what was used, by day, model and key; the last 30 days when nothing else is said')
    .action(async (account: string, options: Options) => {
      const path = `/accounts/${account}/usage${query(options, PERIOD_FILTERS)}`;
      const admin = await connect();
      if (await report.exportAll(admin, path, options)) return;
      report.showList(await admin.call('GET', path), USAGE_COLUMNS);
    });
  exportOptions(listOptions(accounts.command('requests <account>')))
    .description('text requests with their routes, tokens and charges, newest first')
    .option('--key <key>', 'of one key')
    .option('--model <model>', 'to one model')
    .action(async (account: string, options: Options) => {
      const filters = { ...LIST_FILTERS, key: 'api_key_id', model: 'model' };
      const path = `/accounts/${account}/usage/requests${query(options, filters)}`;
      const admin = await connect();
      if (await report.exportAll(admin, path, options)) return;
      report.showList(await admin.call('GET', path), REQUEST_COLUMNS);
    });
}

const REFUND_COLUMNS = ['created_at', 'account_id', 'amount_usd', 'model', 'cause', 'task_id', 'text_request_id'];

function addRefundCommand(program: Command, connect: Connect, report: Report): void {
  exportOptions(listOptions(program.command('refunds')))
    .description('refunds with what they were for and why, newest first')
    .option('--account <account>', 'of one account')
    .action(async (options: Options) => {
      const path = `/refunds${query(options, { ...LIST_FILTERS, account: 'account_id' })}`;
      const admin = await connect();
      if (await report.exportAll(admin, path, options)) return;
      report.showList(await admin.call('GET', path), REFUND_COLUMNS);
    });
}

const RECONCILIATION_COLUMNS = ['id', 'status', 'findings_total', 'requested_by', 'created_at', 'finished_at'];
const CHECK_COLUMNS = ['check', 'findings', 'duration_ms', 'question'];
const POLL_MS = 500;

function addReconciliationCommands(program: Command, connect: Connect, report: Report): void {
  program
    .command('reconcile')
    .description('compare the books with each other and with Temporal; ends with code 1 when they do not agree')
    .option('--no-wait', 'do not wait for the report')
    .action(async ({ wait }: Options) => {
      const admin = await connect();
      const begun = await admin.call('POST', '/reconciliations');
      if (wait === false) return report.show(begun);
      showReconciliation(await reportOf(admin, textOf(dataOf(begun)['id'])), report);
    });

  const reconciliations = program.command('reconciliations').description('the reports of reconciliations');
  reconciliations
    .command('list', { isDefault: true })
    .description('newest first')
    .option('--limit <count>', 'how many at most')
    .option('--cursor <cursor>', 'continue after an earlier page')
    .action(async (options: Options) => {
      const path = `/reconciliations${query(options, { limit: 'limit', cursor: 'cursor' })}`;
      report.showList(await (await connect()).call('GET', path), RECONCILIATION_COLUMNS);
    });
  exportOptions(reconciliations.command('show <reconciliation>'))
    .description('what was checked and what was found; ends with code 1 when something was')
    .action(async (id: string, options: Options) => {
      const path = `/reconciliations/${id}`;
      const admin = await connect();
      if (await report.exportAll(admin, path, options)) return;
      showReconciliation(await admin.call('GET', path), report);
    });
}

/** The report once it is there; whoever does not want to wait any more interrupts the command. */
async function reportOf(admin: AdminClient, id: string): Promise<Fields> {
  for (;;) {
    const answer = await admin.call('GET', `/reconciliations/${id}`);
    if (dataOf(answer)['status'] !== 'running') return answer;
    await sleep(POLL_MS);
  }
}

/** @throws CommandError when something was found */
function showReconciliation(answer: Fields, { isJson, showJson, print }: Report): void {
  const reconciliation = dataOf(answer);
  if (isJson()) showJson(answer);
  else {
    print(table(rowsOf({ data: reconciliation['checks'] ?? [] }), CHECK_COLUMNS));
    for (const { check, subject, detail, remedy } of rowsOf({ data: reconciliation['findings'] ?? [] })) {
      print(`\n${textOf(check)}: ${textOf(subject)}\n  ${textOf(detail)}\n  To do: ${textOf(remedy)}`);
    }
    print(`\n${textOf(reconciliation['id'])}: ${textOf(reconciliation['status'])}`);
  }
  if (reconciliation['status'] === 'findings') {
    throw new CommandError(`The books do not agree: ${textOf(reconciliation['findings_total'])} findings.`);
  }
}
