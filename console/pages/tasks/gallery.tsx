/** Tasks as pictures and videos. The browser fetches a running task again until the task is final. */
import type { Task } from '../../../domain/task.ts';
import { isFinal } from '../../../domain/task.ts';
import { Money, Time, usd } from '../../html/components.tsx';
import { Chosen } from '../../html/resource-table.tsx';
import type { Texts } from '../../texts/texts.ts';
import { useTexts } from '../../html/page-context.ts';

export function Gallery({ tasks, accountId }: { readonly tasks: readonly Task[]; readonly accountId: string }) {
  return (
    <ul class="gallery">
      {tasks.map((task) => (
        <TaskTile task={task} accountId={accountId} />
      ))}
    </ul>
  );
}

export function TaskTile({ task, accountId }: { readonly task: Task; readonly accountId: string }) {
  const path = `/console/accounts/${accountId}/tasks/${task.id}`;
  const live = isFinal(task.status)
    ? {}
    : { 'hx-get': `${path}/tile`, 'hx-trigger': 'every 2s', 'hx-swap': 'outerHTML' };
  return (
    <li {...live}>
      <div class="frame">
        <Result task={task} controls={false} />
      </div>
      <div class="about">
        <div class="row">
          <Chosen name="status" value={task.status} />
          {task.status === 'failed' ? null : <Money amount={task.price} />}
        </div>
        <p class="prompt">
          <a href={path}>{task.request.prompt}</a>
        </p>
        <span class="soft">{task.model}</span>
        <span class="soft">
          <Time at={task.createdAt} />
        </span>
      </div>
    </li>
  );
}

/** Returns the duration of a task in words, or null until the task is final. */
export function durationOf({ createdAt, completedAt }: Task, { tasks: words }: Texts): string | null {
  return completedAt && words.seconds(Math.round((completedAt.getTime() - createdAt.getTime()) / 1000));
}

export function DownloadLinks({ task: { output } }: { readonly task: Task }) {
  const { tasks: words } = useTexts();
  return (
    <>
      {(output ?? []).map(({ url }) => (
        <a href={url} download>
          {words.download}
        </a>
      ))}
    </>
  );
}

/** The pictures and videos of a task, or its status in words. */
export function Result({
  task,
  controls,
  description = task.request.prompt.slice(0, 300),
}: {
  readonly task: Task;
  readonly controls: boolean;
  /** Replaces the prompt on operators' pages: operators read prompts only on request. */
  readonly description?: string;
}) {
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
