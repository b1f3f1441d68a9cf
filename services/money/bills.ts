/** Reads the files of vendors' bills, and stores their lines for reconciliation. */
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { CsvError, parse } from 'csv-parse';
import type { Database } from '../../db/database.ts';
import {
  deleteVendorBill,
  findLatestBill,
  findVendorBill,
  storeVendorBill,
  listBillDifferences,
  MonthClosedError,
  type VendorBill,
} from '../../db/queries/vendor-bills.ts';
import { badRequest, ServiceError } from '../../domain/errors.ts';
import { knownColumnsOf } from '../../domain/known-bills.ts';
import { PICO_PER_USD, type PicoUsd } from '../../domain/money.ts';
import type { Month } from '../../domain/month.ts';
import {
  type BilledLine,
  type BillColumns,
  type BillDifference,
  CURRENCY_TITLES,
  currencyOf,
  readBilledAmount,
} from '../../domain/vendor-bill.ts';
import type { Services } from '../services.ts';

export interface BillFile {
  /** The content of the file, including a line with the titles of the columns. */
  readonly csv: string;
  readonly columns: BillColumns;
  /** The worth of 1 unit of the bill's currency; null for a bill in US dollars. */
  readonly usdPerUnit: PicoUsd | null;
  /** Whether a bill that names no currency is read as a bill in US dollars. */
  readonly isInDollars?: boolean;
}

export interface BillImport extends Pick<BillFile, 'csv' | 'usdPerUnit'> {
  readonly month: Month;
  readonly vendor: string;
  readonly author: string;
  /** If absent, the upstreams of the vendor's latest bill. */
  readonly upstreams?: readonly string[] | undefined;
  /** If absent, the columns of the vendor's latest bill, or the vendor's known columns, if the file has them. */
  readonly columns?: BillColumns | undefined;
}

/** A bill with all its differences from our records. */
export interface ComparedBill extends VendorBill {
  readonly differences: readonly BillDifference[];
}

/** The process serves other requests between two pieces of a large file. Every other character may end a line. */
const PIECE_LENGTH = 4 * 1024;
const MAX_RECORD_LENGTH = 100_000;
/** Some vendors write lines about themselves before the titles. */
const MAX_LINES_BEFORE_TITLES = 100;
const MAX_CELL_LENGTH = 300;
const MAX_LINES = 100_000;
const US_DOLLAR = 'USD';
const SEPARATORS = [',', ';', '\t'] as const;

/**
 * Stores the bill. It replaces an earlier bill of the vendor for the month.
 *
 * @throws ServiceError `bad_request` if the month is closed, or the file has no such columns, an unreadable amount, or
 *   a currency without an exchange rate
 */
export async function importBill(database: Database, bill: BillImport): Promise<VendorBill> {
  const { month, vendor, author, csv, usdPerUnit } = bill;
  const latest = await findLatestBill(database, vendor);
  const upstreams = bill.upstreams ?? latest?.upstreams;
  const layouts = bill.columns ? [bill.columns] : layoutsOf(vendor, latest);
  const columns = layouts.find((layout) => findTitles(csv, layout) !== null) ?? layouts[0];
  if (!upstreams || !columns) {
    throw badRequest(
      'The first bill of a vendor needs "upstreams". It also needs "columns", unless Genway knows the columns of the vendor.',
    );
  }
  const isInDollars = (latest?.usdPerUnit ?? PICO_PER_USD) === PICO_PER_USD;
  const billed = await readBill({ csv, columns, usdPerUnit, isInDollars });
  return rejectIfMonthClosed(
    month,
    storeVendorBill(database, month, { vendor, upstreams, columns, usdPerUnit, author, billed }),
  );
}

/** Deletes a bill that was imported by mistake. @throws ServiceError if there is none, or its month is closed */
export async function deleteBill(database: Database, vendor: string, month: Month): Promise<void> {
  if (!(await rejectIfMonthClosed(month, deleteVendorBill(database, vendor, month)))) throw noSuchBill(vendor, month);
}

/** @throws ServiceError `not_found` */
export async function requireBill(database: Database, vendor: string, month: Month): Promise<VendorBill> {
  const bill = await findVendorBill(database, vendor, month);
  if (!bill) throw noSuchBill(vendor, month);
  return bill;
}

/** Reads a whole month, so the comparisons of one holder run one after another. @param holder the caller */
export function compareBill(
  { reports, money }: Pick<Services, 'reports' | 'money'>,
  holder: string,
  bill: VendorBill,
): Promise<ComparedBill> {
  return money.queueReport(holder, async () => ({ ...bill, differences: await listBillDifferences(reports, bill) }));
}

function noSuchBill(vendor: string, month: Month): ServiceError {
  return new ServiceError('not_found', `No bill of ${vendor} was imported for ${month.name}.`);
}

async function rejectIfMonthClosed<Result>(month: Month, change: Promise<Result>): Promise<Result> {
  return change.catch((error: unknown) => {
    if (!(error instanceof MonthClosedError)) throw error;
    throw badRequest(`${month.name} is closed, and its bills cannot be changed. Correct mistakes in an open month.`);
  });
}

/** The columns that the next bill of a vendor may have, the likeliest first. @param latest its latest bill */
export function layoutsOf(vendor: string, latest: Pick<VendorBill, 'columns'> | null): readonly BillColumns[] {
  return [...(latest ? [latest.columns] : []), ...knownColumnsOf(vendor)];
}

/**
 * Returns the lines that have an amount and name a job or a model. Other lines are titles and sums.
 *
 * @throws ServiceError `bad_request`
 */
export async function readBill({
  csv,
  columns,
  usdPerUnit,
  isInDollars = true,
}: BillFile): Promise<readonly BilledLine[]> {
  const titles = findTitles(csv, columns);
  if (titles === null) throw noSuchColumns(columns);
  const lines: BilledLine[] = [];
  let currency: string | null = null;
  let records = 0;
  for await (const { line, record } of recordsOf(csv, titles.separator)) {
    if (line <= titles.line) continue;
    // Counts lines that are not part of the bill, too: reading any line takes time.
    if (records === MAX_LINES) {
      throw badRequest(`The bill has more than ${MAX_LINES} lines. Combine the lines of each job or model.`);
    }
    records += 1;
    const read = readLine(line, record, titles);
    if (read === null) continue;
    currency ??= read.currency;
    checkCurrency({ line, named: read.currency, currency, usdPerUnit });
    if (currency === null && usdPerUnit === null && !isInDollars) throw withoutWorth();
    const amount = readBilledAmount(read.amount, usdPerUnit ?? PICO_PER_USD, titles.separator === ';' ? ',' : '.');
    if (amount === null) {
      throw badRequest(
        `Line ${line} of the bill has an invalid amount: ${read.amount}. Write the amount as a number, such as 1234.56 or -0.5.`,
      );
    }
    lines.push({ line, jobId: read.jobId, model: read.model, amount });
  }
  return lines;
}

interface ReadLine extends Pick<BilledLine, 'jobId' | 'model'> {
  readonly amount: string;
  readonly currency: string | null;
}

function readLine(line: number, record: readonly string[], { places, amountTitle }: Titles): ReadLine | null {
  const [jobId = null, model = null, amount = null, cell = null] = [
    places.job,
    places.model,
    places.amount,
    places.currency,
  ].map((place) => cellOf(record, place, line));
  if (amount === null || (jobId === null && model === null)) return null;
  return { jobId, model, amount, currency: currencyOf(cell, amount, amountTitle) };
}

/** Prevents reading a bill in one currency as a bill in another. @throws ServiceError `bad_request` */
function checkCurrency({
  line,
  named,
  currency,
  usdPerUnit,
}: {
  readonly line: number;
  readonly named: string | null;
  /** The currency of the first line that names one. */
  readonly currency: string | null;
  readonly usdPerUnit: PicoUsd | null;
}): void {
  if (named === null || currency === null) return;
  if (named !== currency) {
    throw badRequest(
      `Line ${line} of the bill is in ${named}, but an earlier line is in ${currency}. Import a file with one currency.`,
    );
  }
  if (named === US_DOLLAR && usdPerUnit !== null && usdPerUnit !== PICO_PER_USD) {
    throw badRequest(`Line ${line} of the bill is in USD. Leave out the exchange rate (usd_per_unit).`, {
      path: ['usd_per_unit'],
      kind: 'bill.inDollars',
      values: { line },
    });
  }
  if (named !== US_DOLLAR && usdPerUnit === null) {
    throw badRequest(
      `Line ${line} of the bill is in ${named}. Give the exchange rate in USD per unit (usd_per_unit).`,
      { path: ['usd_per_unit'], kind: 'bill.inOtherCurrency', values: { line, currency: named } },
    );
  }
}

function withoutWorth(): ServiceError {
  return badRequest(
    'The latest bill of the vendor was in another currency, and this bill names no currency. Give the exchange rate in USD per unit ' +
      '(usd_per_unit): 1 for a bill in US dollars.',
    { path: ['usd_per_unit'], kind: 'bill.namesNoCurrency', values: {} },
  );
}

/** @throws ServiceError `bad_request` */
function cellOf(record: readonly string[], place: number | null, line: number): string | null {
  const cell = place === null ? undefined : record[place];
  if (cell !== undefined && cell.length > MAX_CELL_LENGTH) {
    throw badRequest(`Line ${line} of the bill has a cell of more than ${MAX_CELL_LENGTH} characters.`);
  }
  return cell || null;
}

interface Titles {
  /** The line of the titles, counted from 1. */
  readonly line: number;
  readonly separator: (typeof SEPARATORS)[number];
  readonly places: {
    readonly job: number | null;
    readonly model: number;
    readonly amount: number;
    readonly currency: number | null;
  };
  readonly amountTitle: string;
}

/** Finds the first line with the title of each column; null if there is none. */
function findTitles(csv: string, { job, model, amount }: BillColumns): Titles | null {
  const lines = csv.slice(0, MAX_LINES_BEFORE_TITLES * 1_000).split(/\r\n|\n|\r/, MAX_LINES_BEFORE_TITLES);
  for (const [index, line] of lines.entries()) {
    for (const separator of SEPARATORS) {
      const cells = line.split(separator).map((cell) => withoutMarks(cell).toLowerCase());
      const placeOf = (title: string): number => cells.indexOf(title.trim().toLowerCase());
      const currency = cells.findIndex((cell) => CURRENCY_TITLES.includes(cell));
      const places = {
        job: job === null ? null : placeOf(job),
        model: placeOf(model),
        amount: placeOf(amount),
        currency: currency === -1 ? null : currency,
      };
      if (places.job !== -1 && places.model !== -1 && places.amount !== -1)
        return { line: index + 1, separator, places, amountTitle: amount };
    }
  }
  return null;
}

const MARK = /[\s"\uFEFF]/;

/** The cell without the blanks and quotation marks around it, in time that grows with its length. */
function withoutMarks(cell: string): string {
  let [start, end] = [0, cell.length];
  while (start < end && MARK.test(cell.charAt(start))) start += 1;
  while (end > start && MARK.test(cell.charAt(end - 1))) end -= 1;
  return cell.slice(start, end);
}

function noSuchColumns({ job, model, amount }: BillColumns): ServiceError {
  const wanted = [job, model, amount].filter((title) => title !== null);
  return badRequest(
    `No line at the start of the file has the columns ${wanted.map((title) => `"${title}"`).join(', ')}. Name the titles as the file writes them.`,
  );
}

async function* recordsOf(
  csv: string,
  delimiter: string,
): AsyncIterable<{ readonly line: number; readonly record: readonly string[] }> {
  const parser = parse({
    delimiter,
    bom: true,
    // A file that was joined from several may mix line ends.
    record_delimiter: ['\r\n', '\n', '\r'],
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    trim: true,
    max_record_size: MAX_RECORD_LENGTH,
  });
  try {
    for await (const { record, info } of Readable.from(piecesOf(csv)).pipe(parser)) {
      yield { line: info.lines, record };
    }
  } catch (error) {
    if (error instanceof CsvError) throw badRequest(`The file is not valid CSV: ${error.message}`);
    throw error;
  }
}

async function* piecesOf(text: string): AsyncIterable<string> {
  for (let at = 0; at < text.length; at += PIECE_LENGTH) {
    await setImmediate();
    yield text.slice(at, at + PIECE_LENGTH);
  }
}
