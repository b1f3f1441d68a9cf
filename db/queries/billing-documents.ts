/** Receipts, credit notes and invoices: see `db/schema/0009-finance.sql`. */
import {
  composeDocument,
  type DocumentContent,
  type DocumentKind,
  type DocumentLine,
  groupSmallLines,
  numberOf,
  type PaymentHistory,
  type Party,
  type Seller,
  type Tax,
} from '../../domain/billing-document.ts';
import { dayOf } from '../../domain/day.ts';
import { newId } from '../../domain/ids.ts';
import { formatDollars } from '../../domain/money.ts';
import { type Month, parseMonth } from '../../domain/month.ts';
import { type Database, onlyRow, picoUsd } from '../database.ts';
import { CHARGES, isFirstCharge } from '../ledger-sql.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { camelCased, columnsOf, type RowOf } from '../row.ts';
import { findAccount } from './accounts.ts';
import { orderNotice } from './mails.ts';
import { startPeriodOf } from './month-export.ts';

export interface BillingDocument extends DocumentContent {
  readonly id: string;
  readonly accountId: string;
  readonly kind: DocumentKind;
  readonly number: string;
  readonly issuedAt: Date;
  /** The month of an invoice, such as `2026-10`; null for other documents. */
  readonly month: string | null;
  /** The reference of the payment; null for an invoice. */
  readonly reference: string | null;
}

/** A document to issue. Each source, a transfer or a month of an account, has one document. */
interface DueDocument extends Pick<BillingDocument, 'accountId' | 'kind'> {
  readonly source: string;
  readonly month?: string;
  readonly reference?: string;
  readonly lines: readonly DocumentLine[];
}

/** The most lines of models on an invoice, so that it fits on one page; the smallest lines are added up. */
const MAX_LINES = 30;

/** Sets the seller of future documents. With null, no documents are issued. */
export async function recordSeller(database: Database, seller: Seller | null): Promise<void> {
  await database.raw(
    /* sql */ `
    INSERT INTO sellers (details) SELECT CAST(:details AS jsonb)
    WHERE CAST(:details AS jsonb) IS DISTINCT FROM (SELECT details FROM sellers ORDER BY version DESC LIMIT 1)`,
    { details: seller === null ? null : JSON.stringify(seller) },
  );
}

async function findSeller(database: Database): Promise<Seller | null> {
  const row = await database<{ details: Seller | null; version: number }>('sellers').orderBy('version', 'desc').first();
  return row?.details ?? null;
}

/** Issues a document with the next number, if there is a seller. Blocks its kind until the transaction ends. */
export async function issueDocument(transaction: Database, due: DueDocument): Promise<void> {
  const seller = await findSeller(transaction);
  if (seller === null) return;
  const { accountId, kind, source, month, reference, lines } = due;
  const customer = await findCustomer(transaction, accountId);
  const { rows } = await transaction.raw<{ rows: { year: number; last_number: number }[] }>(
    /* sql */ `
    INSERT INTO billing_numbers AS known (kind, year, last_number)
    VALUES (:kind, extract(year FROM now() AT TIME ZONE 'UTC'), 1)
    ON CONFLICT (kind, year) DO UPDATE SET last_number = known.last_number + 1 RETURNING year, last_number`,
    { kind },
  );
  const { year, last_number: count } = onlyRow(rows);
  // After the number, which waits for a transaction that issues another document of the payment.
  const history = reference === undefined ? null : await findHistory(transaction, accountId, reference);
  const content = composeDocument(kind, seller, customer, lines, history);
  const [id, number] = [newId('billingDocument'), numberOf(kind, year, count)];
  await transaction('billing_documents').insert({
    ...columnsOf({ id, accountId, kind, number, source, month, reference }),
    content: JSON.stringify(content, (_name, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)),
  });
  await orderNotice(transaction, {
    kind: 'document_issued',
    accountId,
    reference: `document_issued:${id}`,
    facts: { document: id, number, kind, total: formatDollars(content.total) },
  });
}

/** The parties of a statement, as documents issued now would name them. The seller is null if none is set. */
export async function findParties(
  database: Database,
  accountId: string,
): Promise<{ readonly seller: Party | null; readonly customer: Party }> {
  const [seller, customer] = await Promise.all([findSeller(database), findCustomer(database, accountId)]);
  return { seller, customer };
}

async function findCustomer(database: Database, accountId: string): Promise<Party> {
  const account = await findAccount(database, accountId);
  if (!account) throw new Error(`account ${accountId} cannot have disappeared`);
  const { name, billingName, billingAddress, taxId } = account;
  return { name: billingName ?? name, address: billingAddress?.split(/\r?\n/) ?? [], taxId };
}

/** The documents of a payment; null if there are none yet. */
async function findHistory(database: Database, accountId: string, reference: string): Promise<PaymentHistory | null> {
  const { rows } = await database.raw<{
    rows: { receipt: string | null; balance: string | null; taxes: readonly Tax[] | null }[];
  }>(
    /* sql */ `
    SELECT (array_agg(number ORDER BY id) FILTER (WHERE kind = 'receipt'))[1] AS receipt,
      sum(CASE kind WHEN 'credit_note' THEN -1 ELSE 1 END * (content ->> 'subtotal')::numeric)::text AS balance,
      (array_agg(content -> 'taxes' ORDER BY id))[1] AS taxes
    FROM billing_documents WHERE account_id = :accountId AND reference = :reference`,
    { accountId, reference },
  );
  const { receipt, balance, taxes } = onlyRow(rows);
  return balance === null ? null : { receipt, balance: BigInt(balance), taxes: taxes ?? [] };
}

/**
 * Issues the invoices of some accounts that were charged in a closed month, one per account and month.
 *
 * @returns whether there may be more invoices to issue
 */
export async function issueSomeInvoices(database: Database, limit: number): Promise<boolean> {
  return database.transaction(async (transaction) => {
    // The row lock makes other processes wait. The sums by day, which name the charged accounts, may be behind.
    const { rows } = await transaction.raw<{ rows: { month: string }[] }>(/* sql */ `
      SELECT to_char(month, 'YYYY-MM') AS month FROM closed_months AS closed
      WHERE NOT EXISTS (SELECT FROM invoiced_months WHERE invoiced_months.month = closed.month)
        AND (SELECT before FROM daily_usage_summed) >= (closed.month + interval '1 month') AT TIME ZONE 'UTC'
      ORDER BY closed.month LIMIT 1 FOR UPDATE OF closed`);
    const month = rows[0] && parseMonth(rows[0].month);
    if (!month || (await findSeller(transaction)) === null) return false;
    const accountIds = await findAccountsToInvoice(transaction, month, limit);
    for (const accountId of accountIds) {
      const lines = await sumCharges(transaction, accountId, month);
      await issueDocument(transaction, {
        accountId,
        kind: 'invoice',
        source: sourceOf(month, accountId),
        month: month.name,
        lines,
      });
    }
    if (accountIds.length < limit) {
      await transaction('invoiced_months')
        .insert({ month: `${month.name}-01` })
        .onConflict()
        .ignore();
    }
    return true;
  });
}

function sourceOf({ name }: Month, accountId: string): string {
  return `${name} ${accountId}`;
}

async function findAccountsToInvoice(database: Database, month: Month, limit: number): Promise<readonly string[]> {
  const { rows } = await database.raw<{ rows: { account_id: string }[] }>(
    /* sql */ `
    SELECT DISTINCT account_id FROM daily_transfers
    WHERE day >= CAST(:from AS date) AND day < CAST(:to AS date) AND kind IN ${CHARGES}
      AND NOT EXISTS (SELECT FROM billing_documents WHERE source = :month || ' ' || account_id)
    ORDER BY account_id LIMIT :limit`,
    { month: month.name, from: dayOf(month.from), to: dayOf(month.to), limit },
  );
  return rows.map(({ account_id: accountId }) => accountId);
}

/** Returns the charges of an account in a month by model, and the granted credit that paid a part of them. */
async function sumCharges(database: Database, accountId: string, month: Month): Promise<readonly DocumentLine[]> {
  const { rows } = await database.raw<{
    rows: { subject: DocumentLine['subject']; model: string; quantity: string; amount: string; granted: string }[];
  }>(
    /* sql */ `
    SELECT coalesce(task.kind, 'text') AS subject, coalesce(task.model, request.model) AS model,
      count(*) FILTER (WHERE transfer.kind = 'settlement' OR ${isFirstCharge('transfer', 'request')}) AS quantity,
      sum(transfer.amount) AS amount, sum(transfer.signup_amount) AS granted
    FROM transfers AS transfer
    LEFT JOIN tasks AS task ON task.id = transfer.task_id AND task.created_at = transfer.opened_at
    LEFT JOIN text_requests AS request ON request.id = transfer.text_request_id
      AND request.created_at >= :opened AND request.created_at < :startedBefore
    WHERE transfer.account_id = :accountId AND transfer.kind IN ${CHARGES}
      AND transfer.created_at >= :from AND transfer.created_at < :to
      AND transfer.opened_at >= :opened AND transfer.opened_at < :to
    GROUP BY 1, 2 ORDER BY 1, 2`,
    { accountId, from: month.from, to: month.to, ...startPeriodOf(month) },
  );
  const lines = rows.map(({ subject, model, quantity, amount }) => ({
    subject,
    model,
    quantity: Number(quantity),
    amount: picoUsd(amount),
  }));
  const granted = rows.reduce((sum, row) => sum + picoUsd(row.granted), 0n);
  const credit = { subject: 'granted_credit', model: null, quantity: 1, amount: -granted } as const;
  return [...groupSmallLines(lines, MAX_LINES), ...(granted === 0n ? [] : [credit])];
}

type WithTextAmounts<Value> = Value extends bigint
  ? string
  : Value extends object
    ? { readonly [Name in keyof Value]: WithTextAmounts<Value[Name]> }
    : Value;

type DocumentRow = RowOf<Omit<BillingDocument, keyof DocumentContent>> & {
  readonly content: WithTextAmounts<DocumentContent>;
};

/** The documents of an account, newest first. */
export async function listDocuments(
  database: Database,
  { accountId, kind, ...page }: IdPage & { readonly accountId: string; readonly kind?: DocumentKind | undefined },
): Promise<readonly BillingDocument[]> {
  const query = database<DocumentRow>('billing_documents').where(columnsOf({ accountId, kind }));
  return (await newestFirst(query, page)).map(toDocument);
}

/** @param accountId the account to search; undefined for all */
export async function findDocument(
  database: Database,
  { id, accountId }: { readonly id: string; readonly accountId?: string },
): Promise<BillingDocument | null> {
  const row = await database<DocumentRow>('billing_documents').where(columnsOf({ id, accountId })).first();
  return row ? toDocument(row) : null;
}

function toDocument({ content, ...row }: DocumentRow): BillingDocument {
  return {
    ...camelCased(row),
    ...content,
    lines: content.lines.map((line) => ({ ...line, amount: BigInt(line.amount) })),
    subtotal: BigInt(content.subtotal),
    total: BigInt(content.total),
    taxes: content.taxes.map((tax) => ({ ...tax, amount: BigInt(tax.amount) })),
  };
}
