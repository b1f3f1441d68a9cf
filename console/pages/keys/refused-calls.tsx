/** The refused calls of a key during the last day. */
import type { ListedRefusals } from '../../../db/queries/refused-calls.ts';
import { REFUSED_CALLS } from '../../../domain/policy.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested } from '../../../domain/resource/resource.ts';
import { Time } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';
import { TableCard } from '../../html/resource-table.tsx';

const REFUSED = nested<ListedRefusals>({ reason: field.text('reason') });

export function RefusedCalls({ calls }: { calls: readonly ListedRefusals[] }) {
  const { keys: words, fields } = useTexts();
  return (
    <TableCard
      title={words.refusedCalls}
      of={REFUSED}
      rows={calls}
      none={words.noRefusedCalls}
      columns={[
        [words.refusedAt, ({ refusedAt }) => <Time at={refusedAt} />],
        [words.call, ({ method, path }) => (path === '' ? words.otherCalls : <code>{`${method} ${path}`}</code>)],
        [fields.status, ({ status }) => status, 'number'],
        [words.code, ({ code }) => <code>{code}</code>],
        [fields.reason, 'reason', 'words'],
        [words.times, ({ calls: times }) => times, 'number'],
      ]}
    >
      {calls.length < REFUSED_CALLS.perKey ? null : <p class="soft">{words.refusedCapped(REFUSED_CALLS.perKey)}</p>}
    </TableCard>
  );
}
