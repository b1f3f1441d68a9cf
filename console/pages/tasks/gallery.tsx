/** Tasks as pictures and videos. The browser polls running tasks until all are final. */
import type { Child } from 'hono/jsx';
import type { Task } from '../../../domain/task.ts';
import { isFinal } from '../../../domain/task.ts';
import { Money, Polled, Time, usd } from '../../html/components.tsx';
import { Chosen } from '../../html/resource-table.tsx';
import { type Texts, wordFor } from '../../texts/texts.ts';
import { useTexts } from '../../html/page-context.ts';

interface Tasks {
  readonly tasks: readonly Task[];
  readonly accountId: string;
}

/** @param again the text of a link to the playground with the inputs of each task; by default, there is no link */
export function Gallery({ tasks, accountId, again }: Tasks & { readonly again?: string }) {
  return (
    <>
      <ul class="gallery">
        {tasks.map((task) => (
          <TaskTile task={task} accountId={accountId}>
            {again === undefined ? null : (
              <a href={`/console/accounts/${accountId}/playground?task=${task.id}`}>{again}</a>
            )}
          </TaskTile>
        ))}
      </ul>
      <RunningTasks tasks={tasks} accountId={accountId} />
    </>
  );
}

/** Polls all running tasks with one request. The answer contains the tiles whose status has changed. */
export function RunningTasks({ tasks, accountId }: Tasks) {
  const running = tasks.filter(({ status }) => !isFinal(status));
  if (running.length === 0) return null;
  const shown = running.map(({ id, status }) => `${id}.${status}`).join(',');
  const path = `/console/accounts/${accountId}/tasks/tiles?shown=${shown}`;
  return <Polled path={path} seconds={2} />;
}

interface TaskTileProps {
  readonly task: Task;
  readonly accountId: string;
  readonly isUpdate?: boolean;
  readonly children?: Child;
}

/** @param isUpdate whether the tile replaces the task's tile on the page */
export function TaskTile({ task, accountId, isUpdate = false, children }: TaskTileProps) {
  const texts = useTexts();
  const path = `/console/accounts/${accountId}/tasks/${task.id}`;
  return (
    <li id={`tile-${task.id}`} {...(isUpdate && { 'hx-swap-oob': 'true' })}>
      <div class="frame">
        <Result task={task} controls={false} />
      </div>
      <div class="about">
        <div class="row">
          <Chosen name="status" value={task.status} />
          {task.status === 'failed' ? null : <Money amount={task.price} />}
        </div>
        {task.failure === null ? null : (
          <span class="soft" title={task.failure.message}>
            {wordFor('error_code', task.failure.code, texts)}
          </span>
        )}
        <p class="prompt">
          <a href={path}>{task.request.prompt}</a>
        </p>
        <span class="soft">{task.model}</span>
        <span class="soft">
          <Time at={task.createdAt} />
        </span>
        {children}
      </div>
    </li>
  );
}

/** Returns the duration of a task as text, or null until the task is final. */
export function durationOf({ createdAt, completedAt }: Task, { tasks: messages }: Texts): string | null {
  return completedAt && messages.seconds(Math.round((completedAt.getTime() - createdAt.getTime()) / 1000));
}

/** The parameters of a task, except the prompt and the inputs. */
export function settingsOf(
  { durationSeconds, aspectRatio, resolution, width, height, parameters = {} }: Task['request'],
  { tasks: messages }: Texts,
): readonly string[] {
  return [
    durationSeconds === undefined ? '' : messages.seconds(durationSeconds),
    resolution ?? '',
    aspectRatio ?? '',
    width === undefined || height === undefined ? '' : `${width} × ${height}`,
    ...Object.entries(parameters).map(
      ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    ),
  ].filter((setting) => setting !== '');
}

export function DownloadLinks({ task: { output } }: { task: Task }) {
  const { tasks: messages } = useTexts();
  return (
    <>
      {(output ?? []).map(({ url }) => (
        <a href={url} download>
          {messages.download}
        </a>
      ))}
    </>
  );
}

interface ResultProps {
  readonly task: Task;
  readonly controls: boolean;
  /** Replaces the prompt on operators' pages: operators read prompts only on request. */
  readonly description?: string;
}

/** The pictures and videos of a task, or its status if it has none. */
export function Result({ task, controls, description = task.request.prompt.slice(0, 300) }: ResultProps) {
  const texts = useTexts();
  const { output, failure, price } = task;
  if (output === null)
    return <span>{failure ? texts.tasks.refunded(usd(price)) : texts.values.status[task.status]}</span>;
  const shown = controls ? output : output.slice(0, 1);
  return (
    <>
      {shown.map(({ type, url }) =>
        type === 'image' ? (
          <img src={url} alt={description} loading="lazy" />
        ) : (
          <video src={url} controls={controls} muted playsinline preload="metadata" aria-label={description}></video>
        ),
      )}
    </>
  );
}
