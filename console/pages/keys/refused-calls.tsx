/** The refused calls of a key during the last day. */
import type { ListedRefusals } from '../../../db/queries/refused-calls.ts';
import { REFUSED_CALLS } from '../../../domain/policy.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested } from '../../../domain/resource/resource.ts';
import { Time } from '../../html/components.tsx';
import { ShortId } from '../../html/linked-ids.tsx';
import { useTexts } from '../../html/page-context.ts';
import { TableCard } from '../../html/resource-table.tsx';

const REFUSED = nested<ListedRefusals>({ reason: field.text('reason') });

export function RefusedCalls({ calls }: { calls: readonly ListedRefusals[] }) {
  const { keys: messages, fields } = useTexts();
  return (
    <TableCard
      title={messages.refusedCalls}
      of={REFUSED}
      rows={calls}
      none={messages.noRefusedCalls}
      columns={[
        [messages.refusedAt, ({ refusedAt }) => <Time at={refusedAt} />],
        [messages.call, ({ method, path }) => (path === '' ? messages.otherCalls : <code>{`${method} ${path}`}</code>)],
        [fields.status, ({ status }) => status, 'number'],
        [messages.code, ({ code }) => <code>{code}</code>],
        [fields.reason, 'reason', 'words'],
        [fields.request_id, ({ requestId }) => <ShortId id={requestId} href={null} />],
        [messages.times, ({ calls: times }) => times, 'number'],
      ]}
    >
      {calls.length < REFUSED_CALLS.perKey ? null : <p class="soft">{messages.refusedCapped(REFUSED_CALLS.perKey)}</p>}
    </TableCard>
  );
}
