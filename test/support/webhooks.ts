/** Webhook endpoints and deliveries as a client sees them, and receivers that record their requests. */
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from './eventually.ts';
import { call, type TestStack } from './stack.ts';

export interface EndpointBody {
  readonly id: string;
  readonly url: string;
  readonly secret: string;
  readonly enabled: boolean;
  readonly disabled_reason: string | null;
  readonly failing_since: number | null;
}

export interface DeliveryBody {
  readonly id: string;
  readonly event_id: string;
  readonly event: string;
  readonly task_id: string | null;
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly attempts: readonly {
    readonly number: number;
    readonly started_at: number;
    readonly http_status: number | null;
    readonly error: string | null;
  }[];
  readonly next_attempt_at: number | null;
}

/** The webhook calls of one account. */
export function createWebhookClient({ baseUrl }: Pick<TestStack, 'baseUrl'>, key: string) {
  const webhooks = `${baseUrl}/v1/webhooks`;

  async function request<Data>(path: string, options: { body?: unknown; method?: string } = {}): Promise<Data> {
    const { status, body } = await call<{ data: Data }>(webhooks + path, { key, ...options });
    if (status >= 300) throw new Error(`${path} was refused: ${JSON.stringify(body)}`);
    return body.data;
  }

  async function delivery(endpointId: string, deliveryId: string): Promise<DeliveryBody> {
    const deliveries = await request<readonly DeliveryBody[]>(`/${endpointId}/deliveries`);
    const found = deliveries.find(({ id }) => id === deliveryId);
    if (!found) throw new Error(`there is no delivery ${deliveryId}`);
    return found;
  }

  return {
    create: (url: string, settings: { events?: string[] } = {}) =>
      request<EndpointBody>('', { body: { url, ...settings } }),
    get: (id: string) => request<EndpointBody>(`/${id}`),
    update: (id: string, body: unknown) => request<EndpointBody>(`/${id}`, { method: 'PATCH', body }),
    remove: (id: string) => request<{ deleted: boolean }>(`/${id}`, { method: 'DELETE' }),
    rotateSecret: (id: string) => request<EndpointBody>(`/${id}/rotate-secret`, { body: {} }),
    test: (id: string) => request<DeliveryBody>(`/${id}/test`, { body: {} }),
    deliveries: (id: string) => request<readonly DeliveryBody[]>(`/${id}/deliveries`),
    redeliver: (id: string, deliveryId: string) =>
      request<DeliveryBody>(`/${id}/deliveries/${deliveryId}/redeliver`, { body: {} }),
    redeliverRange: (id: string, body: unknown) => request<{ count: number }>(`/${id}/redeliver`, { body }),

    /** Polls until the delivery has the wanted state. */
    deliveryWhen: (endpointId: string, deliveryId: string, isWished: (delivery: DeliveryBody) => boolean) =>
      waitUntil(
        async () => {
          const latest = await delivery(endpointId, deliveryId);
          if (!isWished(latest)) throw new Error(`the delivery is still ${JSON.stringify(latest)}`);
          return latest;
        },
        { timeoutMs: PATIENCE_MS },
      ),
  };
}
