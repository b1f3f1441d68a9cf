/** Errors for ids that do not exist. */
import { type FieldFault, ServiceError } from './errors.ts';
import type { IdKind } from './ids.ts';

/** Names of the resources in error messages. */
const NOUNS = {
  account: 'account',
  apiKey: 'key',
  task: 'task',
  file: 'file',
  webhookEndpoint: 'webhook endpoint',
  delivery: 'delivery',
  reconciliation: 'reconciliation',
  adminToken: 'admin token',
  user: 'user',
  budget: 'budget',
  endUserBudget: 'budget',
  billingDocument: 'document',
  batch: 'batch',
  giftBatch: 'batch of gift codes',
  realtimeCall: 'call',
  registration: 'registration',
  registrationBlock: 'block',
} as const satisfies Partial<Record<IdKind, string>>;

/** A kind of resource that clients name by its id. */
export type Resource = keyof typeof NOUNS;

/**
 * The error for an id that does not exist.
 *
 * @param caller the account that was searched; null when all accounts were
 * @param fieldFault the field with the id, if forms have one
 */
export function notFoundError(resource: Resource, caller: object | null = null, fieldFault?: FieldFault): ServiceError {
  const message = caller
    ? `There is no such ${NOUNS[resource]} in this account. Check the id and the key.`
    : `There is no such ${NOUNS[resource]}. Check the id.`;
  return new ServiceError('not_found', message, { fieldFault });
}
