/** The result of a task, beside the form that created the task. */
import { isFinal, type Task } from '../../../domain/task.ts';
import { Card, Money, Polled } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';
import { Chosen } from '../../html/resource-table.tsx';
import { DownloadLinks, Result } from '../tasks/gallery.tsx';

/** The place of the result, which keeps its content when the model changes. Screen readers announce new content. */
export function ResultPlace() {
  return <div id="result" hx-preserve="true" aria-live="polite"></div>;
}

/** The browser polls this result until the task is final. The answer is empty while the status stays the same. */
export function TaskResult({ task }: { task: Task }) {
  const { playground: words, common } = useTexts();
  const account = `/console/accounts/${task.accountId}`;
  const path = `${account}/playground/tasks/${task.id}?shown=${task.status}`;
  return (
    <Polled path={path} seconds={2} isFinal={isFinal(task.status)}>
      <Card title={common.result}>
        <div class="result">
          <Result task={task} controls />
        </div>
        {task.failure === null ? null : <p>{task.failure.message}</p>}
        <p class="row">
          <Chosen name="status" value={task.status} />
          {task.status === 'failed' ? null : <Money amount={task.price} />}
          <DownloadLinks task={task} />
          <a href={`${account}/tasks/${task.id}`}>{words.openTask}</a>
        </p>
      </Card>
    </Polled>
  );
}
