/** A simulated job. Nothing runs while it "renders": its state follows from the clock. */
import { randomUUID } from 'node:crypto';
import type { Rendering, Submission } from './submission.ts';

export type JobStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';

export interface Job {
  readonly id: string;
  /** The idempotency key of the submission: the task's id. */
  readonly key: string;
  readonly submission: Submission;
  readonly createdAtMs: number;
  /** When the render ends; Infinity if it never does. */
  rendersUntilMs: number;
  /** How often the job was submitted with the same key. */
  submissions: number;
  cancelledAtMs: number | undefined;
  pollErrorsLeft: number;
  forgetsLeft: number;
  /** How often it was reported as succeeded. */
  successesTold: number;
  deadLinksLeft: number;
  /** The number of requests for its files. */
  downloads: number;
}

/** The share of the render that the job waits before it starts. */
const QUEUED_SHARE = 0.1;
const STUCK_PERCENT = 42;

/** @param defaultRenderMs the duration of the render without a directive */
export function createJob(key: string, submission: Submission, nowMs: number, defaultRenderMs: number): Job {
  const { renderMs, isStuck, pollErrors, forgets, deadLinks } = submission.directives;
  return {
    id: `job_${randomUUID()}`,
    key,
    submission,
    createdAtMs: nowMs,
    rendersUntilMs: isStuck ? Infinity : nowMs + (renderMs ?? defaultRenderMs),
    submissions: 1,
    cancelledAtMs: undefined,
    pollErrorsLeft: pollErrors,
    forgetsLeft: forgets,
    successesTold: 0,
    deadLinksLeft: deadLinks,
    downloads: 0,
  };
}

export function statusOf({ submission, ...job }: Job, nowMs: number): JobStatus {
  const { fail, recants } = submission.directives;
  if (job.cancelledAtMs !== undefined) return 'cancelled';
  if (nowMs >= job.rendersUntilMs) {
    return fail !== undefined || (recants && job.successesTold > 0) ? 'failed' : 'succeeded';
  }
  return progressShare(job, nowMs) < QUEUED_SHARE ? 'queued' : 'running';
}

export function hasEnded(job: Job, nowMs: number): boolean {
  return job.cancelledAtMs !== undefined || nowMs >= job.rendersUntilMs;
}

/** The time of its last change of state: its end, or now while it renders. */
export function updatedAtMs(job: Job, nowMs: number): number {
  return hasEnded(job, nowMs) ? (job.cancelledAtMs ?? job.rendersUntilMs) : nowMs;
}

/** Stops the job, unless it has ended or cannot be stopped. */
export function cancelJob(job: Job, nowMs: number): void {
  if (!hasEnded(job, nowMs) && !job.submission.directives.isUnstoppable) job.cancelledAtMs = nowMs;
}

/** Ends the render now, even if the job is stuck. */
export function finishJob(job: Job, nowMs: number): void {
  job.rendersUntilMs = Math.min(job.rendersUntilMs, nowMs);
}

/** Whether the job has created a file with that number. */
export function hasResult(job: Job, index: string, nowMs: number): boolean {
  return (
    statusOf(job, nowMs) === 'succeeded' && /^\d{1,2}$/.test(index) && Number(index) < job.submission.directives.files
  );
}

/** The job as the protocol shows it. */
export function presentJob(job: Job, nowMs: number): object {
  const status = statusOf(job, nowMs);
  const ended = hasEnded(job, nowMs) && { ended_at: new Date(updatedAtMs(job, nowMs)).toISOString() };
  const shown = { id: job.id, key: job.key, status, ...ended };
  if (status === 'running') {
    const percent = Math.floor(progressShare(job, nowMs) * 100);
    return { ...shown, progress_percent: percent, detail: `drawing, ${percent}% done` };
  }
  if (status === 'succeeded') {
    const { files } = job.submission.directives;
    return { ...shown, results: Array.from({ length: files }, (_, index) => presentResult(job, index)) };
  }
  if (status === 'failed') {
    return {
      ...shown,
      error: {
        code: job.submission.directives.fail ?? 'processing_failed',
        message: 'The prompt asked for this failure.',
      },
    };
  }
  return shown;
}

function presentResult(job: Job, index: number): object {
  const mimeType = job.submission.rendering.kind === 'video' ? 'video/mp4' : 'image/png';
  return { url: `v1/jobs/${job.id}/results/${index}`, mime_type: mimeType };
}

/** The job for tests and people: without the prompt, with the number of its submissions. */
export function summariseJob(job: Job, nowMs: number): object {
  const { model, rendering, inputs } = job.submission;
  return {
    id: job.id,
    key: job.key,
    status: statusOf(job, nowMs),
    submissions: job.submissions,
    summary: { model, ...presentRendering(rendering), ...inputs },
    created_at: new Date(job.createdAtMs).toISOString(),
    ended_at: hasEnded(job, nowMs) ? new Date(updatedAtMs(job, nowMs)).toISOString() : null,
  };
}

function presentRendering(rendering: Rendering): object {
  const { kind, width, height } = rendering;
  if (rendering.kind === 'image') return { kind, width, height, transparent: rendering.transparent };
  return { kind, width, height, duration_seconds: rendering.durationSeconds };
}

function progressShare(job: Pick<Job, 'createdAtMs' | 'rendersUntilMs'>, nowMs: number): number {
  if (job.rendersUntilMs === Infinity) return STUCK_PERCENT / 100;
  return (nowMs - job.createdAtMs) / (job.rendersUntilMs - job.createdAtMs);
}
