/** Gift codes, which finance issues in batches. */
import { listGiftBatches as findBatches, listRedeemedGiftCodes } from '../../../db/queries/gift-codes.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { authorOf, authorshipOf } from '../../../services/people/administrator.ts';
import { existingGiftBatch, issueGiftBatchAlone, withdrawBatch } from '../../../services/money/gift-codes.ts';
import { issueGiftsSchema, toGiftBatch, withdrawGiftsSchema } from '../../../services/input/gift-codes.ts';
import { GIFT_BATCH, ISSUED_GIFT_BATCH, REDEEMED_GIFT_CODE } from '../../../services/resources/gift-codes.ts';

export const giftBatchEndpoints = endpoints('Administration', {
  issueGifts: endpoint({
    request: 'POST /admin/v1/gift-batches',
    access: 'admin-finance',
    summary: 'Issue gift codes',
    description:
      'The answer has the codes, which Genway does not store. Where two people decide about large corrections, 403 for a ' +
      'batch that exceeds the same amount, together with the batches of the last 24 hours: issue the batch in the console.',
    body: jsonBody('IssueGifts', issueGiftsSchema),
    answers: { 201: dataOf(ISSUED_GIFT_BATCH.schema, 'The batch with its codes') },
    handle: async ({ body, caller }, services) => ({
      data: ISSUED_GIFT_BATCH.present(
        await issueGiftBatchAlone(services, toGiftBatch(body, authorOf(caller, body.author))),
      ),
    }),
  }),
  listGiftBatches: endpoint({
    request: 'GET /admin/v1/gift-batches',
    access: 'admin-read',
    summary: 'List batches of gift codes, newest first, with what was redeemed, expired and withdrawn',
    query: pageById('giftBatch'),
    answers: { 200: pageOf(GIFT_BATCH.schema, 'A page of batches') },
    handle: ({ query }, { reports }) => listPage(query, (slice) => findBatches(reports, slice), GIFT_BATCH.present),
  }),
  getGiftBatch: endpoint({
    request: 'GET /admin/v1/gift-batches/{gift_batch_id}',
    access: 'admin-read',
    summary: 'Get a batch of gift codes',
    answers: { 200: dataOf(GIFT_BATCH.schema, 'The batch') },
    handle: async ({ params }, { database }) => ({
      data: GIFT_BATCH.present(await existingGiftBatch(database, params.gift_batch_id)),
    }),
  }),
  listRedeemedGifts: endpoint({
    request: 'GET /admin/v1/gift-batches/{gift_batch_id}/redeemed',
    access: 'admin-read',
    summary: 'List the redeemed codes of a batch',
    query: pageById('giftCode'),
    answers: { 200: pageOf(REDEEMED_GIFT_CODE.schema, 'A page of redeemed codes') },
    handle: async ({ params, query }, { reports }) => {
      const { id: batchId } = await existingGiftBatch(reports, params.gift_batch_id);
      return listPage(
        query,
        (slice) => listRedeemedGiftCodes(reports, { batchId, ...slice }),
        REDEEMED_GIFT_CODE.present,
      );
    },
  }),
  withdrawGifts: endpoint({
    request: 'POST /admin/v1/gift-batches/{gift_batch_id}/withdraw',
    access: 'admin-finance',
    summary: 'Withdraw a batch of gift codes',
    description: 'No code of the batch can be redeemed from now on. Redeemed codes keep their credit.',
    body: jsonBody('WithdrawGifts', withdrawGiftsSchema),
    answers: { 200: dataOf(GIFT_BATCH.schema, 'The batch') },
    handle: async ({ params, body, caller }, { database }) => ({
      data: GIFT_BATCH.present(await withdrawBatch(database, params.gift_batch_id, authorshipOf(caller, body))),
    }),
  }),
});
