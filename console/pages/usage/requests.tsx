/** The text requests of an account, with their tokens, charges and latency. */
import { TEXT_REQUEST } from '../../../services/resources/usage.ts';
import { findKeyNames, type KeyName, listApiKeys } from '../../../db/queries/api-keys.ts';
import { findTextUsage, listTextUsage, streamTextUsage } from '../../../db/queries/usage.ts';
import { isId } from '../../../domain/ids.ts';
import { exportFile } from '../../export.ts';
import { Card } from '../../html/components.tsx';
import { Downloads, KeyFilter, keyIn, MAX_KEYS } from '../../html/filters.tsx';
import { ShortId } from '../../html/linked-ids.tsx';
import { ResourceFacts } from '../../html/resource-table.tsx';
import { readListPage } from '../../list-page.ts';
import { requireFound, member, type MemberVisit, showPage } from '../../page.ts';
import { modelIn, type PartFilter } from '../../part-filter.ts';
import { Duration, modifierFacts, Outcome, TokensCard } from '../text-request-cards.tsx';
import { requestFilterOf, RequestList } from '../text-request-list.tsx';

const PATH = '/accounts/{account_id}/usage/requests';

export const requestPages = [
  member.page(PATH, 'see', async (visit, { database, reports, catalogue }) => {
    const { account, query, texts } = visit;
    const { staffTextRequests: messages, fields, titles } = texts;
    const model = modelIn(query, catalogue);
    const [page, names, keys] = await Promise.all([
      readListPage(query, 'textRequest', (slice) => listTextUsage(reports, { ...filterOf(visit, model), ...slice })),
      findKeyNames(database, account.accountId),
      listApiKeys(database, { accountId: account.accountId, limit: MAX_KEYS }),
    ]);
    return showPage(
      titles.textRequests,
      <RequestList
        page={page}
        filters={[model]}
        downloads={<Downloads />}
        of={TEXT_REQUEST}
        notes={{ outcome: 'error_code' }}
        columns={[
          [messages.request, 'id'],
          'model',
          [fields.status, 'outcome'],
          [fields.key, ({ apiKeyId }) => nameOf(names.get(apiKeyId)), null, 'api_key_id'],
          'input_tokens',
          'output_tokens',
          'charged_usd',
          'latency_ms',
          'created_at',
        ]}
      >
        <KeyFilter keys={keys} />
      </RequestList>,
    );
  }),
  member.page(`${PATH}/export`, 'see', async (visit, { reports, catalogue }) => {
    const filter = filterOf(visit, modelIn(visit.query, catalogue));
    return exportFile('text-requests', visit.query, streamTextUsage(reports, filter), TEXT_REQUEST);
  }),
  member.page(`${PATH}/{text_request_id}`, 'see', async ({ account, params, texts }, { database, reports }) => {
    const id = params['text_request_id'] ?? '';
    const found = isId('textRequest', id) ? await findTextUsage(reports, id) : null;
    const usage = requireFound(found?.accountId === account.accountId ? found : null);
    const keys = await findKeyNames(database, account.accountId);
    const { staffTextRequests: messages, fields } = texts;
    return showPage(
      messages.request,
      <div class="grid">
        <Card wide>
          <ResourceFacts
            of={TEXT_REQUEST}
            row={usage}
            columns={[
              [messages.id, ({ id }) => <ShortId id={id} href={null} />],
              [fields.request_id, ({ requestId }) => <ShortId id={requestId} href={null} />],
              'created_at',
              'model',
              [fields.key, () => nameOf(keys.get(usage.apiKeyId))],
              [fields.format, ({ format, streamed }) => messages.asked(format, streamed)],
              usage.endUser === null ? null : 'end_user',
              usage.batchId === null ? null : 'batch_id',
              [fields.status, () => <Outcome usage={usage} />],
              [messages.firstByte, ({ firstByteMs }) => <Duration ms={firstByteMs} />],
              [messages.whole, ({ latencyMs }) => <Duration ms={latencyMs} />],
            ]}
          />
        </Card>
        <TokensCard usage={usage} />
        <Card title={messages.money}>
          <ResourceFacts
            of={TEXT_REQUEST}
            row={usage}
            columns={['charged_usd', 'rates_version', ...modifierFacts(usage)]}
          />
        </Card>
      </div>,
    );
  }),
];

function filterOf({ account: { accountId }, query }: MemberVisit, model: PartFilter) {
  return { ...requestFilterOf(query, model), accountId, apiKeyId: keyIn(query) };
}

function nameOf(key: KeyName | undefined): string {
  return key?.name || key?.hint || '–';
}
