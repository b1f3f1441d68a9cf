import { insertReconciliation } from '../../db/queries/reconciliations.ts';
import { newId } from '../../domain/ids.ts';
import type { Services } from '../services.ts';

/**
 * Starts comparing the ledger with the balances and with Temporal.
 *
 * @returns the id of the report to come
 * @throws ServiceError `processing_unavailable` when Temporal does not answer
 */
export async function runReconciliation({
  database,
  operations,
}: Pick<Services, 'database' | 'operations'>): Promise<string> {
  const id = newId('reconciliation');
  await operations.startReconciliation(id);
  // The workflow inserts this row as well; whichever comes first wins.
  await insertReconciliation(database, { id, requestedBy: 'operator' });
  return id;
}
