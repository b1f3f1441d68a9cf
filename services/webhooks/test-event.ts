/** The event by which an account tries a webhook endpoint: contract 6. */
import type { WebhookEndpoint } from '../../db/queries/webhook-endpoints.ts';
import * as field from '../../domain/resource/field.ts';
import { nested, resource } from '../../domain/resource/resource.ts';
import { ENDPOINT_TEST_EVENT } from '../../domain/webhook-event.ts';

interface TestEvent {
  readonly id: string;
  readonly createdAt: Date;
  readonly endpoint: WebhookEndpoint;
}

/** A test event. Its data is the endpoint, since it has no task. */
export const TEST_EVENT = resource<TestEvent>('TestEvent', {
  id: field.id('event')('id'),
  object: field.constant('event'),
  type: field.constant(ENDPOINT_TEST_EVENT),
  created_at: field.unixSeconds('createdAt', 'When the test was requested'),
  data: field.object(
    nested<WebhookEndpoint>({
      id: field.id('webhookEndpoint')('id'),
      object: field.constant('webhook_endpoint'),
      url: field.text('url'),
    }),
  )('endpoint'),
});
