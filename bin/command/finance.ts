/** The subcommands for finance that make more than one call, or have their own output. */
import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { isObject } from '../../domain/json.ts';
import { CommandError } from './admin-client.ts';
import type { Administration } from './administration.ts';
import { addExportOptions, groupOf } from './endpoint-command.ts';
import { type Json, type Fields } from './json.ts';
import { dataOf, rowsOf, table, textOf } from './print.ts';

/** The option for the author of an action, whom the service records. */
const AUTHOR = ['--author <name>', 'the author of the action (default: the name of the admin token)'] as const;

type Options = Readonly<Record<string, string | boolean | undefined>>;

export function addFinanceCommands(program: Command, admin: Administration): void {
  addStatementCommand(groupOf(program, 'accounts'), admin);
  addMonthExport(groupOf(program, 'months'), admin);
  addBillImport(groupOf(program, 'months'), admin);
  addReconciliationCommands(program, admin);
}

const STATEMENT_COLUMNS = ['line', 'transfers', 'available_usd', 'reserved_usd', 'total_usd'];

function addStatementCommand(accounts: Command, admin: Administration): void {
  addExportOptions(accounts.command('statement <account>'))
    .description('show the opening balance, activity and closing balance of a day or month')
    .option('--date <day>', 'the day in UTC, such as 2026-11-30 (default: today)')
    .option('--month <month>', 'the month in UTC, such as 2026-11, instead of a day')
    .action(async (account: string, options: Options) => {
      const day = new Date().toISOString().slice(0, 10);
      const { month, date = day } = options;
      const period = new URLSearchParams(typeof month === 'string' ? { month } : { date: String(date) });
      const path = `/accounts/${encodeURIComponent(account)}/statements?${period.toString()}`;
      if (await admin.exportAll(path, options)) return;
      const answer = await admin.call('GET', path);
      if (admin.isJson()) return admin.showJson(answer);
      admin.print(table(linesOf(dataOf(answer)), STATEMENT_COLUMNS));
    });
}

function linesOf({ opening, activity, closing }: Fields): readonly Fields[] {
  const changes = rowsOf({ data: activity ?? [] }).map((row) => ({ line: row['kind'] ?? null, ...row }));
  return [balancesAt('opening', opening), ...changes, balancesAt('closing', closing)];
}

function balancesAt(line: string, balances: Json | undefined): Fields {
  return { line, transfers: null, ...(isObject(balances) && balances) };
}

function addMonthExport(months: Command, admin: Administration): void {
  addExportOptions(months.command('export <month>'))
    .description('print all transfers of a month, such as 2026-10: JSON lines, or CSV with --csv')
    .action(async (month: string, options: Options) => {
      await admin.exportAll(`/months/${encodeURIComponent(month)}/export`, { ndjson: true, ...options });
    });
}

function addBillImport(months: Command, admin: Administration): void {
  months
    .command('import-bill <month> <vendor> <file>')
    .description('import the bill of a vendor, a CSV file, and compare it with our records')
    .option(
      '--upstreams <names...>',
      'the upstreams that the vendor bills; required for the first bill, as the columns are',
    )
    .option('--job-column <title>', "the title of the column with the vendor's jobs; left out if lines are sums")
    .option('--model-column <title>', 'the title of the column with models')
    .option('--amount-column <title>', 'the title of the column with amounts')
    .option(
      '--usd-per-unit <usd>',
      'the value of 1 unit of the currency of the bill, in USD; left out for a bill in USD',
    )
    .option(...AUTHOR)
    .action(async (month: string, vendor: string, file: string, options: BillOptions) => {
      const bytes = await readFile(file).catch((error: Error) => {
        throw new CommandError(`The bill cannot be read: ${error.message}`);
      });
      if (!isUtf8(bytes)) throw new CommandError('The bill is not UTF-8. Save it as CSV in UTF-8.');
      await admin.show('POST', `/months/${encodeURIComponent(month)}/bills`, {
        vendor,
        csv: bytes.toString(),
        upstreams: options.upstreams,
        columns: columnsOf(options),
        usd_per_unit: options.usdPerUnit,
        author: options.author,
      });
    });
}

/** Undefined if the command line gives no titles: the service then uses the titles of the previous bill. */
function columnsOf({ jobColumn: job, modelColumn: model, amountColumn: amount }: BillOptions): object | undefined {
  return job === undefined && model === undefined && amount === undefined ? undefined : { job, model, amount };
}

interface BillOptions {
  readonly upstreams?: readonly string[];
  readonly jobColumn?: string;
  readonly modelColumn?: string;
  readonly amountColumn?: string;
  readonly usdPerUnit?: string;
  readonly author?: string;
}

const CHECK_COLUMNS = ['check', 'findings', 'duration_ms', 'question'];
const POLL_MS = 500;

function addReconciliationCommands(program: Command, admin: Administration): void {
  program
    .command('reconcile')
    .description('compare the ledger with balances, tasks and Temporal; exits with code 1 if there are findings')
    .option('--no-wait', 'do not wait for the report')
    .action(async ({ wait }: Options) => {
      if (wait === false) return admin.show('POST', '/reconciliations');
      const started = await admin.call('POST', '/reconciliations');
      showReconciliation(await reportOf(admin, textOf(dataOf(started)['id'])), admin);
    });

  const reconciliations = groupOf(program, 'reconciliations');
  reconciliations
    .command('acknowledge <reconciliation> <findings...>')
    .description('acknowledge findings that cannot be remedied, by their numbers in the report, such as 1 2')
    .requiredOption('--reason <text>', 'the reason; recorded with the closed month')
    .option(...AUTHOR)
    .action(async (id: string, findings: readonly string[], { reason, author }: Options) => {
      const path = `/reconciliations/${encodeURIComponent(id)}/acknowledgements`;
      const body = { findings: findings.map(Number), reason, author };
      const answer = await admin.call('POST', path, body);
      if (admin.isJson()) admin.showJson(answer);
      else showReport(dataOf(answer), admin);
    });
  addExportOptions(reconciliations.command('show <reconciliation>'))
    .description(
      'show the checks and findings of a report; exits with code 1 if there are findings that are not acknowledged',
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

/** @throws CommandError if there are findings that nobody has acknowledged */
function showReconciliation(answer: Fields, admin: Administration): void {
  const reconciliation = dataOf(answer);
  if (admin.isJson()) admin.showJson(answer);
  else showReport(reconciliation, admin);
  const findings = rowsOf({ data: reconciliation['findings'] ?? [] });
  const open = Number(reconciliation['findings_total']) - findings.filter(isAcknowledged).length;
  if (open > 0)
    throw new CommandError(
      `The ledger has ${open} ${open === 1 ? 'finding that is' : 'findings that are'} not acknowledged. Remedy or acknowledge each finding.`,
    );
}

function showReport(reconciliation: Fields, { print }: Pick<Administration, 'print'>): void {
  print(table(rowsOf({ data: reconciliation['checks'] ?? [] }), CHECK_COLUMNS));
  for (const [index, finding] of rowsOf({ data: reconciliation['findings'] ?? [] }).entries()) {
    const { check, subject, detail, remedy, acknowledgement } = finding;
    print(`\n${index + 1}. ${textOf(check)}: ${textOf(subject)}\n  ${textOf(detail)}\n  To do: ${textOf(remedy)}`);
    if (!isObject(acknowledgement)) continue;
    const { state, author, reason } = acknowledgement;
    const label = state === 'confirmed' ? 'Acknowledged by' : 'Waits for a second person; acknowledged by';
    print(`  ${label} ${textOf(author)}: ${textOf(reason)}`);
  }
  print(`\n${textOf(reconciliation['id'])}: ${textOf(reconciliation['status'])}`);
}

function isAcknowledged({ acknowledgement }: Fields): boolean {
  return isObject(acknowledgement) && acknowledgement['state'] === 'confirmed';
}
