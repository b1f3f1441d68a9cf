/** Events of a payment provider, signed as Stripe signs them. */
import { default as Stripe } from 'stripe';

/** @returns the header `Stripe-Signature` of a body */
export function signPaymentEvent(body: string, secret: string, { ageSeconds = 0 } = {}): string {
  const timestamp = Math.floor(Date.now() / 1000) - ageSeconds;
  return Stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp });
}

/** Announces an event to the gateway, as the payment provider does. */
export function announcePaymentEvent(baseUrl: string, secret: string, event: unknown): Promise<Response> {
  const body = JSON.stringify(event, null, 2);
  const headers = {
    'stripe-signature': signPaymentEvent(body, secret),
    'content-type': 'application/json; charset=utf-8',
  };
  return fetch(`${baseUrl}/v1/payment-events`, { method: 'POST', body, headers });
}
