/** A text request of the account: its tokens and its charge. */
import { TEXT_REQUEST } from '../../../api/routes/usage/present.ts';
import { findTextUsage, type TextUsage } from '../../../db/queries/usage.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { isId } from '../../../domain/ids.ts';
import { Card, Copyable } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';
import { ResourceFacts } from '../../html/resource-table.tsx';
import { member, showPage } from '../../page.ts';
import { modifierFacts, TokensCard } from '../text-request-cards.tsx';

export const requestPage = member.page(
  '/accounts/{account_id}/usage/requests/{text_request_id}',
  'see',
  async ({ account, params, texts }, { reports }) => {
    const id = params['text_request_id'] ?? '';
    const usage = isId('textRequest', id) ? await findTextUsage(reports, id) : null;
    if (usage?.accountId !== account.accountId) {
      throw new ServiceError('not_found', 'There is no such text request, or it has not ended.');
    }
    return showPage('usage', texts.staffTextRequests.request, <Request usage={usage} />);
  },
);

function Request({ usage }: { readonly usage: TextUsage }) {
  const { staffTextRequests: words, fields } = useTexts();
  return (
    <div class="grid">
      <Card>
        <ResourceFacts
          of={TEXT_REQUEST}
          row={usage}
          columns={[
            [words.id, ({ id }) => <Copyable text={id} label={words.id} />],
            'created_at',
            'model',
            usage.endUser === null ? null : 'end_user',
            'outcome',
            usage.errorCode === null ? null : [fields.cause, ({ errorCode }) => errorCode],
          ]}
        />
      </Card>
      <TokensCard usage={usage} />
      <Card title={words.money}>
        <ResourceFacts
          of={TEXT_REQUEST}
          row={usage}
          columns={['charged_usd', 'rates_version', ...modifierFacts(usage)]}
        />
      </Card>
    </div>
  );
}
