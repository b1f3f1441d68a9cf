/** Text requests of all accounts. */
import type { Child } from 'hono/jsx';
import { ADMIN_TEXT_REQUEST } from '../../../../services/resources/finance.ts';
import { findById, type Found } from '../../../../services/operations/find-by-id.ts';
import type { ApiServices } from '../../../../api/services.ts';
import { findTextUsage, listTextUsage, type TextUsage } from '../../../../db/queries/usage.ts';
import { isId } from '../../../../domain/ids.ts';
import { UPSTREAM_FAULTS } from '../../../../domain/circuit.ts';
import { withAccountNames } from '../../../account-names.ts';
import { Card, Facts, WithNote } from '../../../html/components.tsx';
import { AttemptFilters, attemptsIn, ChoiceFilter, FieldFilter, textIn } from '../../../html/filters.tsx';
import { AnyId, ShortId } from '../../../html/linked-ids.tsx';
import { ResourceFacts } from '../../../html/resource-table.tsx';
import { Timeline } from '../../../html/timeline.tsx';
import { readListPage } from '../../../list-page.ts';
import { requireFound, type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { findFilteredAccount, modelIn, readIfFiltered } from '../../../part-filter.ts';
import type { Texts } from '../../../texts/texts.ts';
import { Duration, modifierFacts, Outcome, TokensCard } from '../../text-request-cards.tsx';
import { requestFilterOf, RequestList } from '../../text-request-list.tsx';

export const staffTextRequestPages = [
  staff.page('/staff/text-requests', 'read', list),
  staff.page('/staff/text-requests/{text_request_id}', 'read', showRequest),
];

async function list({ query, texts }: UserVisit, services: ApiServices): Promise<PageResult> {
  const { database, catalogue } = services;
  const id = (query.get('id') ?? '').trim();
  const found = id === '' ? null : await findRequest(services, id, texts);
  if (found) return { kind: 'redirect', path: `/staff/text-requests/${found.id}` };
  const [account, model] = [await findFilteredAccount(query, services), modelIn(query, catalogue)];
  const filter = {
    ...requestFilterOf(query, model),
    ...attemptsIn(query),
    accountId: account.value ?? undefined,
    errorCode: textIn(query, 'error_code'),
  };
  const page = await readListPage(query, 'textRequest', async (slice) =>
    id === '' ? readIfFiltered([account, model], () => listTextUsage(database, { ...filter, ...slice })) : [],
  );
  const { staffTextRequests: messages, fields, common, titles } = texts;
  return withAccountNames(
    database,
    page.entries.map(({ accountId }) => accountId),
    showPage(
      titles.textRequests,
      <RequestList
        page={page}
        filters={[account, model]}
        of={ADMIN_TEXT_REQUEST}
        notes={{ id: 'account_id', outcome: 'error_code' }}
        columns={[
          [messages.request, 'id'],
          'model',
          [fields.status, 'outcome'],
          [
            messages.route,
            ({ upstream, upstreamModel }) => <WithNote note={upstreamModel}>{upstream ?? messages.nowhere}</WithNote>,
            null,
            'upstream',
          ],
          'input_tokens',
          'output_tokens',
          'charged_usd',
          'created_at',
        ]}
      >
        <FieldFilter name="id" label={messages.anyId} />
        <FieldFilter name="account" label={common.partOfAccount} />
        <ChoiceFilter name="error_code" all={common.allErrors} values={Object.keys(texts.values.error_code)} />
        <AttemptFilters faults={UPSTREAM_FAULTS} />
      </RequestList>,
    ),
  );
}

/** Finds a text request by its id, or by the id of the HTTP request or the response. */
async function findRequest(services: ApiServices, id: string, { timeline }: Texts): Promise<Found | null> {
  const found = await findById(services, id, timeline);
  return found && isId('textRequest', found.id) ? found : null;
}

async function showRequest({ params, texts }: UserVisit, services: ApiServices): Promise<PageResult> {
  const request = await findRequest(services, params['text_request_id'] ?? '', texts);
  const { id, verdict, events, ...found } = requireFound(request?.id === params['text_request_id'] ? request : null);
  const account = requireFound(found.account);
  // Null while the request is in progress.
  const usage = await findTextUsage(services.database, id);
  const { staffTextRequests: messages, staffTasks, common, fields } = texts;
  return showPage(
    messages.request,
    <Card title={staffTasks.timeline}>
      <p class="verdict">{verdict}</p>
      <Timeline events={events} />
    </Card>,
    <Card title={common.details}>
      <Facts
        facts={[
          [messages.id, <ShortId id={id} href={null} />],
          [fields.account_id, <a href={`/console/staff/accounts/${account.id}`}>{account.name || account.id}</a>],
          ...(usage === null ? [] : routeOf(usage, texts)),
        ]}
      />
    </Card>,
    usage === null ? null : (
      <div class="grid">
        <TokensCard usage={usage} />
        <Card title={messages.money}>
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
    ),
  );
}

function routeOf(usage: TextUsage, texts: Texts): readonly (readonly [name: string, fact: Child])[] {
  const { staffTextRequests: messages, fields } = texts;
  const { upstream, upstreamFormat, upstreamModel, latencyMs, firstByteMs } = usage;
  return [
    [fields.status, <Outcome usage={usage} />],
    [fields.model, usage.model],
    ...(usage.endUser === null ? [] : [[fields.end_user, usage.endUser] as const]),
    ...(usage.batchId === null ? [] : [[fields.batch_id, <AnyId id={usage.batchId} />] as const]),
    [fields.format, messages.asked(usage.format, usage.streamed)],
    [
      messages.route,
      [upstream ?? messages.nowhere, upstreamFormat, upstreamModel].filter((part) => part !== null).join(', '),
    ],
    [messages.firstByte, <Duration ms={firstByteMs} />],
    [messages.whole, <Duration ms={latencyMs} />],
    [fields.key, <AnyId id={usage.apiKeyId} />],
  ];
}
