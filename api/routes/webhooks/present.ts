import type { Delivery } from '../../../db/queries/deliveries.ts';
import type { WebhookEndpoint } from '../../../db/queries/webhook-endpoints.ts';

/** @param secret only in the answers that make one: it is never shown again */
export function presentEndpoint(endpoint: WebhookEndpoint, secret?: string) {
  return {
    id: endpoint.id,
    object: 'webhook_endpoint',
    url: endpoint.url,
    description: endpoint.description,
    events: endpoint.events,
    ...(secret !== undefined && { secret }),
    enabled: endpoint.disabledAt === null,
    disabled_at: endpoint.disabledAt && unixSeconds(endpoint.disabledAt),
    disabled_reason: endpoint.disabledReason,
    failing_since: endpoint.failingSince && unixSeconds(endpoint.failingSince),
    created_at: unixSeconds(endpoint.createdAt),
    updated_at: unixSeconds(endpoint.updatedAt),
  };
}

export function presentDelivery(delivery: Delivery) {
  return {
    id: delivery.id,
    object: 'webhook_delivery',
    webhook_id: delivery.endpointId,
    event_id: delivery.eventId,
    event: delivery.eventType,
    task_id: delivery.taskId,
    status: delivery.status,
    attempts: delivery.attempts.map(({ number, startedAt, latencyMs, status, error }) => ({
      number,
      started_at: unixSeconds(startedAt),
      latency_ms: latencyMs,
      http_status: status,
      error,
    })),
    next_attempt_at: delivery.nextAttemptAt && unixSeconds(delivery.nextAttemptAt),
    created_at: unixSeconds(delivery.createdAt),
    completed_at: delivery.completedAt && unixSeconds(delivery.completedAt),
  };
}

/** The delivery as its owner sees it, and what only operators see. */
export function presentAdminDelivery(delivery: Delivery, temporal: { uiUrl: string; namespace: string }) {
  return {
    ...presentDelivery(delivery),
    account_id: delivery.accountId,
    workflow_id: delivery.id,
    history_url: `${temporal.uiUrl}/namespaces/${encodeURIComponent(temporal.namespace)}/workflows/${delivery.id}`,
  };
}

/** The body of a test event: no task's, so its data is the endpoint. */
export function renderTestEvent({
  id,
  createdAt,
  endpoint,
}: {
  id: string;
  createdAt: Date;
  endpoint: WebhookEndpoint;
}) {
  const type = 'endpoint.test';
  return JSON.stringify({
    id,
    object: 'event',
    type,
    created_at: unixSeconds(createdAt),
    data: { id: endpoint.id, object: 'webhook_endpoint', url: endpoint.url },
  });
}

function unixSeconds(moment: Date): number {
  return Math.floor(moment.getTime() / 1000);
}
