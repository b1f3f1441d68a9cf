/** Batches in the form of OpenAI's API: contract 4.17. */
import { completeIdempotencyKey } from '../../../db/queries/idempotency.ts';
import { listBatches } from '../../../db/queries/batches.ts';
import type { Batch } from '../../../domain/batch.ts';
import { BATCH } from '../../../domain/batch-object.ts';
import { presentTypedError } from '../../../domain/error-envelope.ts';
import { arrayOf, boolean, exactly, nullable, object, text } from '../../../domain/json-schema.ts';
import { type CreateBatchBody, createBatchSchema } from '../../../services/input/batches.ts';
import { claimLostError, type CreatedResponse } from '../../../services/tasks/idempotency.ts';
import { json } from '../../endpoint/answers.ts';
import { ignoredJsonBody, jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { type CreateRequest, idempotentEndpoint } from '../../endpoint/idempotent.ts';
import { listPage, pageById, NEXT_CURSOR } from '../../endpoint/page.ts';
import { idParameter } from '../../endpoint/query.ts';
import type { ApiServices } from '../../services.ts';

export const batchEndpoints = endpoints('Batches', {
  createBatch: idempotentEndpoint({
    request: 'POST /v1/batches',
    summary: 'Create a batch',
    description:
      'Runs the requests of a file within a day, at the price of batches. Each request is checked and charged like a direct one. ' +
      'If the balance is too low, the batch waits until the next top-up.',
    body: jsonBody('CreateBatch', createBatchSchema, {
      chat: {
        value: {
          input_file_id: 'file_00mx0sik5xahpdclleyh8ykh66j9gtzg',
          endpoint: '/v1/chat/completions',
          completion_window: '24h',
        },
      },
    }),
    created: { description: 'The batch', content: json(BATCH.schema) },
    refusals: ['not_found', 'user_concurrency_exceeded'],
    handle: create,
  }),
  listBatches: endpoint({
    request: 'GET /v1/batches',
    access: 'key',
    summary: 'List batches, newest first',
    query: {
      ...pageById('batch'),
      after: idParameter('batch', 'The id of the last batch of the previous page, instead of `cursor`'),
    },
    answers: {
      200: {
        description: 'A page of batches',
        content: json(
          object({
            object: exactly('list'),
            data: arrayOf(BATCH.schema),
            first_id: nullable(text()),
            last_id: nullable(text()),
            has_more: boolean(),
            next_cursor: NEXT_CURSOR,
          }),
        ),
      },
    },
    presentError: presentTypedError,
    handle: async ({ caller: { account }, query: { after, cursor = after, limit } }, { database }) => {
      const page = await listPage(
        { cursor, limit },
        (slice) => listBatches(database, { accountId: account.id, ...slice }),
        (batch) => ({ id: batch.id, shown: BATCH.present(batch) }),
      );
      return {
        object: 'list',
        data: page.data.map(({ shown }) => shown),
        first_id: page.data[0]?.id ?? null,
        last_id: page.data.at(-1)?.id ?? null,
        has_more: page.next_cursor !== null,
        next_cursor: page.next_cursor,
      };
    },
  }),
  getBatch: endpoint({
    request: 'GET /v1/batches/{batch_id}',
    access: 'key',
    summary: 'Get a batch',
    answers: { 200: { description: 'The batch', content: json(BATCH.schema) } },
    presentError: presentTypedError,
    handle: async ({ caller, params }, { batches }) => BATCH.present(await batches.find(caller, params.batch_id)),
  }),
  cancelBatch: endpoint({
    request: 'POST /v1/batches/{batch_id}/cancel',
    access: 'key',
    summary: 'Cancel a batch',
    description:
      'No further request starts. Requests in progress end, and are charged; their answers are in the files.',
    body: ignoredJsonBody,
    answers: { 200: { description: 'The batch', content: json(BATCH.schema) } },
    refusals: ['not_found'],
    presentError: presentTypedError,
    handle: async ({ caller, params }, { batches }) => BATCH.present(await batches.cancel(caller, params.batch_id)),
  }),
});

async function create(
  { caller, body, claim, context }: CreateRequest<CreateBatchBody>,
  { batches }: ApiServices,
): Promise<CreatedResponse> {
  const order = { inputFileId: body.input_file_id, endpoint: body.endpoint, metadata: body.metadata ?? null };
  const batch = await batches.create(caller, context.state.requestId, order, {
    isRepeatable: claim !== null,
    within: async (transaction, created) => {
      if (claim === null) return;
      const { key, claimToken } = claim;
      const encryptedBody = claim.encrypt(write(created));
      const completion = { accountId: caller.account.id, key, claimToken, status: 201, encryptedBody };
      if (!(await completeIdempotencyKey(transaction, completion))) throw claimLostError();
    },
  });
  return { status: 201, body: write(batch) };
}

function write(batch: Batch): string {
  return JSON.stringify(BATCH.present(batch));
}
