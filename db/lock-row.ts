import type { Database } from './database.ts';

/** Locks a row until the transaction ends, so that nobody else changes the row in between. */
export async function lockRow(
  transaction: Database,
  table: 'api_keys' | 'price_lists' | 'webhook_endpoints',
  key: { readonly id: string } | { readonly name: string },
): Promise<void> {
  await transaction(table).where(key).forNoKeyUpdate().select(transaction.raw('1'));
}
