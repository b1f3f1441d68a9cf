/** A table of text requests, and one request with its route, tokens and charges. */
import type { Child } from 'hono/jsx';
import { ADMIN_TEXT_REQUEST } from '../../../../api/routes/admin/present-finance.ts';
import type { Found } from '../../../../api/services/find-by-id.ts';
import type { TextUsage } from '../../../../db/queries/usage.ts';
import { Card, Copyable, Noted } from '../../../html/components.tsx';
import { Facts } from '../../../html/facts.tsx';
import { FieldFilter } from '../../../html/filters.tsx';
import type { ListPage } from '../../../list-page.ts';
import type { PartFilter } from '../../../part-filter.ts';
import { AnyId } from '../../../html/linked-ids.tsx';
import { ResourceFacts } from '../../../html/resource-table.tsx';
import { Timeline } from '../../../html/timeline.tsx';
import type { Texts } from '../../../texts/texts.ts';
import { useTexts } from '../../../html/page-context.ts';
import { Duration, modifierFacts, Outcome, TokensCard } from '../../text-request-cards.tsx';
import { RequestList } from '../../text-request-list.tsx';

export function StaffRequestList({
  page,
  filters,
}: {
  readonly page: ListPage<TextUsage>;
  readonly filters: readonly PartFilter[];
}) {
  const { staffTextRequests: words, fields, common } = useTexts();
  return (
    <RequestList
      page={page}
      filters={filters}
      of={ADMIN_TEXT_REQUEST}
      notes={{ id: 'account_id', outcome: 'error_code' }}
      columns={[
        [words.request, 'id'],
        'model',
        [fields.status, 'outcome'],
        [
          words.route,
          ({ upstream, upstreamModel }) => <Noted note={upstreamModel}>{upstream ?? words.nowhere}</Noted>,
          null,
          'upstream',
        ],
        'input_tokens',
        'output_tokens',
        'charged_usd',
        'created_at',
      ]}
    >
      <FieldFilter name="id" label={words.anyId} />
      <FieldFilter name="account" label={common.partOfAccount} />
    </RequestList>
  );
}

export function RequestContent({
  found: { id, account, verdict, events },
  usage,
}: {
  readonly found: Found;
  /** Null while the request is in progress. */
  readonly usage: TextUsage | null;
}) {
  const texts = useTexts();
  const { staffTextRequests: words, staffTasks, staff } = texts;
  return (
    <>
      <Card title={staffTasks.timeline}>
        <p>{verdict}</p>
        <Timeline events={events} />
      </Card>
      <Card title={staffTasks.details}>
        <Facts
          facts={[
            [words.id, <Copyable text={id} label={words.id} />],
            [staff.account, <a href={`/console/staff/accounts/${account.id}`}>{account.name || account.id}</a>],
            ...(usage === null ? [] : routeOf(usage, texts)),
          ]}
        />
      </Card>
      {usage === null ? null : (
        <div class="grid">
          <TokensCard usage={usage} />
          <Card title={words.money}>
            <ResourceFacts
              of={ADMIN_TEXT_REQUEST}
              row={usage}
              columns={[
                'held_usd',
                'charged_usd',
                'absorbed_usd',
                'rates_version',
                'price_list',
                ...modifierFacts(usage),
              ]}
            />
          </Card>
        </div>
      )}
    </>
  );
}

function routeOf(usage: TextUsage, texts: Texts): readonly (readonly [name: string, fact: Child])[] {
  const { staffTextRequests: words, staffTasks, fields } = texts;
  const { upstream, upstreamFormat, upstreamModel, latencyMs, firstByteMs } = usage;
  return [
    [fields.status, <Outcome usage={usage} />],
    [fields.model, usage.model],
    ...(usage.endUser === null ? [] : [[fields.end_user, usage.endUser] as const]),
    [words.format, words.asked(usage.format, usage.streamed)],
    [
      words.route,
      [upstream ?? words.nowhere, upstreamFormat, upstreamModel].filter((part) => part !== null).join(', '),
    ],
    [words.firstByte, <Duration ms={firstByteMs} />],
    [words.whole, <Duration ms={latencyMs} />],
    [staffTasks.key, <AnyId id={usage.apiKeyId} />],
  ];
}
