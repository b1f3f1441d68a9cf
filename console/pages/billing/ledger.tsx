/** The ledger of an account, for its members and for operators: balance changes, balances after them, and holds. */
import type { Child } from 'hono/jsx';
import { readPage } from '../../../services/page.ts';
import { BALANCE_ENTRY } from '../../../services/resources/balance.ts';
import type { ApiServices } from '../../../api/services.ts';
import { type ApiKey, listApiKeys } from '../../../db/queries/api-keys.ts';
import {
  type BalanceEntry,
  type BalanceWithHolds,
  type EntryFilter,
  type EntryPosition,
  listBalanceEntries,
  readBalanceWithHolds,
  streamBalanceEntries,
} from '../../../db/queries/balance-entries.ts';
import { isId } from '../../../domain/ids.ts';
import { ENTRY_TYPES } from '../../../domain/ledger.ts';
import { formatDollars } from '../../../domain/money.ts';
import { Card, ExactMoney, Headline, WithNote, Pages } from '../../html/components.tsx';
import { ChoiceFilter, DayFilters, Downloads, Filters, KeyFilter, keyIn, MAX_KEYS } from '../../html/filters.tsx';
import { pathOfId } from '../../html/linked-ids.tsx';
import { useTexts } from '../../html/page-context.ts';
import { Chosen, ResourceTable } from '../../html/resource-table.tsx';
import { exportFile } from '../../export.ts';
import { member, showPage } from '../../page.ts';
import { periodOf } from '../../period.ts';
import { type Texts, wordFor } from '../../texts/texts.ts';

const PAGE_SIZE = 50;

export const ledgerPages = [
  member.page('/accounts/{account_id}/billing/ledger', 'pay', async ({ account, query, texts }, services) =>
    showPage(
      texts.billing.ledger,
      <Ledger {...await readLedger(services, account.accountId, query)} pageOf={pagesOfMember(account.accountId)} />,
    ),
  ),
  member.page('/accounts/{account_id}/billing/ledger/export', 'pay', async ({ account, query }, { reports }) => {
    const filter = filterOf(account.accountId, query);
    return exportFile('ledger', query, streamBalanceEntries(reports, filter), BALANCE_ENTRY);
  }),
];

/** Returns the page about the purpose of an entry; null if there is none. */
type PageOfEntry = (entry: BalanceEntry) => string | null;

export function pagesOfMember(accountId: string): PageOfEntry {
  const path = `/console/accounts/${accountId}`;
  return ({ type, taskId, textRequestId }) => {
    if (taskId !== null) return `${path}/tasks/${taskId}`;
    if (textRequestId !== null) return `${path}/usage/requests/${textRequestId}`;
    return type === 'topup' ? `${path}/billing/top-ups` : null;
  };
}

/** The pages for operators: an entry without a task or text request leads to its own timeline. */
export const pagesOfStaff: PageOfEntry = ({ id, taskId, textRequestId }) =>
  `/console${pathOfId(taskId ?? textRequestId ?? id)}`;

interface ShownLedger {
  readonly entries: readonly BalanceEntry[];
  readonly next: string | null;
  readonly balance: BalanceWithHolds;
  readonly keys: readonly ApiKey[];
}

export async function readLedger(
  { reports }: Pick<ApiServices, 'reports'>,
  accountId: string,
  query: URLSearchParams,
): Promise<ShownLedger> {
  const filter = filterOf(accountId, query);
  const [{ rows: entries, last }, balance, keys] = await Promise.all([
    readPage({ before: readPosition(query.get('cursor')), limit: PAGE_SIZE }, (slice) =>
      listBalanceEntries(reports, { ...filter, ...slice }),
    ),
    readBalanceWithHolds(reports, accountId),
    listApiKeys(reports, { accountId, limit: MAX_KEYS }),
  ]);
  return { entries, next: last ? `${last.createdAt.getTime()}.${last.id}` : null, balance, keys };
}

/** Reads the filters. An invalid filter has no effect. */
export function filterOf(accountId: string, query: URLSearchParams): EntryFilter {
  return {
    accountId,
    type: ENTRY_TYPES.find((known) => known === query.get('type')),
    apiKeyId: keyIn(query),
    ...periodOf(query),
  };
}

/** @returns undefined, which selects the first page, for an invalid cursor */
function readPosition(cursor: string | null): EntryPosition | undefined {
  const [, time = '', id = ''] = /^(\d{1,14})\.(\w+)$/.exec(cursor ?? '') ?? [];
  return isId('transfer', id) ? { createdAt: new Date(Number(time)), id } : undefined;
}

interface LedgerProps extends ShownLedger {
  readonly pageOf: PageOfEntry;
  readonly isOfStaff?: boolean;
}

export function Ledger({ entries, next, balance, keys, pageOf, isOfStaff = false }: LedgerProps) {
  const { billing: messages, common } = useTexts();
  return (
    <>
      <Holds balance={balance} />
      <Filters downloads={<Downloads />}>
        <ChoiceFilter name="type" label={common.what} all={messages.allEntries} values={ENTRY_TYPES} />
        <KeyFilter keys={keys} />
        <DayFilters />
      </Filters>
      <Card>
        <Entries entries={entries} pageOf={pageOf} isOfStaff={isOfStaff} hasColumnMenu />
        <p class="hint">{messages.ledgerExplained}</p>
        <Pages next={next} />
      </Card>
    </>
  );
}

/** The balance, and the held amounts. */
function Holds({ balance }: { balance: BalanceWithHolds }) {
  const { billing: messages, common, fields } = useTexts();
  const { available, heldByTasks, runningTasks, heldByText } = balance;
  const held = heldByTasks + heldByText;
  const holds = [
    ...(runningTasks > 0 ? [messages.heldByTasks(runningTasks, formatDollars(heldByTasks))] : []),
    ...(heldByText > 0n ? [messages.heldByText(formatDollars(heldByText))] : []),
  ];
  return (
    <div class="grid">
      <Card title={common.balance}>
        <Headline amount={available + held} />
        <p class="soft">{messages.balanceHint}</p>
      </Card>
      <Card title={fields.available_usd}>
        <Headline amount={available} />
      </Card>
      <Card title={messages.held}>
        <Headline amount={held} />
        <p class="soft">{holds.length === 0 ? messages.nothingHeld : holds.join('; ')}</p>
      </Card>
    </div>
  );
}

interface EntriesProps {
  readonly entries: readonly BalanceEntry[];
  readonly pageOf: PageOfEntry;
  readonly isOfStaff?: boolean;
  readonly hasColumnMenu?: boolean;
}

/** A table of entries: one signed amount each, and the balance after it. */
export function Entries({ entries, pageOf, isOfStaff = false, hasColumnMenu = false }: EntriesProps) {
  const texts = useTexts();
  const { billing: messages, fields, common } = texts;
  const hasBalances = entries.some(({ balance }) => balance !== null);
  return (
    <ResourceTable
      of={BALANCE_ENTRY}
      label={messages.ledger}
      rows={entries}
      none={messages.noEntries}
      hasColumnMenu={hasColumnMenu}
      columns={[
        [common.when, 'created_at'],
        [
          common.what,
          (entry) => (
            <WithNote note={purposeOf(entry, isOfStaff, texts)}>
              <Linked href={pageOf(entry)}>
                <Chosen name="type" value={entry.type} />
              </Linked>
            </WithNote>
          ),
          'words',
          'type',
        ],
        [fields.amount_usd, ({ amount }) => <ExactMoney amount={amount} isSigned />, 'number', 'amount_usd'],
        hasBalances ? 'balance_usd' : null,
      ]}
    />
  );
}

function Linked({ href, children }: { href: string | null; children: Child }) {
  return href === null ? <>{children}</> : <a href={href}>{children}</a>;
}

/** The purpose of an entry. Only operators see reason and author. */
function purposeOf(entry: BalanceEntry, isOfStaff: boolean, texts: Texts): string | null {
  const { model, failureReason, inputTokens, outputTokens, reference, author, reason } = entry;
  const { billing: messages } = texts;
  const parts = [
    model,
    inputTokens !== null && outputTokens !== null ? messages.tokens(Number(inputTokens), Number(outputTokens)) : null,
    failureReason === null ? null : wordFor('failure_reason', failureReason, texts),
    reference,
    ...(isOfStaff ? [reason, author] : []),
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join(' · ');
}
