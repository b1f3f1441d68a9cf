/** Actions of operators, as the log of the administration records them. */
import type { AdminAction } from '../../../../db/queries/admin-tokens.ts';
import { ADMIN_ACTION } from '../../../../services/resources/admin.ts';
import { WithNote } from '../../../html/components.tsx';
import { LinkedIds } from '../../../html/linked-ids.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { ResourceTable } from '../../../html/resource-table.tsx';

interface ActionTableProps {
  readonly actions: readonly AdminAction[];
  /** Whether the actions are about several accounts. */
  readonly hasAccounts?: boolean;
}

export function ActionTable({ actions, hasAccounts = false }: ActionTableProps) {
  const { titles, adminActions: messages, common, staff, fields } = useTexts();
  return (
    <ResourceTable
      label={titles.actions}
      of={ADMIN_ACTION}
      rows={actions}
      none={messages.none}
      columns={[
        [common.when, 'created_at'],
        'author',
        [
          staff.action,
          ({ action, path }) => (
            <WithNote note={<LinkedIds text={path} />}>{action.replace(/^console .*/, messages.form)}</WithNote>
          ),
        ],
        hasAccounts ? 'account_id' : null,
        [fields.reason, 'reason', 'words'],
      ]}
    />
  );
}
