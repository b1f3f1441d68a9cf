/** Deliveries of events to webhook endpoints. */
import type { HistoryLinks } from '../../../services/operations/history-link.ts';
import { HistoryLink } from '../../html/history-link.tsx';
import { DELIVERY } from '../../../services/resources/webhooks.ts';
import type { Delivery } from '../../../db/queries/deliveries.ts';
import { FormButton, WithNote } from '../../html/components.tsx';
import { AnyId } from '../../html/linked-ids.tsx';
import { TableCard } from '../../html/resource-table.tsx';
import { useTexts } from '../../html/page-context.ts';

interface DeliveriesProps {
  readonly deliveries: readonly Delivery[];
  readonly none: string;
  readonly temporal: HistoryLinks;
  /** The path of redelivery; null for operators without the permission. */
  readonly redeliverPath?: string | null;
  /** Whether all deliveries belong to the endpoint of the page, which the table then leaves out. */
  readonly isOfEndpoint?: boolean;
}

export function Deliveries({
  deliveries,
  none,
  temporal,
  redeliverPath = null,
  isOfEndpoint = false,
}: DeliveriesProps) {
  const { staffTasks: messages, fields, common } = useTexts();
  return (
    <TableCard
      of={DELIVERY}
      title={common.deliveries}
      rows={deliveries}
      none={none}
      columns={[
        [
          fields.event,
          ({ id, endpointId, eventType, taskId }) => (
            <WithNote note={taskId === null ? <code>{id}</code> : <AnyId id={taskId} />}>
              <a href={`/console/staff/webhooks/${endpointId}/deliveries/${id}`}>{eventType}</a>
            </WithNote>
          ),
        ],
        isOfEndpoint ? null : 'webhook_id',
        'status',
        [messages.attempts, ({ attempts }) => attempts.length, 'number'],
        [messages.lastAttempt, ({ attempts }) => lastOf(attempts)],
        'created_at',
        [messages.workflow, ({ id }) => <HistoryLink temporal={temporal} workflowId={id} />],
        redeliverPath === null
          ? null
          : [
              messages.redeliverOne,
              ({ id }) => (
                <FormButton action={`${redeliverPath}/deliveries/${id}/redeliver`} label={messages.redeliverOne} />
              ),
            ],
      ]}
    />
  );
}

function lastOf(attempts: Delivery['attempts']): string {
  const last = attempts.at(-1);
  return last === undefined ? '' : (last.error ?? `HTTP ${last.status}`);
}
