/** Batches of all accounts. */
import type { ApiServices } from '../../../../api/services.ts';
import { HistoryLink } from '../../../html/history-link.tsx';
import { listBatches } from '../../../../db/queries/batches.ts';
import {
  type BatchStatus,
  BATCH_STATUSES,
  countEnded,
  createsTasks,
  isFinalBatch,
  pauseOf,
} from '../../../../domain/batch.ts';
import {
  type BatchExplanation,
  type BatchWithMoney,
  existingBatch,
  explainBatch,
  withMoney,
} from '../../../../services/batches/explain-batch.ts';
import {
  cancelAnyBatch,
  pauseAnyBatch,
  resumeAnyBatch,
  retryLines,
} from '../../../../services/batches/operate-batch.ts';
import { ADMIN_BATCH } from '../../../../services/resources/admin.ts';
import { withAccountNames } from '../../../account-names.ts';
import { Card, Facts, Money, Pages, Polled, WithNote } from '../../../html/components.tsx';
import { Candidates, ChoiceLinks, FieldFilter, Filters } from '../../../html/filters.tsx';
import { AnyId, ShortId } from '../../../html/linked-ids.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { ReasonCards } from '../../../html/reason-card.tsx';
import { TableCard } from '../../../html/resource-table.tsx';
import { Timeline } from '../../../html/timeline.tsx';
import { readListPage } from '../../../list-page.ts';
import { formsOver, hasPermission, type PageResult, showPage, showPart, staff, type UserVisit } from '../../../page.ts';
import { findFilteredAccount, readIfFiltered } from '../../../part-filter.ts';
import { wordFor } from '../../../texts/texts.ts';
import { BatchProgress, BatchStatusBadge, type SummedBatch, withSums } from '../../batch-progress.tsx';
import { authorshipOf } from '../reason.ts';

const POLL_SECONDS = 3;

const page = staff.page('/staff/batches/{batch_id}', 'read', showBatch);
const act = formsOver(page, 'operate', batchOf);

export const staffBatchPages = [
  staff.page('/staff/batches', 'read', list),
  page,
  staff.page('/staff/batches/{batch_id}/story', 'read', async (visit, services) =>
    showPart(<Story {...await readStory(visit, services)} />),
  ),
  act(
    '/cancel',
    (visit, { database }, batch) => cancelAnyBatch(database, batch, authorshipOf(visit)),
    'batchCancelling',
  ),
  act('/pause', (visit, { database }, batch) => pauseAnyBatch(database, batch, authorshipOf(visit)), 'batchPaused'),
  act('/resume', (visit, { database }, batch) => resumeAnyBatch(database, batch, authorshipOf(visit)), 'batchResumed'),
  act('/retry', (visit, { database }, batch) => retryLines(database, batch, authorshipOf(visit)), 'batchRetrying'),
];

function batchOf({ params }: UserVisit, { database }: ApiServices): Promise<BatchWithMoney> {
  return existingBatch(database, params['batch_id'] ?? '');
}

async function list({ query, texts }: UserVisit, services: ApiServices): Promise<PageResult> {
  const { database } = services;
  const { temporal } = services.operations;
  const account = await findFilteredAccount(query, services);
  const status = BATCH_STATUSES.find((known) => known === query.get('status'));
  const { entries, next } = await readListPage(query, 'batch', (slice) =>
    readIfFiltered([account], async () => {
      const batches = await listBatches(database, { accountId: account.value ?? undefined, status, ...slice });
      return (await withMoney(database, batches)).map((batch) => ({ ...batch, temporal }));
    }),
  );
  const { staffBatches: messages, batches: batchMessages, common, titles, fields } = texts;
  const reasonOf = (batch: BatchWithMoney): string | null => {
    const reason = pauseOf(batch);
    return reason === null ? null : batchMessages.pausedShort(wordFor('error_code', reason, texts));
  };
  return withAccountNames(
    database,
    entries.map(({ accountId }) => accountId),
    showPage(
      titles.allBatches,
      <Filters>
        <ChoiceLinks name="status" all={common.allStatuses} values={BATCH_STATUSES} field="batch_status" />
        <FieldFilter name="account" label={common.partOfAccount} />
      </Filters>,
      <Candidates filters={[account]} />,
      <TableCard
        of={ADMIN_BATCH}
        label={titles.allBatches}
        rows={entries}
        none={messages.none}
        notes={{ id: 'account_id' }}
        columns={[
          [fields.batch_id, 'id'],
          [messages.endpoint, ({ endpoint }) => endpoint],
          [
            fields.status,
            (batch) => (
              <WithNote note={reasonOf(batch)}>
                <BatchStatusBadge status={batch.status} />
              </WithNote>
            ),
            null,
            'status',
          ],
          [messages.ended, ({ counts }) => `${countEnded(counts)} / ${counts.total}`, 'number', 'request_counts'],
          'charged_usd',
          'created_at',
        ]}
      />,
      <Pages next={next} />,
    ),
  );
}

interface StoryProps {
  readonly explanation: BatchExplanation;
  readonly summed: SummedBatch;
}

async function readStory(visit: UserVisit, services: ApiServices): Promise<StoryProps> {
  const batch = await batchOf(visit, services);
  const [explanation, [summed]] = await Promise.all([
    explainBatch(services, batch, visit.texts.timeline),
    withSums(services.database, [batch]),
  ]);
  if (summed === undefined) throw new Error('sums keep the number of batches');
  return { explanation, summed };
}

async function showBatch(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const story = await readStory(visit, services);
  const { batch } = story.explanation;
  const { staffBatches: messages, staffTasks, fields, common } = visit.texts;
  const { temporal } = services.operations;
  const requests = `/console/staff/${createsTasks(batch.endpoint) ? 'tasks' : 'text-requests'}?batch_id=${batch.id}`;
  return withAccountNames(
    services.database,
    [batch.accountId],
    showPage(
      fields.batch_id,
      <Story {...story} />,
      <Card title={common.details}>
        <Facts
          facts={[
            [fields.id, <ShortId id={batch.id} href={null} />],
            [fields.account_id, <AnyId id={batch.accountId} />],
            [fields.key, <AnyId id={batch.apiKeyId} />],
            [fields.charged_usd, <Money amount={batch.charged} />],
            [messages.held, <Money amount={batch.held} />],
            [messages.requests, <a href={requests}>{messages.openRequests}</a>],
            ...[batch.inputFileId, batch.outputFileId, batch.errorFileId].map((id) =>
              id === null ? null : ([messages.file, <AnyId id={id} />] as const),
            ),
            [staffTasks.workflow, <HistoryLink temporal={temporal} workflowId={batch.id} />],
          ]}
        />
      </Card>,
      hasPermission(visit, 'operate') ? <Actions batch={batch} /> : null,
    ),
  );
}

/** The progress and the timeline of a batch, which the browser polls until the batch is final. */
function Story({ explanation, summed }: StoryProps) {
  const { staffTasks } = useTexts();
  const { batch, verdict, events, pending = [] } = explanation;
  return (
    <Polled
      path={`/console/staff/batches/${batch.id}/story`}
      seconds={POLL_SECONDS}
      isFinal={isFinalBatch(batch.status)}
    >
      <Card>
        <BatchProgress batch={summed} />
      </Card>
      <Card title={staffTasks.timeline}>
        <p class="verdict">{verdict}</p>
        <Timeline events={events} pending={pending} />
      </Card>
    </Polled>
  );
}

const STARTS: readonly BatchStatus[] = ['validating', 'in_progress'];

function Actions({ batch: { id, status, counts, operatorPausedAt } }: { readonly batch: BatchWithMoney }) {
  const { staffBatches: messages } = useTexts();
  if (!STARTS.includes(status)) return null;
  const actions = [
    operatorPausedAt === null
      ? (['pause', messages.pause, messages.pauseHint] as const)
      : (['resume', messages.resume, messages.resumeHint] as const),
    ...(counts.failed > 0 && status === 'in_progress' ? [['retry', messages.retry, messages.retryHint] as const] : []),
    ['cancel', messages.cancel, messages.cancelHint] as const,
  ];
  return <ReasonCards path={`batches/${id}`} actions={actions} />;
}
