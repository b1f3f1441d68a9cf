/**
 * Media tasks: their states and the only ways between them (specification section 3), and what each kind of task tells a
 * client that polls it (sections 2.1 and 4.4).
 */

export type TaskKind = 'image' | 'video';
export type TaskStatus = 'queued' | 'processing' | 'succeeded' | 'failed';

const TRANSITIONS: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  queued: ['processing', 'succeeded', 'failed'],
  processing: ['succeeded', 'failed'],
  succeeded: [],
  failed: [],
};

/** Whether a task may go from one state to the other. */
export function canTransition(from: TaskStatus, to: TaskStatus): boolean {
  return TRANSITIONS[from].includes(to);
}

/** `succeeded` and `failed` never change again. */
export function isFinal(status: TaskStatus): boolean {
  return TRANSITIONS[status].length === 0;
}

/** How long a client should wait between two polls of a running task. */
export const POLL_AFTER_SECONDS: Readonly<Record<TaskKind, number>> = { image: 5, video: 8 };

/** One generated file, as stored with the task and shown as `output.media[]` (specification section 2.2). */
export interface GeneratedMedia {
  readonly type: TaskKind;
  readonly url: string;
  readonly mimeType: string;
  /** Pixels; told by the file itself. */
  readonly width?: number;
  readonly height?: number;
}
