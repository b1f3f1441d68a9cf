/** The pages of Stripe on which customers pay: https://docs.stripe.com/api/checkout/sessions */
import { default as Stripe } from 'stripe';
import { type CheckoutPages, CheckoutUnavailableError } from './checkout.ts';
import { PICO_USD_PER_CENT } from './payment-events.ts';

const TIMEOUT_MS = 10_000;

/** @param apiUrl where Stripe's API is; tests have another */
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
    httpClient: Stripe.createFetchHttpClient(),
    timeout: TIMEOUT_MS,
    telemetry: false,
  });
  return {
    origin,
    async open({ accountId, amount, description, returnUrl }) {
      const metadata = { account_id: accountId };
      const { id } = await asked(
        stripe.checkout.sessions.create({
          mode: 'payment',
          line_items: [
            {
              quantity: 1,
              price_data: {
                currency: 'usd',
                unit_amount: Number(amount / PICO_USD_PER_CENT),
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
      const session = await asked(
        stripe.checkout.sessions.retrieve(id).catch((error: unknown) => {
          if (error instanceof Stripe.errors.StripeInvalidRequestError) return null;
          throw error;
        }),
      );
      return session && { accountId: session.metadata?.['account_id'] ?? null, url: session.url };
    },
  };
}

async function asked<Result>(answer: Promise<Result>): Promise<Result> {
  try {
    return await answer;
  } catch (error) {
    throw new CheckoutUnavailableError('Stripe did not do it', { cause: error });
  }
}
