/** The balance of the calling account, its entries, and the threshold of the warning about a low balance. */
import { retryOnLostConnection } from '../../../db/connections.ts';
import { findAccount } from '../../../db/queries/accounts.ts';
import {
  listBalanceEntries as findEntries,
  streamBalanceEntries,
  type EntryPosition,
} from '../../../db/queries/balance-entries.ts';
import type { ApiKey } from '../../../db/queries/api-keys.ts';
import type { Database } from '../../../db/database.ts';
import { setLowBalance } from '../../../db/queries/low-balances.ts';
import { sumPromoCredit } from '../../../db/queries/promo-grants.ts';
import { isId } from '../../../domain/ids.ts';
import { ENTRY_TYPES } from '../../../domain/ledger.ts';
import { parseUsd } from '../../../domain/money.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, page, pageOf } from '../../endpoint/page.ts';
import { idParameter, choiceParameter, PERIOD } from '../../endpoint/query.ts';
import { EXPORTS, withExports, sendAll } from '../../exports.ts';
import { BALANCE, BALANCE_ENTRY } from '../../../services/resources/balance.ts';
import { updateBalanceSchema } from '../../../services/input/balance.ts';

/** The pages of a list in the order of the ledger. */
export const LEDGER_PAGE = page(readLedgerPosition);

export const ledgerPositionOf = ({ createdAt, id }: EntryPosition): readonly string[] => [createdAt.toISOString(), id];

/** The filters and pages of entries. */
export const BALANCE_ENTRIES = {
  type: choiceParameter(ENTRY_TYPES, 'Filters by type. The entries then have no balances'),
  api_key_id: idParameter('apiKey', 'Filters by API key. The entries then have no balances'),
  ...PERIOD,
  ...LEDGER_PAGE,
};

export const EXPORTED_ENTRIES = `JSON pages start with the newest entry, exports with the oldest. ${EXPORTS}`;

export const balanceEndpoints = endpoints('Account', {
  getBalance: endpoint({
    request: 'GET /v1/balance',
    access: 'key',
    summary: 'Get the balance',
    answers: { 200: dataOf(BALANCE.schema, 'The balance') },
    handle: async ({ caller: { key } }, { database }) => ({ data: await showBalance(database, key) }),
  }),
  updateBalance: endpoint({
    request: 'PATCH /v1/balance',
    access: 'key',
    summary: 'Set the threshold of account.balance_low',
    description:
      'The event is sent when the balance, holds included, falls below the threshold, and again only after a credit.',
    body: jsonBody('UpdateBalance', updateBalanceSchema),
    answers: { 200: dataOf(BALANCE.schema, 'The balance') },
    handle: async ({ caller: { account, key }, body: { low_balance_usd: threshold } }, { database }) => {
      await setLowBalance(database, account.id, threshold === null ? null : parseUsd(threshold));
      return { data: await showBalance(database, key) };
    },
  }),
  listBalanceEntries: endpoint({
    request: 'GET /v1/balance/entries',
    access: 'key',
    summary: 'List changes of the balance, with the balance after each change',
    description: EXPORTED_ENTRIES,
    query: BALANCE_ENTRIES,
    answers: { 200: withExports(pageOf(BALANCE_ENTRY.schema, 'A page of entries')) },
    handle: ({ caller, query, context }, { reports }) => {
      const { type, from, to, api_key_id: apiKeyId } = query;
      const filter = { type, from, to, apiKeyId, accountId: caller.account.id };
      if (sendAll(context, () => streamBalanceEntries(reports, filter), BALANCE_ENTRY)) return undefined;
      return listPage(
        query,
        (slice) => findEntries(reports, { ...filter, ...slice }),
        BALANCE_ENTRY.present,
        ledgerPositionOf,
      );
    },
  }),
});

function readLedgerPosition([time = '', id = '', ...others]: readonly string[]): EntryPosition | null {
  const createdAt = new Date(time);
  return Number.isNaN(createdAt.getTime()) || !isId('transfer', id) || others.length > 0 ? null : { createdAt, id };
}

async function showBalance(database: Database, key: ApiKey) {
  const [account, promo] = await retryOnLostConnection(() =>
    Promise.all([findAccount(database, key.accountId), sumPromoCredit(database, key.accountId)]),
  );
  if (!account) throw new Error(`account ${key.accountId} cannot have disappeared`);
  return BALANCE.present({ ...account, key, promo });
}
