/** Gift codes, which the calling account redeems. */
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { redeemSchema } from '../../../services/input/gift-codes.ts';
import { redeemGiftCode } from '../../../services/money/gift-codes.ts';
import { GIFT_REDEMPTION } from '../../../services/resources/gift-codes.ts';

export const giftCodeEndpoints = endpoints('Account', {
  redeemGift: endpoint({
    request: 'POST /v1/balance/codes',
    access: 'key',
    summary: 'Redeem a gift code',
    description:
      'Adds the amount of the code to the balance, once: the account that redeemed a code gets the same answer again. ' +
      'Codes that are wrong, expired, withdrawn or redeemed by others all get 404.',
    body: jsonBody('RedeemGift', redeemSchema),
    answers: { 200: dataOf(GIFT_REDEMPTION.schema, 'The redemption') },
    refusals: ['not_found'],
    handle: async ({ caller, body, context }, { database }) => ({
      data: GIFT_REDEMPTION.present(
        await redeemGiftCode(database, body.code, {
          accountId: caller.account.id,
          email: null,
          ip: context.ip,
        }),
      ),
    }),
  }),
});
