/** Deliveries of events to webhook endpoints. */
import { historyUrl, type HistoryLinks } from '../../../api/history-link.ts';
import type { Delivery } from '../../../db/queries/deliveries.ts';
import { Badge, Form, Table, Time, type Tone } from '../../html/components.tsx';
import { AnyId } from '../../html/linked-ids.tsx';
import type { Texts } from '../../texts/texts.ts';

const TONES: Readonly<Record<Delivery['status'], Tone>> = { pending: 'busy', delivered: 'good', failed: 'bad' };

export function Deliveries({
  deliveries,
  temporal,
  texts,
  redeliver = null,
}: {
  readonly deliveries: readonly Delivery[];
  readonly temporal: HistoryLinks;
  readonly texts: Texts;
  /** Where each may be sent again; null for whoever may not. */
  readonly redeliver?: { readonly path: string; readonly token: string } | null;
}) {
  const { staffTasks: words, common } = texts;
  return (
    <Table
      label={words.deliveries}
      columns={[
        words.event,
        words.endpoint,
        common.status,
        { number: words.attempts },
        words.lastAttempt,
        common.created,
        words.workflow,
        ...(redeliver === null ? [] : [words.redeliverOne]),
      ]}
    >
      {deliveries.map(({ id, eventType, taskId, endpointId, status, attempts, createdAt }) => (
        <tr>
          <th scope="row">
            {eventType}
            <div class="soft">{taskId === null ? <code>{id}</code> : <AnyId id={taskId} />}</div>
          </th>
          <td>
            <AnyId id={endpointId} />
          </td>
          <td>
            <Badge tone={TONES[status]}>{words.deliveryStatus[status]}</Badge>
          </td>
          <td class="right number">{attempts.length}</td>
          <td>{lastOf(attempts)}</td>
          <td>
            <Time at={createdAt} />
          </td>
          <td>
            <a href={historyUrl(temporal, id)} rel="noreferrer">
              {words.openTemporal}
            </a>
          </td>
          {redeliver === null ? null : (
            <td>
              <Form token={redeliver.token} action={`${redeliver.path}/deliveries/${id}/redeliver`}>
                <button type="submit" class="quiet">
                  {words.redeliverOne}
                </button>
              </Form>
            </td>
          )}
        </tr>
      ))}
    </Table>
  );
}

function lastOf(attempts: Delivery['attempts']): string {
  const last = attempts.at(-1);
  return last === undefined ? '' : (last.error ?? `HTTP ${last.status}`);
}
