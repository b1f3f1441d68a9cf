/** Closes months, and explains why a month cannot be closed yet. */
import type { Database } from '../../db/database.ts';
import { type ClosedMonth, closeMonth as close, type MonthRefusal } from '../../db/queries/closed-months.ts';
import { badRequest } from '../../domain/errors.ts';
import { closableFrom, type Month } from '../../domain/month.ts';

/**
 * Closes a month for good; `isNew` is false if it was closed before.
 *
 * @throws ServiceError `bad_request` with the reason, when the month cannot be closed yet
 */
export async function closeMonth(
  database: Database,
  month: Month,
  author: string,
): Promise<{ readonly closed: ClosedMonth; readonly isNew: boolean }> {
  const outcome = await close(database, month, author);
  if ('refusal' in outcome) throw badRequest(sentenceFor(outcome.refusal, month));
  return outcome;
}

function sentenceFor(refusal: MonthRefusal, month: Month): string {
  if (refusal.reason === 'not over') {
    return `${month.name} can be closed from ${closableFrom(month).toISOString()} on: until then, requests that started in the month may still be charged.`;
  }
  if (refusal.reason === 'out of turn') {
    return `Months are closed in order. Close ${refusal.next} next.`;
  }
  if (refusal.reason === 'bill not compared') {
    return `The bill of ${refusal.vendor} was imported after the latest reconciliation. Run another reconciliation, then close the month.`;
  }
  if (refusal.reason === 'not reconciled') {
    return `No reconciliation has run since ${closableFrom(month).toISOString()}, when ${month.name} was complete. Run one, then close the month.`;
  }
  const { reconciliationId, findings } = refusal;
  return (
    `The ledgers do not agree: ${reconciliationId} has ${findings} ${findings === 1 ? 'finding' : 'findings'} that nobody has ` +
    'acknowledged. Do what the report says and run a reconciliation, or acknowledge what cannot be remedied; close the ' +
    'month then.'
  );
}
