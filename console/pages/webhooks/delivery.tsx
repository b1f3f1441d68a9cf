/** The page of a delivery, for members and operators: the body that Genway sent, and each answer of the receiver. */
import { DELIVERY } from '../../../services/resources/webhooks.ts';
import type { Database } from '../../../db/database.ts';
import {
  type DeliveryContent,
  type DeliveryFilter,
  findDelivery,
  findDeliveryContent,
} from '../../../db/queries/deliveries.ts';
import { WEBHOOKS } from '../../../domain/policy.ts';
import { ButtonLink, Card, Empty } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';
import { ResourceFacts } from '../../html/resource-table.tsx';
import { type PageResult, requireFound, showPage, type UserVisit } from '../../page.ts';
import { Attempt } from './deliveries.tsx';

/** @param filter finds the delivery @param endpointPath the page of its endpoint @throws ServiceError `not_found` */
export async function showDelivery(
  { texts }: UserVisit,
  database: Database,
  { endpointPath, ...filter }: DeliveryFilter & { readonly deliveryId: string; readonly endpointPath: string },
): Promise<PageResult> {
  const delivery = requireFound(await findDelivery(database, filter));
  const content = await findDeliveryContent(database, delivery);
  const { webhooks: messages, common, fields } = texts;
  return showPage(
    messages.delivery,
    <Card title={common.details}>
      <ResourceFacts
        of={DELIVERY}
        row={delivery}
        columns={['event', 'task_id', 'status', [fields.id, 'id'], 'created_at']}
      />
      <p class="after">
        <ButtonLink href={endpointPath} label={fields.webhook_id} look="quiet" />
      </p>
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
        <pre>{payload}</pre>
      </Card>
      <Card title={messages.attempts}>
        <p class="soft">{messages.answersHint(WEBHOOKS.answerBytes / 1024, WEBHOOKS.keptDays)}</p>
        {attempts.length === 0 ? <Empty>{messages.noAttempt}</Empty> : null}
        {attempts.toReversed().map((attempt) => (
          <>
            <p>
              <Attempt attempt={attempt} />
            </p>
            {attempt.answer === null ? <p class="soft">{messages.noAnswerBody}</p> : <pre>{attempt.answer}</pre>}
          </>
        ))}
      </Card>
    </>
  );
}
