/** Where a payment provider announces payments (docs/finance.md, "Payments"). Not part of the public contract. */
import type Router from '@koa/router';
import { findAccount } from '../../../db/queries/accounts.ts';
import { badRequest, ServiceError } from '../../../domain/errors.ts';
import { isId } from '../../../domain/ids.ts';
import {
  type Payment,
  type PaymentEvent,
  readPaymentEvent,
  UnsignedPaymentEventError,
  UnusablePaymentEventError,
  verifyPaymentEvent,
} from '../../../providers/payment-events.ts';
import { readBody, readJson } from '../../middlewares/json-body.ts';
import { creditOnce } from '../../services/credit-once.ts';
import type { ApiServices } from '../../services/services.ts';
import type { RequestState } from '../../state.ts';
import { presentCreditedPayment, presentIgnoredEvent } from './present.ts';

/** Events are far smaller. */
const BODY_LIMITS = { maxBytes: 256 * 1024, maxDepth: 32, maxValues: 20_000 };

/** @param secret what the payment provider signs with */
export function paymentEventRoutes(router: Router<RequestState>, { database, log }: ApiServices, secret: string): void {
  router.post('/v1/payment-events', async (context) => {
    const rawBody = await readBody(context.req, BODY_LIMITS.maxBytes);
    verify(context.get('stripe-signature'), rawBody, secret);
    const event = read(await readJson(rawBody, BODY_LIMITS));
    if ('ignored' in event) {
      context.body = { data: presentIgnoredEvent(event.ignored) };
      return;
    }
    context.body = { data: await credit(event.payment) };
  });

  async function credit({ id, accountId, amount }: Payment) {
    try {
      if (!isId('account', accountId) || !(await findAccount(database, accountId))) {
        throw new ServiceError('not_found', 'There is no such account. Check the account_id in the metadata.');
      }
      // An operator who credits a payment by hand uses the same reference.
      return presentCreditedPayment(await creditOnce(database, { accountId, amount, reference: `payment:${id}` }));
    } catch (error) {
      if (error instanceof ServiceError) log.warn({ paymentId: id, code: error.code }, 'a payment was not credited');
      throw error;
    }
  }
}

/** @throws ServiceError 400 `invalid_signature` */
function verify(signatureHeader: string, rawBody: Uint8Array, secret: string): void {
  try {
    verifyPaymentEvent({ signatureHeader, rawBody }, secret);
  } catch (error) {
    if (!(error instanceof UnsignedPaymentEventError)) throw error;
    throw new ServiceError('invalid_signature', `The event is refused: ${error.message}.`, { status: 400 });
  }
}

/** @throws ServiceError `bad_request` */
function read(document: unknown): PaymentEvent {
  try {
    return readPaymentEvent(document);
  } catch (error) {
    if (!(error instanceof UnusablePaymentEventError)) throw error;
    throw badRequest(`The event is refused: ${error.message}.`);
  }
}
