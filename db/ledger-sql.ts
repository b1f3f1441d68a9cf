/** The rules of `domain/ledger.ts` as SQL expressions on a row of `transfers`. */
import { type CustomerLedgerAccount, isCharge, TRANSFERS } from '../domain/ledger.ts';

/** SQL for the sign with which the row changes this balance of its account: 1, -1, or 0 for no change. */
export function balanceSign(account: CustomerLedgerAccount): string {
  return `((credit = '${account}')::int - (debit = '${account}')::int)`;
}

/** SQL for the amounts that a row adds to `available` and `reserved`. */
export const CHANGE = {
  available: `(amount * ${balanceSign('available')})`,
  reserved: `(amount * ${balanceSign('reserved')})`,
};

/** SQL for the balance of a row of `accounts`, held money included. */
export const BALANCE = 'signup_available + signup_reserved + funded_available + funded_reserved';

/**
 * SQL for whether a transfer is the first that charges its text request, so that sums count the request once. A request
 * whose allowance was lost has no `charge`.
 *
 * @param transfer the SQL name of the transfer
 * @param request the SQL name of the row of `text_requests`
 */
export function isFirstCharge(transfer: string, request: string): string {
  return `(${transfer}.kind = 'charge' OR (${request}.held = 0 AND (${transfer}.kind = 'excess' OR ${request}.excess = 0)))`;
}

/** The kinds of transfer that charge an account, as a list for `IN`. */
export const CHARGES = `(${Object.entries(TRANSFERS)
  .filter(([, move]) => isCharge(move))
  .map(([kind]) => `'${kind}'`)
  .join(', ')})`;
