/** The deliveries to an endpoint, with their attempts. The browser polls the list while a delivery is pending. */
import { DELIVERY } from '../../../services/resources/webhooks.ts';
import { type Delivery, DELIVERY_STATUSES, type DeliveryAttempt } from '../../../db/queries/deliveries.ts';
import { hasMemberPermission } from '../../../domain/roles.ts';
import { Card, FormButton, WithNote, Pages, Time } from '../../html/components.tsx';
import { ChoiceFilter, Filters } from '../../html/filters.tsx';
import { ShortId } from '../../html/linked-ids.tsx';
import { useTexts } from '../../html/page-context.ts';
import { ResourceTable, TableCard } from '../../html/resource-table.tsx';
import type { MemberVisit } from '../../page.ts';

interface Props {
  readonly deliveries: readonly Delivery[];
  /** The cursor of the next page; null on the last page. */
  readonly next: string | null;
  /** The path of the endpoint's page. */
  readonly path: string;
  readonly visit: MemberVisit;
}

export function Deliveries({ deliveries, next, path, visit }: Props) {
  const { texts, query, account } = visit;
  const { webhooks: messages, fields, common } = texts;
  const isPending = deliveries.some(({ status }) => status === 'pending');
  const asked = query.size === 0 ? path : `${path}?${query.toString()}`;
  const live = isPending
    ? { 'hx-get': asked, 'hx-select': '#deliveries', 'hx-trigger': 'every 2s', 'hx-swap': 'outerHTML' }
    : {};
  return (
    <div id="deliveries" {...live}>
      <Card title={common.deliveries}>
        <Filters>
          <ChoiceFilter name="status" all={common.allStatuses} values={DELIVERY_STATUSES} />
        </Filters>
        <ResourceTable
          of={DELIVERY}
          label={common.deliveries}
          rows={deliveries}
          none={query.size === 0 ? messages.noDeliveries : messages.noneMatch}
          columns={[
            [
              fields.event,
              ({ id, eventType, taskId }) => (
                <WithNote
                  note={
                    taskId && <ShortId id={taskId} href={`/console/accounts/${account.accountId}/tasks/${taskId}`} />
                  }
                >
                  <a href={`${path}/deliveries/${id}`}>{eventType}</a>
                </WithNote>
              ),
            ],
            'status',
            [
              messages.attempts,
              ({ attempts, nextAttemptAt }) => (
                <>
                  <Attempts attempts={attempts} />
                  {nextAttemptAt === null || attempts.length === 0 ? null : (
                    <div class="soft">
                      {messages.next}: <Time at={nextAttemptAt} />
                    </div>
                  )}
                </>
              ),
            ],
            'created_at',
            [
              messages.redeliver,
              ({ id }) => <FormButton action={`${path}/deliveries/${id}/redeliver`} label={messages.redeliver} />,
            ],
          ]}
        />
        <Pages next={next} />
      </Card>
    </div>
  );
}

interface SentEventsProps {
  readonly deliveries: readonly Delivery[];
  readonly visit: MemberVisit;
}

/** The deliveries about a task. Shows nothing if there are none. */
export function SentEvents({ deliveries, visit: { texts, account } }: SentEventsProps) {
  if (deliveries.length === 0) return null;
  const { webhooks: messages, fields } = texts;
  const endpoints = `/console/accounts/${account.accountId}/webhooks`;
  const mayOpen = hasMemberPermission(account.role, 'develop');
  return (
    <TableCard
      title={messages.ofTask}
      of={DELIVERY}
      rows={deliveries}
      columns={[
        [
          fields.event,
          ({ id, endpointId, eventType }) =>
            mayOpen ? <a href={`${endpoints}/${endpointId}/deliveries/${id}`}>{eventType}</a> : eventType,
        ],
        'status',
        [messages.attempts, ({ attempts }) => <Attempts attempts={attempts} />],
        [
          fields.webhook_id,
          ({ endpointId }) => <ShortId id={endpointId} href={mayOpen ? `${endpoints}/${endpointId}` : null} />,
        ],
      ]}
    />
  );
}

/** The last attempt, which unfolds the earlier attempts. */
function Attempts({ attempts }: { attempts: readonly DeliveryAttempt[] }) {
  const texts = useTexts();
  const last = attempts.at(-1);
  if (last === undefined) return <span class="soft">{texts.webhooks.noAttempt}</span>;
  if (attempts.length === 1) return <Attempt attempt={last} />;
  return (
    <details>
      <summary>
        <Attempt attempt={last} />
      </summary>
      {attempts.slice(0, -1).map((attempt) => (
        <div>
          <Attempt attempt={attempt} />
        </div>
      ))}
    </details>
  );
}

export function Attempt({ attempt: { number, latencyMs, status, error } }: { attempt: DeliveryAttempt }) {
  const { webhooks: messages } = useTexts();
  const outcome = error ?? (status === null ? '' : messages.answered(status));
  return <span>{`${messages.attempt(number, latencyMs)} ${outcome}`}</span>;
}
