/** Tasks in rows, without what customers wrote. */
import { isFinal, type Task, TASK_KINDS, TASK_STATUSES } from '../../../../domain/task.ts';
import { Card, Choice, Empty, Field, Money, Pages, Table, Time } from '../../../html/components.tsx';
import type { ListPage } from '../../../list-page.ts';
import { AnyId } from '../../../html/linked-ids.tsx';
import type { Texts } from '../../../texts/texts.ts';
import { TaskStatus } from '../../tasks/gallery.tsx';

export function TaskList({
  page: { entries: tasks, next },
  query,
  path,
  texts,
}: {
  readonly page: ListPage<Task>;
  readonly query: URLSearchParams;
  readonly path: string;
  readonly texts: Texts;
}) {
  return (
    <>
      <Filters query={query} texts={texts} />
      {tasks.length === 0 ? (
        <Empty>{texts.staffTasks.none}</Empty>
      ) : (
        <Card>
          <TaskTable tasks={tasks} texts={texts} />
        </Card>
      )}
      <Pages path={path} query={query} next={next} texts={texts} />
    </>
  );
}

function Filters({ query, texts }: { readonly query: URLSearchParams; readonly texts: Texts }) {
  const { staffTasks: words, staff, tasks: taskWords, common } = texts;
  const given = (name: string): string => query.get(name) ?? '';
  return (
    <form method="get" class="filters" role="search">
      <Field name="account" label={staff.accountId} value={given('account')} />
      <Field name="model" label={common.model} value={given('model')} />
      <Choice
        name="status"
        label={common.status}
        value={given('status')}
        options={[
          ['', taskWords.allStatuses],
          ...TASK_STATUSES.map((known) => [known, taskWords.status[known]] as const),
        ]}
      />
      <Choice
        name="kind"
        label={words.kind}
        value={given('kind')}
        options={[['', taskWords.allKinds], ...TASK_KINDS.map((known) => [known, taskWords.kinds[known]] as const)]}
      />
      <Field name="from" label={staff.from} type="date" value={given('from')} />
      <Field name="to" label={staff.to} type="date" value={given('to')} />
      <button type="submit">{common.filter}</button>
    </form>
  );
}

/** @param tasks of which accounts are only named where there may be several */
export function TaskTable({
  tasks,
  texts,
  hasAccounts = true,
}: {
  readonly tasks: readonly Task[];
  readonly texts: Texts;
  readonly hasAccounts?: boolean;
}) {
  const { staffTasks: words, common, tasks: taskWords } = texts;
  return (
    <Table
      label={words.title}
      columns={[
        words.task,
        common.model,
        common.status,
        { number: common.price },
        common.created,
        { number: taskWords.took },
      ]}
    >
      {tasks.map((task) => (
        <tr>
          <th scope="row">
            <AnyId id={task.id} />
            {hasAccounts ? (
              <div class="soft">
                <AnyId id={task.accountId} />
              </div>
            ) : null}
          </th>
          <td>{task.model}</td>
          <td>
            <TaskStatus task={task} texts={texts} />
            {task.failure ? <div class="soft">{task.failure.code}</div> : null}
          </td>
          <td class="right">
            <Money amount={task.price} />
          </td>
          <td>
            <Time at={task.createdAt} />
          </td>
          <td class="right number">{isFinal(task.status) ? taskWords.seconds(secondsOf(task)) : ''}</td>
        </tr>
      ))}
    </Table>
  );
}

function secondsOf({ completedAt, createdAt }: Task): number {
  return completedAt === null ? 0 : Math.round((completedAt.getTime() - createdAt.getTime()) / 1000);
}
