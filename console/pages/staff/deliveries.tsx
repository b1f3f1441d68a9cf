/** Deliveries of events to webhook endpoints. */
import { historyUrl, type HistoryLinks } from '../../../api/history-link.ts';
import type { Delivery } from '../../../db/queries/deliveries.ts';
import { Badge, FormButton, Noted, type Tone } from '../../html/components.tsx';
import { DataTable } from '../../html/data-table.tsx';
import { AnyId } from '../../html/linked-ids.tsx';
import type { Texts } from '../../texts/texts.ts';

const TONES: Readonly<Record<Delivery['status'], Tone>> = { pending: 'busy', delivered: 'good', failed: 'bad' };

export function Deliveries({
  deliveries,
  none,
  temporal,
  texts,
  redeliver = null,
}: {
  readonly deliveries: readonly Delivery[];
  readonly none: string;
  readonly temporal: HistoryLinks;
  readonly texts: Texts;
  /** Where each may be sent again; null for whoever may not. */
  readonly redeliver?: { readonly path: string; readonly token: string } | null;
}) {
  const { staffTasks: words, common } = texts;
  return (
    <DataTable
      label={words.deliveries}
      rows={deliveries}
      none={none}
      columns={[
        [
          words.event,
          ({ id, eventType, taskId }) => (
            <Noted note={taskId === null ? <code>{id}</code> : <AnyId id={taskId} />}>{eventType}</Noted>
          ),
          'name',
        ],
        [words.endpoint, ({ endpointId }) => <AnyId id={endpointId} />],
        [common.status, ({ status }) => <Badge tone={TONES[status]}>{words.deliveryStatus[status]}</Badge>],
        [words.attempts, ({ attempts }) => attempts.length, 'number'],
        [words.lastAttempt, ({ attempts }) => lastOf(attempts)],
        [common.created, 'createdAt'],
        [
          words.workflow,
          ({ id }) => (
            <a href={historyUrl(temporal, id)} rel="noreferrer">
              {words.openTemporal}
            </a>
          ),
        ],
        redeliver && [
          words.redeliverOne,
          ({ id }) => (
            <FormButton
              token={redeliver.token}
              action={`${redeliver.path}/deliveries/${id}/redeliver`}
              label={words.redeliverOne}
            />
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
