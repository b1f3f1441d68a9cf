/** A table of tasks, without prompts. */
import { LISTED_TASK } from '../../../../services/resources/admin.ts';
import type { Task } from '../../../../domain/task.ts';
import { Money, WithNote } from '../../../html/components.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { ResourceTable } from '../../../html/resource-table.tsx';
import { durationOf } from '../../tasks/gallery.tsx';

interface TaskTableProps {
  readonly tasks: readonly Task[];
  readonly none: string;
  readonly hasAccounts?: boolean;
  readonly hasColumnMenu?: boolean;
}

/** @param hasAccounts whether the table shows the account of each task */
export function TaskTable({ tasks, none, hasAccounts = true, hasColumnMenu = false }: TaskTableProps) {
  const texts = useTexts();
  const { common, titles, fields, staffTasks } = texts;
  return (
    <ResourceTable
      of={LISTED_TASK}
      label={titles.allTasks}
      rows={tasks}
      none={none}
      hasColumnMenu={hasColumnMenu}
      notes={{ ...(hasAccounts && { id: 'account_id' }), status: 'failure_reason' }}
      columns={[
        [fields.task_id, 'id'],
        'model',
        'status',
        [
          common.price,
          ({ price, status }) => (
            <WithNote note={status === 'failed' ? staffTasks.refunded : null}>
              <Money amount={price} />
            </WithNote>
          ),
          'number',
          'price_usd',
        ],
        'created_at',
        [common.took, (task) => durationOf(task, texts), 'number', 'completed_at'],
      ]}
    />
  );
}
