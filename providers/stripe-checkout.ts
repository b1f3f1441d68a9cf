/** Stripe's pages on which customers pay: https://docs.stripe.com/api/checkout/sessions */
import { default as Stripe } from 'stripe';
import { PICO_PER_CENT, type PicoUsd } from '../domain/money.ts';
import type { PaymentMethod } from '../catalogue/site-money.ts';
import { CardRefusedError, type CheckoutPages, CheckoutUnavailableError } from './checkout.ts';
import { found, idOf, refusalOf, rethrowAsUnavailable } from './stripe-errors.ts';
import { plansOf } from './stripe-plans.ts';

const TIMEOUT_MS = 10_000;

/** @param apiUrl the address of Stripe's API; tests pass another */
export function createStripeCheckout({
  secretKey,
  apiUrl = 'https://api.stripe.com',
  origin = 'https://checkout.stripe.com',
}: {
  readonly secretKey: string;
  readonly apiUrl?: string | undefined;
  readonly origin?: string;
}): CheckoutPages {
  const { hostname, port, protocol } = new URL(apiUrl);
  const stripe = new Stripe(secretKey, {
    host: hostname,
    ...(port !== '' && { port }),
    protocol: protocol === 'http:' ? 'http' : 'https',
    // With undici loaded, Node's fetch refuses the headers of this package.
    httpClient: Stripe.createNodeHttpClient(),
    timeout: TIMEOUT_MS,
    telemetry: false,
  });
  return { origin, ...pagesOf(stripe), ...cardsOf(stripe), ...plansOf(stripe) };
}

function pagesOf(stripe: Stripe): Pick<CheckoutPages, 'open' | 'find'> {
  return {
    async open({ accountId, amount, description, methods, returnUrl }) {
      const metadata = { account_id: accountId };
      const { id } = await rethrowAsUnavailable(
        stripe.checkout.sessions.create({
          mode: 'payment',
          ...(methods !== null && paymentMethodsOf(methods)),
          line_items: [
            {
              quantity: 1,
              price_data: {
                currency: 'usd',
                unit_amount: centsOf(amount),
                product_data: { name: description },
              },
            },
          ],
          metadata,
          // Refunds and disputes name the payment, not the page.
          payment_intent_data: { metadata },
          success_url: returnUrl,
          cancel_url: returnUrl,
        }),
      );
      return id;
    },
    async find(id) {
      const session = await found(stripe.checkout.sessions.retrieve(id));
      return session && { accountId: session.metadata?.['account_id'] ?? null, url: session.url };
    },
  };
}

function cardsOf(stripe: Stripe): Pick<CheckoutPages, 'openCard' | 'findCard' | 'chargeCard' | 'deleteCustomer'> {
  return {
    async openCard({ accountId, threshold, amount, savedUrl, returnUrl }) {
      const { id } = await rethrowAsUnavailable(
        stripe.checkout.sessions.create({
          mode: 'setup',
          currency: 'usd',
          customer_creation: 'always',
          metadata: { account_id: accountId, threshold_cents: centsOf(threshold), amount_cents: centsOf(amount) },
          success_url: `${savedUrl}/{CHECKOUT_SESSION_ID}`,
          cancel_url: returnUrl,
        }),
      );
      return id;
    },
    async findCard(id) {
      const session = await found(stripe.checkout.sessions.retrieve(id, { expand: ['setup_intent'] }));
      const { account_id: accountId, threshold_cents, amount_cents } = session?.metadata ?? {};
      const intent = session?.setup_intent;
      const customer = idOf(session?.customer);
      const paymentMethod = typeof intent === 'object' ? idOf(intent?.payment_method) : null;
      if (!accountId || !threshold_cents || !amount_cents || customer === null || paymentMethod === null) return null;
      return {
        accountId,
        threshold: BigInt(threshold_cents) * PICO_PER_CENT,
        amount: BigInt(amount_cents) * PICO_PER_CENT,
        customer,
        paymentMethod,
      };
    },
    async chargeCard({ accountId, amount, customer, paymentMethod, attemptId, returnUrl }) {
      const charge = {
        amount: centsOf(amount),
        currency: 'usd',
        customer,
        payment_method: paymentMethod,
        off_session: true,
        confirm: true,
        // Stripe refuses a confirmation without this address, because other methods of the operator would redirect.
        return_url: returnUrl,
        metadata: { account_id: accountId, attempt_id: attemptId },
      };
      const payment = await rethrowAsUnavailable(
        stripe.paymentIntents.create(charge, { idempotencyKey: attemptId }).catch((error: unknown) => {
          throw refusalOf(error) ?? error;
        }),
      );
      if (payment.status === 'succeeded') return { id: payment.id };
      if (payment.status === 'processing') throw new CheckoutUnavailableError(`${payment.id} is still processed`);
      throw new CardRefusedError(
        'The bank asks the owner of the card to confirm. Pay on the page once, and give the card again.',
      );
    },
    async deleteCustomer(customer) {
      await found(stripe.customers.del(customer));
    },
  };
}

/** https://docs.stripe.com/payments/wechat-pay/accept-a-payment requires the client. */
function paymentMethodsOf(methods: readonly PaymentMethod[]) {
  return {
    payment_method_types: [...methods],
    ...(methods.includes('wechat_pay') && { payment_method_options: { wechat_pay: { client: 'web' as const } } }),
  };
}

function centsOf(amount: PicoUsd): number {
  return Number(amount / PICO_PER_CENT);
}
