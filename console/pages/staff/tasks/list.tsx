/** Tasks in rows, without what customers wrote. */
import { type Task, TASK_KINDS, TASK_STATUSES } from '../../../../domain/task.ts';
import { Card, Choice, Field, Money, Noted, Pages } from '../../../html/components.tsx';
import { DataTable } from '../../../html/data-table.tsx';
import { Filters, optionsOf } from '../../../html/filters.tsx';
import type { ListProps } from '../../../list-page.ts';
import { AnyId } from '../../../html/linked-ids.tsx';
import type { Texts } from '../../../texts/texts.ts';
import { durationOf, TaskStatus } from '../../tasks/gallery.tsx';

export function TaskList({ page: { entries: tasks, next }, query, path, texts }: ListProps<Task>) {
  const { staffTasks: words, staff, tasks: taskWords, common } = texts;
  const given = (name: string): string => query.get(name) ?? '';
  return (
    <>
      <Filters texts={texts}>
        <Field name="account" label={staff.accountId} value={given('account')} />
        <Field name="model" label={common.model} value={given('model')} />
        <Choice
          name="status"
          label={common.status}
          value={given('status')}
          options={optionsOf(taskWords.allStatuses, TASK_STATUSES, taskWords.status)}
        />
        <Choice
          name="kind"
          label={words.kind}
          value={given('kind')}
          options={optionsOf(taskWords.allKinds, TASK_KINDS, taskWords.kinds)}
        />
        <Field name="from" label={staff.from} type="date" value={given('from')} />
        <Field name="to" label={staff.to} type="date" value={given('to')} />
      </Filters>
      <Card>
        <TaskTable tasks={tasks} none={words.none} texts={texts} />
      </Card>
      <Pages path={path} query={query} next={next} texts={texts} />
    </>
  );
}

/** @param tasks of which accounts are only named where there may be several */
export function TaskTable({
  tasks,
  none,
  texts,
  hasAccounts = true,
}: {
  readonly tasks: readonly Task[];
  readonly none: string;
  readonly texts: Texts;
  readonly hasAccounts?: boolean;
}) {
  const { staffTasks: words, common, tasks: taskWords } = texts;
  return (
    <DataTable
      label={words.title}
      rows={tasks}
      none={none}
      columns={[
        [
          words.task,
          ({ id, accountId }) => (
            <Noted note={hasAccounts ? <AnyId id={accountId} /> : null}>
              <AnyId id={id} />
            </Noted>
          ),
          'name',
        ],
        [common.model, 'model'],
        [
          common.status,
          (task) => (
            <Noted note={task.failure?.code}>
              <TaskStatus task={task} texts={texts} />
            </Noted>
          ),
        ],
        [common.price, ({ price }) => <Money amount={price} />, 'money'],
        [common.created, 'createdAt'],
        [taskWords.took, (task) => durationOf(task, texts), 'number'],
      ]}
    />
  );
}
