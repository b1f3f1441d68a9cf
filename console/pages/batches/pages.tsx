/** The batches of an account: contract 4.17. */
import type { ApiServices } from '../../../api/services.ts';
import { cancelBatch, findBatch, listBatches } from '../../../db/queries/batches.ts';
import { findUpload } from '../../../db/queries/uploads.ts';
import { createsTasks, isFinalBatch } from '../../../domain/batch.ts';
import { Card, Empty, FormButton, Pages, Polled } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';
import { type ListPage, readListPage } from '../../list-page.ts';
import { member, type MemberVisit, type PageResult, requireFound, showPage, showPart } from '../../page.ts';
import { BatchProgress, type SummedBatch, withSums } from '../batch-progress.tsx';

const PAGE_SIZE = 20;
const POLL_SECONDS = 3;
const FILES = ['input', 'output', 'errors'] as const;

const page = member.page('/accounts/{account_id}/batches', 'develop', async (visit, services) => {
  const list = await readBatches(visit, services);
  return showPage(visit.texts.titles.batches, <Batches list={list} visit={visit} />, <Pages next={list.next} />);
});

export const batchPages = [
  page,
  member.page('/accounts/{account_id}/batches/list', 'develop', async (visit, services) =>
    showPart(<Batches list={await readBatches(visit, services)} visit={visit} />),
  ),
  member.page('/accounts/{account_id}/batches/{batch_id}/file', 'develop', download),
  page.form(
    '/{batch_id}/cancel',
    'develop',
    async ({ account: { accountId }, params }, { database }) => {
      const batch = requireFound(await findBatch(database, accountId, params['batch_id'] ?? ''));
      await cancelBatch(database, accountId, batch.id);
    },
    'batchCancelling',
  ),
];

async function readBatches(
  { account: { accountId }, query }: MemberVisit,
  { database }: ApiServices,
): Promise<ListPage<SummedBatch>> {
  const { entries, next } = await readListPage(
    query,
    'batch',
    (slice) => listBatches(database, { accountId, ...slice }),
    PAGE_SIZE,
  );
  return { entries: await withSums(database, entries), next };
}

async function download(
  { account: { accountId }, params, query }: MemberVisit,
  { database, storage }: ApiServices,
): Promise<PageResult> {
  const batch = requireFound(await findBatch(database, accountId, params['batch_id'] ?? ''));
  const kind = FILES.find((name) => name === query.get('of')) ?? 'input';
  const fileId = { input: batch.inputFileId, output: batch.outputFileId, errors: batch.errorFileId }[kind];
  const upload = fileId === null ? null : await findUpload(database, accountId, fileId);
  const { storageKey, mimeType } = requireFound(upload);
  const body = requireFound(await storage.read(storageKey));
  return { kind: 'file', name: `${batch.id}-${kind}.jsonl`, type: mimeType, body };
}

interface BatchesProps {
  readonly list: ListPage<SummedBatch>;
  readonly visit: MemberVisit;
}

function Batches({ list: { entries }, visit: { account, query, texts } }: BatchesProps) {
  const path = `/console/accounts/${account.accountId}/batches`;
  if (entries.length === 0) {
    return (
      <Card>
        <Empty>{texts.batches.none}</Empty>
      </Card>
    );
  }
  const isFinal = entries.every(({ status }) => isFinalBatch(status));
  return (
    <Polled path={`${path}/list?${query.toString()}`} seconds={POLL_SECONDS} isFinal={isFinal}>
      {entries.map((batch) => (
        <BatchCard batch={batch} path={path} />
      ))}
    </Polled>
  );
}

function BatchCard({ batch, path }: { readonly batch: SummedBatch; readonly path: string }) {
  return (
    <Card title={batch.id}>
      <BatchProgress batch={batch} />
      <Actions batch={batch} path={path} />
    </Card>
  );
}

function Actions({ batch, path }: { readonly batch: SummedBatch; readonly path: string }) {
  const { batches: messages, titles } = useTexts();
  const { id, accountId, endpoint, status, outputFileId, errorFileId } = batch;
  const isThere = { input: true, output: outputFileId !== null, errors: errorFileId !== null };
  return (
    <div class="row">
      {FILES.filter((kind) => isThere[kind]).map((kind) => (
        <a class="button quiet" href={`${path}/${id}/file?of=${kind}`} download>
          {messages.download[kind]}
        </a>
      ))}
      {createsTasks(endpoint) ? (
        <a class="button quiet" href={`/console/accounts/${accountId}/tasks?batch=${id}`}>
          {titles.tasks}
        </a>
      ) : null}
      {isFinalBatch(status) || status === 'cancelling' || status === 'finalizing' ? null : (
        <FormButton action={`${path}/${id}/cancel`} label={messages.cancel} question={messages.cancelQuestion} />
      )}
    </div>
  );
}
