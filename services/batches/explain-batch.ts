/** The timeline of a batch from every source: its row, operators' actions, and Temporal. */
import type { Database } from '../../db/database.ts';
import { findAnyBatch } from '../../db/queries/batch-runs.ts';
import { NO_BATCH_SUMS, sumBatches, sumHolds, withCounts } from '../../db/queries/batches.ts';
import { type BatchAction, listBatchActions } from '../../db/queries/operator-actions.ts';
import { type Batch, countEnded, isFinalBatch, pauseOf } from '../../domain/batch.ts';
import { isId } from '../../domain/ids.ts';
import { formatDollars, type PicoUsd } from '../../domain/money.ts';
import { notFoundError } from '../../domain/not-found.ts';
import type { Services } from '../services.ts';
import { unlessUnavailable } from '../tasks/explain-task.ts';
import type { HistoryStep } from '../tasks/history-steps.ts';
import { TIMELINE_TEXTS, type TimelineTexts, timelineLabel } from '../tasks/timeline-texts.ts';
import { describeStep, oldestFirst, type Timeline, type TimelineEvent } from '../tasks/timeline.ts';
import type { WorkflowHistory } from '../tasks/workflow-access.ts';

/** A batch with its money. */
export interface BatchWithMoney extends Batch {
  readonly charged: PicoUsd;
  /** The money held for all text requests of the key; 0 for a final batch. */
  readonly held: PicoUsd;
}

export interface BatchExplanation extends Timeline {
  readonly batch: BatchWithMoney;
  readonly actions: readonly BatchAction[];
}

export async function withMoney(database: Database, batches: readonly Batch[]): Promise<readonly BatchWithMoney[]> {
  const [sums, holds] = await Promise.all([sumBatches(database, batches), sumHolds(database, batches)]);
  return batches.map((batch) => ({
    ...batch,
    charged: (sums.get(batch.id) ?? NO_BATCH_SUMS).charged,
    held: isFinalBatch(batch.status) ? 0n : (holds.get(batch.apiKeyId) ?? 0n),
  }));
}

/** Finds a batch of any account, also one that its account deleted. */
export async function findBatchWithMoney(database: Database, id: string): Promise<BatchWithMoney | null> {
  const found = isId('batch', id) ? await findAnyBatch(database, id) : null;
  const [batch = null] = found === null ? [] : await withMoney(database, await withCounts(database, [found]));
  return batch;
}

/** @throws ServiceError `not_found` */
export async function existingBatch(database: Database, id: string): Promise<BatchWithMoney> {
  const batch = await findBatchWithMoney(database, id);
  if (batch === null) throw notFoundError('batch');
  return batch;
}

export async function explainBatch(
  { database, tasks }: Pick<Services, 'database' | 'tasks'>,
  batch: BatchWithMoney,
  texts = TIMELINE_TEXTS,
): Promise<BatchExplanation> {
  const [actions, workflow] = await Promise.all([
    listBatchActions(database, batch.id),
    tasks.workflows.read(batch.id).catch(unlessUnavailable),
  ]);
  const describe = (step: HistoryStep): string => describeStep(step, 0n, texts);
  return {
    id: batch.id,
    batch,
    actions,
    verdict: judge(batch, workflow, texts),
    events: oldestFirst([
      ...eventsOf(batch, texts),
      ...actions.map(({ createdAt, kind, author, reason }): TimelineEvent => {
        return {
          at: createdAt,
          source: 'operator',
          text: texts.operator(timelineLabel(kind, texts), null, author, reason),
        };
      }),
      ...(workflow?.steps ?? []).filter(isWorthReading).map((step): TimelineEvent => {
        return { at: step.at, source: 'workflow', text: describe(step) };
      }),
    ]),
    pending: (workflow?.pending ?? []).map(describe),
  };
}

/** @param workflow null if Temporal knows none; undefined if Temporal does not answer */
function judge(batch: BatchWithMoney, workflow: WorkflowHistory | null | undefined, texts: TimelineTexts): string {
  const { batch: phrases } = texts;
  const { status, counts, charged, operatorPausedAt } = batch;
  const usd = formatDollars(charged);
  const word = timelineLabel(status, texts);
  if (isFinalBatch(status)) return phrases.final(word, counts.succeeded, counts.total, usd);
  const progress = phrases.running(word, countEnded(counts), counts.total, usd);
  const reason = pauseOf(batch);
  if (operatorPausedAt !== null) return `${progress} ${phrases.pausedByOperator}`;
  if (reason !== null) return `${progress} ${phrases.paused(timelineLabel(reason, texts))}`;
  if (workflow === undefined) return `${progress} ${phrases.temporalSilent}`;
  if (workflow?.state.closedAt === null) return progress;
  return `${progress} ${phrases.noWorkflow}`;
}

function eventsOf(batch: Batch, texts: TimelineTexts): readonly TimelineEvent[] {
  const { batch: phrases } = texts;
  const { requestId, apiKeyId, endpoint, inputFileId, outputFileId, errorFileId, status } = batch;
  const files = [outputFileId, errorFileId].filter((id) => id !== null);
  const moments: readonly (readonly [Date | null, string])[] = [
    [batch.createdAt, phrases.created(endpoint, inputFileId, requestId, apiKeyId)],
    [batch.inProgressAt, phrases.started(batch.counts.total)],
    [batch.pausedAt, phrases.paused(timelineLabel(batch.pausedReason ?? '', texts))],
    [batch.operatorPausedAt, phrases.pausedByOperator],
    [batch.cancellingAt, phrases.cancelling],
    [batch.finalizingAt, phrases.finalizing],
    [batch.endedAt, phrases.ended(timelineLabel(status, texts), files.join(', '))],
  ];
  return moments.flatMap(([at, text]) => (at === null ? [] : [{ at, source: 'batch' as const, text }]));
}

/** Leaves out the chunks that went well: a batch has hundreds. */
function isWorthReading(step: HistoryStep): boolean {
  return step.kind !== 'activity' || step.outcome !== 'done' || step.attempt > 1;
}
