/** The progress of a batch, for the members of its account and for operators. */
import type { Database } from '../../db/database.ts';
import { type BatchSums, NO_BATCH_SUMS, sumBatches } from '../../db/queries/batches.ts';
import { type Batch, countEnded, pauseOf } from '../../domain/batch.ts';
import { Badge, Facts, Money, Time, type Tone } from '../html/components.tsx';
import { useTexts } from '../html/page-context.ts';
import { wordFor } from '../texts/texts.ts';

const MS_PER_MINUTE = 60_000;
/** The faults of a refused input that a page shows. */
const MAX_ERRORS = 10;

/** A batch with the sums of its text requests. */
export interface SummedBatch extends Batch {
  readonly sums: BatchSums;
}

export async function withSums(database: Database, batches: readonly Batch[]): Promise<readonly SummedBatch[]> {
  const sums = await sumBatches(database, batches);
  return batches.map((batch) => ({ ...batch, sums: sums.get(batch.id) ?? NO_BATCH_SUMS }));
}

const TONES: Readonly<Partial<Record<Batch['status'], Tone>>> = {
  completed: 'good',
  failed: 'bad',
  expired: 'bad',
  cancelled: 'calm',
};

export function BatchStatusBadge({ status }: Pick<Batch, 'status'>) {
  return <Badge tone={TONES[status] ?? 'busy'}>{wordFor('batch_status', status, useTexts())}</Badge>;
}

export function BatchProgress({ batch }: { readonly batch: SummedBatch }) {
  const texts = useTexts();
  const { batches: messages } = texts;
  const { status, counts, createdAt, expiresAt, endedAt, endpoint, sums, errors } = batch;
  const pause = pauseOf(batch);
  const done = countEnded(counts);
  const minutesLeft = minutesLeftOf(batch, done);
  return (
    <>
      <p>
        <BatchStatusBadge status={status} />{' '}
        <span class="soft">
          {endpoint} · <Time at={createdAt} />
        </span>
      </p>
      <progress value={done} max={Math.max(counts.total, 1)} aria-label={messages.progressLabel} />
      <p>{messages.progress(done, counts.total)}</p>
      {batch.operatorPausedAt !== null ? (
        <p class="problem">{messages.pausedByOperator}</p>
      ) : pause === null ? null : (
        <p class="problem">{messages.paused(wordFor('error_code', pause, texts))}</p>
      )}
      {errors === null ? null : (
        <ul class="problem">
          {errors.slice(0, MAX_ERRORS).map(({ line, message }) => (
            <li>{line === null ? message : `${messages.line(line)}: ${message}`}</li>
          ))}
        </ul>
      )}
      <Facts
        facts={[
          [messages.cost, <Money amount={sums.charged} />],
          [messages.succeeded, counts.succeeded],
          counts.succeeded === done ? null : [messages.notSucceeded, <Failures batch={batch} />],
          minutesLeft === null ? null : [messages.timeLeft, messages.minutes(minutesLeft)],
          endedAt === null ? [messages.expires, <Time at={expiresAt} />] : [messages.ended, <Time at={endedAt} />],
        ]}
      />
    </>
  );
}

/** The number of unsuccessful requests by kind. */
function Failures({ batch: { counts, sums } }: { readonly batch: SummedBatch }) {
  const texts = useTexts();
  const known = sums.errors.reduce((sum, { count }) => sum + count, 0);
  const kinds: readonly (readonly [string, number])[] = [
    ...sums.errors.map(({ code, count }) => [wordFor('error_code', code, texts), count] as const),
    [texts.batches.refused, counts.failed - known],
    [wordFor('batch_status', 'expired', texts), counts.expired],
    [wordFor('batch_status', 'cancelled', texts), counts.cancelled],
  ];
  return (
    <>
      {kinds
        .filter(([, count]) => count > 0)
        .map(([kind, count]) => `${kind}: ${count}`)
        .join(' · ')}
    </>
  );
}

/** The minutes that are left at the pace so far; null if the pace is unknown. */
function minutesLeftOf(batch: Batch, done: number): number | null {
  const { status, inProgressAt, counts } = batch;
  if (status !== 'in_progress' || inProgressAt === null || done === 0 || pauseOf(batch) !== null) return null;
  const elapsedMs = Date.now() - inProgressAt.getTime();
  return Math.max(Math.ceil((elapsedMs * (counts.total - done)) / done / MS_PER_MINUTE), 1);
}
