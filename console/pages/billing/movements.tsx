/** The movements of an account's balance: the rows of the ledger, without the notes of operators. */
import { readPage } from '../../../api/endpoint/page.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested } from '../../../domain/resource/resource.ts';
import type { ApiServices } from '../../../api/services/services.ts';
import { listTransfers, streamTransfers, type Transfer } from '../../../db/queries/transfers.ts';
import { isId } from '../../../domain/ids.ts';
import { changesBy } from '../../../domain/ledger.ts';
import { exportFile } from '../../export.ts';
import { Card, Pages } from '../../html/components.tsx';
import { ResourceTable } from '../../html/resource-table.tsx';
import { type PageResult, member, type MemberVisit, showPage } from '../../page.ts';
import { readPeriod } from '../usage/period.ts';

const PAGE_SIZE = 50;

export const movementPages = [
  member.page('/accounts/{account_id}/billing/movements', 'pay', async (visit, { reports }) => {
    const { account, query, texts } = visit;
    const before = readPosition(query.get('cursor'));
    const { rows: transfers, last } = await readPage({ before, limit: PAGE_SIZE }, (slice) =>
      listTransfers(reports, { accountId: account.accountId, ...slice }),
    );
    return showPage(
      'billing',
      texts.billing.movements,
      <Card>
        <Movements transfers={transfers} visit={visit} />
        <Pages next={last ? writePosition(last) : null} />
      </Card>,
    );
  }),
  member.page('/accounts/{account_id}/billing/movements/export', 'pay', async (visit, services) =>
    exportMovements(visit, services),
  ),
];

function exportMovements({ account: { accountId }, query }: MemberVisit, { reports, clock }: ApiServices): PageResult {
  const { name, from, to } = readPeriod(query.get('period'), clock.nowMs());
  return exportFile(
    `movements-${name}`,
    query.get('format') ?? '',
    streamTransfers(reports, { accountId, from, to }),
    MOVEMENT,
  );
}

const MOVEMENT = nested<Transfer>({
  created_at: field.isoTime('createdAt'),
  id: field.id('transfer')('id'),
  kind: field.text('kind'),
  available_usd: field.exactUsd((transfer) => changesBy(transfer).available),
  reserved_usd: field.exactUsd((transfer) => changesBy(transfer).reserved),
  api_key_id: field.id('apiKey').orNull('apiKeyId'),
  task_id: field.id('task').orNull('taskId'),
  text_request_id: field.text.orNull('textRequestId'),
  reference: field.text.orNull('reference'),
});

/** A table of transfers and their changes of the balance. */
export function Movements({
  transfers,
  visit: { account, texts },
}: {
  readonly transfers: readonly Transfer[];
  readonly visit: MemberVisit;
}) {
  const { billing: words } = texts;
  return (
    <ResourceTable
      of={MOVEMENT}
      label={words.movements}
      rows={transfers}
      none={words.noMovements}
      columns={[
        [words.when, 'created_at'],
        [
          words.what,
          (transfer) => (
            <>
              {words.kinds[transfer.kind]} <Cause transfer={transfer} accountId={account.accountId} words={words} />
            </>
          ),
          'words',
        ],
        'available_usd',
        'reserved_usd',
      ]}
    />
  );
}

/** The task, request or payment of a movement. */
function Cause({
  transfer: { taskId, textRequestId, reference },
  accountId,
  words,
}: {
  readonly transfer: Transfer;
  readonly accountId: string;
  readonly words: MemberVisit['texts']['billing'];
}) {
  if (taskId !== null) return <a href={`/console/accounts/${accountId}/tasks/${taskId}`}>{words.task}</a>;
  if (textRequestId !== null) return <span title={textRequestId}>{`(${words.request})`}</span>;
  return reference === null ? null : <code>{reference}</code>;
}

/** Encodes the position of a transfer in the list, for links to the next page. */
function writePosition({ createdAt, id }: Transfer): string {
  return `${createdAt.getTime()}.${id}`;
}

/** @returns undefined, which selects the first page, for an invalid cursor */
function readPosition(cursor: string | null): { readonly createdAt: Date; readonly id: string } | undefined {
  const [, time = '', id = ''] = /^(\d{1,14})\.(\w+)$/.exec(cursor ?? '') ?? [];
  return isId('transfer', id) ? { createdAt: new Date(Number(time)), id } : undefined;
}
