/** The keys of an account as a table, and one key as facts. */
import { API_KEY } from '../../../services/resources/admin.ts';
import type { ApiKey } from '../../../db/queries/api-keys.ts';
import { Facts, FormButton, Money, WithNote, Time, usd } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';
import { Chosen, TableCard } from '../../html/resource-table.tsx';

interface Props {
  readonly keys: readonly ApiKey[];
  /** The path of the pages about the keys. */
  readonly path: string;
  readonly mayChange: boolean;
  readonly title?: string;
  readonly none: string;
}

export function KeyTable({ keys: rows, path, mayChange, ...table }: Props) {
  const { keys: messages, staffAccounts, fields, common, titles } = useTexts();
  return (
    <TableCard
      {...table}
      label={titles.keys}
      of={API_KEY}
      rows={rows}
      columns={[
        [
          fields.name,
          ({ id, name, hint }) => (
            <WithNote note={<code>{hint}</code>}>
              {mayChange ? <a href={`${path}/${id}`}>{name || messages.unnamed}</a> : name || messages.unnamed}
            </WithNote>
          ),
        ],
        [messages.used, (key) => <Spent apiKey={key} />, 'number'],
        [fields.last_used_at, (key) => <LastUsed apiKey={key} />],
        [fields.status, (key) => <Chosen name="state" value={stateOf(key)} />],
        'created_at',
        mayChange
          ? [
              staffAccounts.change,
              ({ id, disabledAt }) => {
                const action = disabledAt ? 'enable' : 'disable';
                return <FormButton action={`${path}/${id}/${action}`} label={common[action]} />;
              },
            ]
          : null,
      ]}
    />
  );
}

export function KeyFacts({ apiKey }: { apiKey: ApiKey }) {
  const { keys: messages, fields } = useTexts();
  return (
    <Facts
      facts={[
        [fields.key, <code>{apiKey.hint}</code>],
        [fields.status, <Chosen name="state" value={stateOf(apiKey)} />],
        [messages.used, <Spent apiKey={apiKey} />],
        [fields.last_used_at, <LastUsed apiKey={apiKey} />],
        [fields.created_at, <Time at={apiKey.createdAt} />],
        [fields.id, <code>{apiKey.id}</code>],
      ]}
    />
  );
}

/** The amount that counts towards the limit, and when the limit renews. */
function Spent({ apiKey: { usedOfLimit, usageLimit, limitPeriod } }: { apiKey: ApiKey }) {
  const { keys: messages, values } = useTexts();
  return (
    <WithNote note={limitPeriod === null ? null : messages.renewal(values.limit_period[limitPeriod])}>
      <Money amount={usedOfLimit} /> {usageLimit === null ? '' : messages.ofLimit(usd(usageLimit))}
    </WithNote>
  );
}

function LastUsed({ apiKey: { lastUsedAt } }: { apiKey: ApiKey }) {
  const { staffAccounts: messages } = useTexts();
  return lastUsedAt === null ? <>{messages.never}</> : <Time at={lastUsedAt} />;
}

function stateOf({ disabledAt, expiresAt }: ApiKey): string {
  if (disabledAt !== null) return 'disabled';
  return expiresAt !== null && expiresAt.getTime() <= Date.now() ? 'expired' : 'active';
}
