/** How the service is, its description, and what providers call. */
import { exactly, object, oneOfTexts, optional, text, idOf } from './json-schema.ts';
import { json } from '../endpoint/answers.ts';
import { type Operation } from './operation.ts';
import { envelopeOf } from './shared.ts';

const READINESS = json(
  object({
    status: oneOfTexts(['ready', 'degraded', 'not_ready'], '`degraded`: tasks are created, and start later'),
    database: oneOfTexts(['ok', 'unreachable', 'migrations_pending', 'partitions_missing', 'clocks_differ']),
    temporal: oneOfTexts(['ok', 'unreachable']),
  }),
);

export const SERVICE_OPERATIONS: readonly Operation[] = [
  {
    method: 'get',
    path: '/healthz',
    id: 'isAlive',
    tag: 'Service',
    summary: 'Whether the process runs',
    access: 'open',
    answers: { 200: { description: 'It does', content: json(object({ status: exactly('ok') })) } },
  },
  {
    method: 'get',
    path: '/readyz',
    id: 'isReady',
    tag: 'Service',
    summary: 'Whether the process should get requests',
    access: 'open',
    answers: {
      200: { description: 'It should', content: READINESS },
      503: { description: 'It should not', content: READINESS },
    },
  },
  {
    method: 'get',
    path: '/openapi.json',
    id: 'getDescription',
    tag: 'Service',
    summary: 'This description',
    access: 'open',
    answers: { 200: { description: 'An OpenAPI 3.1 document', content: json({ type: 'object' }) } },
  },
  {
    method: 'post',
    path: '/v1/provider-callbacks/{provider}/{task_id}',
    id: 'announceJobEnd',
    tag: 'Service',
    summary: 'For providers: announce that a job has ended',
    description: 'Signed with the secret that the provider and the gateway share.',
    access: 'open',
    parameters: [
      { name: 'x-job-timestamp', in: 'header', description: 'Unix seconds', schema: text() },
      { name: 'x-job-signature', in: 'header', description: 'Of timestamp and raw body', schema: text() },
    ],
    body: { required: true, content: json({ type: 'object' }) },
    answers: { 204: { description: 'Noted' } },
    refusals: [401, 404, 500, 503],
  },
];

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
