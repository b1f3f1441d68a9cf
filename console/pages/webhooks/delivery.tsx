/** The page of a delivery, for members and operators: the body that Genway sent, and each answer of the receiver. */
import { DELIVERY } from '../../../services/resources/webhooks.ts';
import type { Database } from '../../../db/database.ts';
import { type DeliveryContent, findDelivery, findDeliveryContent } from '../../../db/queries/deliveries.ts';
import type { WebhookEndpoint } from '../../../db/queries/webhook-endpoints.ts';
import { WEBHOOKS } from '../../../domain/policy.ts';
import { ButtonLink, Card, Empty, FormButton, Time } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';
import { ResourceFacts } from '../../html/resource-table.tsx';
import { type PageResult, requireFound, showPage, type UserVisit } from '../../page.ts';
import { Attempt } from './deliveries.tsx';

interface DeliveryPage {
  readonly endpoint: WebhookEndpoint;
  /** The path of the endpoint's page. */
  readonly path: string;
  readonly mayRedeliver: boolean;
}

/** Shows the delivery in the path of the visit. @throws ServiceError `not_found`, also for another endpoint's delivery */
export async function showDelivery(
  { params, texts }: UserVisit,
  database: Database,
  { endpoint: { id: endpointId, accountId, url }, path, mayRedeliver }: DeliveryPage,
): Promise<PageResult> {
  const deliveryId = params['delivery_id'] ?? '';
  const delivery = requireFound(await findDelivery(database, { accountId, endpointId, deliveryId }));
  const content = await findDeliveryContent(database, delivery);
  const { webhooks: messages, common, fields } = texts;
  return showPage(
    messages.delivery,
    <Card title={common.details}>
      <ResourceFacts
        of={DELIVERY}
        row={delivery}
        columns={[
          'event',
          'task_id',
          [fields.url, () => <code>{url}</code>],
          'status',
          [fields.id, 'id'],
          'created_at',
          [messages.next, ({ nextAttemptAt }) => (nextAttemptAt === null ? '–' : <Time at={nextAttemptAt} />)],
        ]}
      />
      <div class="row after">
        {mayRedeliver ? (
          <FormButton action={`${path}/deliveries/${delivery.id}/redeliver`} label={messages.redeliver} />
        ) : null}
        <ButtonLink href={path} label={fields.webhook_id} look="quiet" />
      </div>
    </Card>,
    content === null ? (
      <Card>
        <Empty>{messages.contentErased}</Empty>
      </Card>
    ) : (
      <Content content={content} />
    ),
  );
}

function Content({ content: { payload, attempts } }: { content: DeliveryContent }) {
  const { webhooks: messages } = useTexts();
  return (
    <>
      <Card title={messages.sentBody}>
        <p class="soft">{messages.bodyIndented}</p>
        <pre>{JSON.stringify(JSON.parse(payload), null, 2)}</pre>
      </Card>
      <Card title={messages.attempts}>
        <p class="soft">{messages.answersHint(WEBHOOKS.answerBytes / 1024, WEBHOOKS.keptDays)}</p>
        {attempts.length === 0 ? <Empty>{messages.noAttempt}</Empty> : null}
        {attempts.toReversed().map((attempt) => (
          <>
            <p>
              <Time at={attempt.startedAt} /> <Attempt attempt={attempt} />
            </p>
            {attempt.answer === null ? <p class="soft">{messages.noAnswerBody}</p> : <pre>{attempt.answer}</pre>}
          </>
        ))}
      </Card>
    </>
  );
}
