/** A table of tasks, without prompts. */
import { LISTED_TASK } from '../../../../api/routes/admin/present.ts';
import { type Task, TASK_KINDS, TASK_STATUSES } from '../../../../domain/task.ts';
import { Card, Money, Pages } from '../../../html/components.tsx';
import { Candidates, ChoiceFilter, ChoiceLinks, DayFilters, FieldFilter, Filters } from '../../../html/filters.tsx';
import type { ListPage } from '../../../list-page.ts';
import type { PartFilter } from '../../../part-filter.ts';
import { ResourceTable } from '../../../html/resource-table.tsx';
import { durationOf } from '../../tasks/gallery.tsx';
import { useTexts } from '../../../html/page-context.ts';

export function TaskList({
  page: { entries: tasks, next },
  filters,
}: {
  readonly page: ListPage<Task>;
  readonly filters: readonly PartFilter[];
}) {
  const texts = useTexts();
  const { staffTasks: words, tasks: taskWords, common, fields } = texts;
  return (
    <>
      <Filters>
        <ChoiceLinks name="status" all={common.allStatuses} values={TASK_STATUSES} />
        <FieldFilter name="account" label={common.partOfAccount} />
        <FieldFilter name="model" label={common.partOfModel} />
        <ChoiceFilter name="kind" label={fields.kind} all={taskWords.allKinds} values={TASK_KINDS} />
        <DayFilters />
      </Filters>
      <Candidates filters={filters} />
      <Card>
        <TaskTable tasks={tasks} none={words.none} hasColumnMenu />
      </Card>
      <Pages next={next} />
    </>
  );
}

/** @param hasAccounts whether the table shows the account of each task */
export function TaskTable({
  tasks,
  none,
  hasAccounts = true,
  hasColumnMenu = false,
}: {
  readonly tasks: readonly Task[];
  readonly none: string;
  readonly hasAccounts?: boolean;
  readonly hasColumnMenu?: boolean;
}) {
  const texts = useTexts();
  const { common, titles, fields } = texts;
  return (
    <ResourceTable
      of={LISTED_TASK}
      label={titles.allTasks}
      rows={tasks}
      none={none}
      hasColumnMenu={hasColumnMenu}
      notes={{ ...(hasAccounts && { id: 'account_id' }), status: 'error_code' }}
      columns={[
        [fields.task_id, 'id'],
        'model',
        'status',
        [common.price, ({ price }) => <Money amount={price} />, 'number', 'price_usd'],
        'created_at',
        [common.took, (task) => durationOf(task, texts), 'number', 'completed_at'],
      ]}
    />
  );
}
