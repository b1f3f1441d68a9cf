/** A table of tasks, without prompts. */
import { LISTED_TASK } from '../../../../api/routes/admin/present.ts';
import { type Task, TASK_KINDS, TASK_STATUSES } from '../../../../domain/task.ts';
import { Card, Field, Money, Pages } from '../../../html/components.tsx';
import { ChoiceFilter, Filters } from '../../../html/filters.tsx';
import type { ListProps } from '../../../list-page.ts';
import { ResourceTable } from '../../../html/resource-table.tsx';
import { durationOf } from '../../tasks/gallery.tsx';
import { useTexts } from '../../../html/page-context.ts';

export function TaskList({ page: { entries: tasks, next }, query, path }: ListProps<Task>) {
  const texts = useTexts();
  const { staffTasks: words, staff, tasks: taskWords, fields } = texts;
  const given = (name: string): string => query.get(name) ?? '';
  return (
    <>
      <Filters>
        <Field name="account" label={staff.accountId} value={given('account')} />
        <Field name="model" label={fields.model} value={given('model')} />
        <ChoiceFilter
          query={query}
          name="status"
          label={fields.status}
          all={taskWords.allStatuses}
          values={TASK_STATUSES}
        />
        <ChoiceFilter query={query} name="kind" label={words.kind} all={taskWords.allKinds} values={TASK_KINDS} />
        <Field name="from" label={staff.from} type="date" value={given('from')} />
        <Field name="to" label={staff.to} type="date" value={given('to')} />
      </Filters>
      <Card>
        <TaskTable tasks={tasks} none={words.none} />
      </Card>
      <Pages path={path} query={query} next={next} />
    </>
  );
}

/** @param hasAccounts whether the table shows the account of each task */
export function TaskTable({
  tasks,
  none,
  hasAccounts = true,
}: {
  readonly tasks: readonly Task[];
  readonly none: string;
  readonly hasAccounts?: boolean;
}) {
  const texts = useTexts();
  const { staffTasks: words, common, tasks: taskWords } = texts;
  return (
    <ResourceTable
      of={LISTED_TASK}
      label={words.title}
      rows={tasks}
      none={none}
      notes={{ ...(hasAccounts && { id: 'account_id' }), status: 'error_code' }}
      columns={[
        [words.task, 'id'],
        'model',
        'status',
        [common.price, ({ price }) => <Money amount={price} />, 'number'],
        'created_at',
        [taskWords.took, (task) => durationOf(task, texts), 'number'],
      ]}
    />
  );
}
