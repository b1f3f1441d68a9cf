/** How the service is, its description, and what providers call. */
import { exactly, object, oneOfTexts, optional, text, idOf } from './json-schema.ts';
import { json } from '../endpoint/answers.ts';
import { type Operation } from './operation.ts';
import { envelopeOf } from './shared.ts';

const PAYMENT_EVENT = json(
  envelopeOf(
    object({
      object: exactly('payment_event'),
      outcome: oneOfTexts(['credited', 'credited_before', 'ignored']),
      transfer_id: optional(idOf('transfer', 'The top-up')),
      reason: optional(text('Why it was ignored')),
    }),
  ),
);

/** Served where the secret of the payment provider is configured. */
export const ANNOUNCE_PAYMENT: Operation = {
  method: 'post',
  path: '/v1/payment-events',
  id: 'announcePayment',
  tag: 'Service',
  summary: 'For the payment provider: announce that something was paid',
  description:
    'Signed and shaped as Stripe’s events. `payment_intent.succeeded` and `checkout.session.completed` in USD credit the ' +
    'account that `metadata.account_id` names, once for each payment; other events are ignored.',
  access: 'open',
  parameters: [
    {
      name: 'stripe-signature',
      in: 'header',
      description: '`t=<Unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`; at most 5 minutes old',
      schema: text(),
    },
  ],
  body: { required: true, content: json({ type: 'object' }) },
  answers: { 200: { description: 'Credited, or nothing to credit', content: PAYMENT_EVENT } },
  refusals: [404, 409, 500],
};
