/** Promo credit, which operators grant and which expires. */
import { listPromoGrants, type PromoGrant } from '../../../db/queries/promo-grants.ts';
import { parseUsd } from '../../../domain/money.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import * as field from '../../../domain/resource/field.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { resource } from '../../../domain/resource/resource.ts';
import { authorOf } from '../../../services/people/administrator.ts';
import { existingAccount } from '../../../services/people/existing-account.ts';
import { grantPromo } from '../../../services/money/grant-promo.ts';
import { promoGrantSchema } from '../../../services/input/admin.ts';

const PROMO_GRANT = resource<PromoGrant>('PromoGrant', {
  id: field.id('promoGrant')('id'),
  object: field.constant('promo_grant'),
  account_id: field.id('account')('accountId'),
  reference: field.text('reference', 'The reference of the grant. Each reference is granted once per account'),
  amount_usd: field.usd('amount', 'The amount granted: the sum of the four parts'),
  available_usd: field.usd('available', 'The amount that can be spent'),
  reserved_usd: field.usd(
    'reserved',
    'The amount held for running tasks and requests. A release after the expiry expires at once',
  ),
  spent_usd: field.usd('spent', 'The amount charged'),
  expired_usd: field.usd('expired', 'The amount that expired'),
  expires_at: field.unixSeconds('expiresAt', 'When the credit expires'),
  author: field.text('author', 'The author of the grant'),
  reason: field.text('reason', 'The reason of the grant'),
  created_at: field.unixSeconds('createdAt', 'When the credit was granted'),
});

export const promoGrantEndpoints = endpoints('Administration', {
  grantPromo: endpoint({
    request: 'POST /admin/v1/accounts/{account_id}/promo-grants',
    access: 'admin-finance',
    summary: 'Grant promo credit, which expires',
    description:
      'Promo credit is spent before all other credit, in the order of expiry. Each reference is granted once per account: a repeated ' +
      'call answers 200 and changes nothing; with another amount or expiry, 409.',
    body: jsonBody('GrantPromo', promoGrantSchema),
    answers: { 200: dataOf(PROMO_GRANT.schema, 'The earlier grant'), 201: dataOf(PROMO_GRANT.schema, 'The grant') },
    refusals: ['idempotency_conflict'],
    handle: async ({ params, caller, body, context }, services) => {
      const { database } = services;
      const { id: accountId } = await existingAccount(database, params.account_id);
      const { amount_usd: amountUsd, expires_at: expiresAt, reference, reason } = body;
      const { grant, applied } = await grantPromo(services, {
        accountId,
        amount: parseUsd(amountUsd),
        expiresAt,
        reference,
        reason,
        author: authorOf(caller, body.author),
      });
      if (applied) context.status = 201;
      return { data: PROMO_GRANT.present(grant) };
    },
  }),
  listPromo: endpoint({
    request: 'GET /admin/v1/accounts/{account_id}/promo-grants',
    access: 'admin-read',
    summary: 'List the promo credit of an account, newest first',
    query: pageById('promoGrant'),
    answers: { 200: pageOf(PROMO_GRANT.schema, 'A page of grants') },
    handle: async ({ params, query }, { database }) => {
      const { id: accountId } = await existingAccount(database, params.account_id);
      return listPage(query, (slice) => listPromoGrants(database, { accountId, ...slice }), PROMO_GRANT.present);
    },
  }),
});
