/** Issues the invoices of closed months and late credit notes, and records the seller for all documents. */
import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';
import { issueSomeInvoices, recordSeller } from '../../db/queries/billing-documents.ts';
import { issueCreditNotes } from '../../db/queries/returned-payments.ts';
import type { Seller } from '../../domain/billing-document.ts';
import { repeat, type Repetition } from '../../domain/background-loop.ts';

const PAUSE_MS = 30_000;
const BATCH_SIZE = 10;

interface Issuer {
  /** A pool whose statements may run long. */
  readonly database: Database;
  /** Null if no seller is configured: then there are no documents. */
  readonly seller: Seller | null;
  readonly log: Pick<Logger, 'error'>;
}

export function startInvoices({ database, seller, log }: Issuer): Repetition {
  let isSellerRecorded = false;
  const issue = async (): Promise<boolean> => {
    if (!isSellerRecorded) await recordSeller(database, seller);
    isSellerRecorded = true;
    const notes = await database.transaction((transaction) => issueCreditNotes(transaction, { limit: BATCH_SIZE }));
    return (await issueSomeInvoices(database, BATCH_SIZE)) || notes === BATCH_SIZE;
  };
  return repeat(issue, {
    pauseMs: PAUSE_MS,
    onError: (error) => log.error({ err: error }, 'invoices could not be issued; the next run retries them'),
  });
}
