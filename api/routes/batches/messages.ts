/** Batches of messages in the form of Anthropic's API: contract 4.17. */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { listBatches } from '../../../db/queries/batches.ts';
import { type Batch, isFinalBatch } from '../../../domain/batch.ts';
import { badRequest } from '../../../domain/errors.ts';
import { arrayOf, boolean, component, exactly, nullable, object, ref, text } from '../../../domain/json-schema.ts';
import { MESSAGE_BATCH } from '../../../domain/message-batch-object.ts';
import { BATCHES } from '../../../domain/policy.ts';
import type { CheckedInput } from '../../../services/batches/check-input.ts';
import {
  cancelMessageBatch,
  createMessageBatch,
  findMessageBatch,
  MESSAGES_ENDPOINT,
  removeMessageBatch,
} from '../../../services/batches/message-batches.ts';
import { readMessageRequests } from '../../../services/batches/message-requests.ts';
import { findResultFiles, readMessageResults } from '../../../services/batches/message-results.ts';
import { FORMATS } from '../../../text/formats.ts';
import { json } from '../../endpoint/answers.ts';
import { ignoredJsonBody, type RequestBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { pageById } from '../../endpoint/page.ts';
import { idParameter } from '../../endpoint/query.ts';
import { requirePlainJson } from '../../middlewares/json-body.ts';
import { refusalsIn } from '../../openapi/text.ts';
import { receiveStreamedBody } from '../../receive-streamed-body.ts';
import type { ApiServices } from '../../services.ts';
import type { PresentError } from '../../state.ts';

const presentError: PresentError = (error, requestId) => FORMATS.messages.client.renderRefusal(error, requestId);

const BASE = { access: 'any-key', refusalsInFormat: refusalsIn('messages'), presentError } as const;

/** Reads the requests while they arrive, and returns the result of `store`. */
type ReceiveRequests = <Stored>(store: (input: ArrivingRequests) => Promise<Stored>) => Promise<Stored>;

interface ArrivingRequests extends CheckedInput {
  readonly announcedBytes: number | null;
}

const REQUESTS: RequestBody<ReceiveRequests> = {
  description: {
    required: true,
    content: json(
      component(
        'CreateMessageBatch',
        object({
          requests: {
            ...arrayOf(
              object({
                custom_id: text('Your id of the request, different in each', { maxLength: BATCHES.maxCustomIdLength }),
                params: ref('MessagesRequest'),
              }),
            ),
            maxItems: BATCHES.maxLines,
          },
        }),
      ),
    ),
  },
  read: async (request) => (store) => receiveRequests(request, store),
};

async function receiveRequests<Stored>(
  request: IncomingMessage,
  store: (input: ArrivingRequests) => Promise<Stored>,
): Promise<Stored> {
  requirePlainJson(request);
  return receiveStreamedBody(request, BATCHES.maxBytes, ({ body, hold, announcedBytes }) =>
    store({ ...readMessageRequests(body, hold), announcedBytes }),
  );
}

function present(batch: Batch, { publicUrl }: Pick<ApiServices, 'publicUrl'>) {
  return MESSAGE_BATCH.present({ ...batch, publicUrl });
}

const A_BATCH = { 200: { description: 'The batch', content: json(MESSAGE_BATCH.schema) } };

export const messageBatchEndpoints = endpoints('Batches', {
  createMessageBatch: endpoint({
    ...BASE,
    request: 'POST /v1/messages/batches',
    summary: 'Create a batch of messages',
    description: 'As `POST /v1/batches`, with the requests in the body: up to 50,000 of 200 MB in all.',
    body: REQUESTS,
    answers: A_BATCH,
    refusals: ['bad_request', 'forbidden', 'read_request_body_failed', 'user_concurrency_exceeded'],
    handle: async ({ caller, body: receive, context }, services) => {
      const { requestId } = context.state;
      const betas = context.get('anthropic-beta') || null;
      return present(await receive((input) => createMessageBatch(caller, requestId, input, betas, services)), services);
    },
  }),
  listMessageBatches: endpoint({
    ...BASE,
    request: 'GET /v1/messages/batches',
    summary: 'List batches of messages, newest first',
    query: {
      limit: pageById('batch').limit,
      after_id: idParameter('batch', 'The id of the last batch of the previous page'),
      before_id: idParameter('batch', 'The id of the first batch of the next page, to page back'),
    },
    answers: {
      200: {
        description: 'A page of batches',
        content: json(
          object({
            data: arrayOf(MESSAGE_BATCH.schema),
            has_more: boolean(),
            first_id: nullable(text()),
            last_id: nullable(text()),
          }),
        ),
      },
    },
    handle: async ({ caller: { account }, query: { limit, after_id: before, before_id: newerThan } }, services) => {
      if (before !== undefined && newerThan !== undefined)
        throw badRequest('Send "after_id" or "before_id", not both.');
      const slice = {
        accountId: account.id,
        endpoint: MESSAGES_ENDPOINT,
        before,
        newerThan,
        limit: limit + 1,
      } as const;
      const found = await listBatches(services.database, slice);
      const hasMore = found.length > limit;
      const page = newerThan === undefined ? found.slice(0, limit) : found.slice(-limit);
      return {
        data: page.map((batch) => present(batch, services)),
        has_more: hasMore,
        first_id: page[0]?.id ?? null,
        last_id: page.at(-1)?.id ?? null,
      };
    },
  }),
  getMessageBatch: endpoint({
    ...BASE,
    request: 'GET /v1/messages/batches/{batch_id}',
    summary: 'Get a batch of messages',
    answers: A_BATCH,
    handle: async ({ caller, params }, services) =>
      present(await findMessageBatch(caller, params.batch_id, services), services),
  }),
  cancelMessageBatch: endpoint({
    ...BASE,
    request: 'POST /v1/messages/batches/{batch_id}/cancel',
    summary: 'Cancel a batch of messages',
    description: 'No further request starts. Requests in progress end, and are charged.',
    body: ignoredJsonBody,
    answers: A_BATCH,
    handle: async ({ caller, params }, services) =>
      present(await cancelMessageBatch(caller, params.batch_id, services), services),
  }),
  deleteMessageBatch: endpoint({
    ...BASE,
    request: 'DELETE /v1/messages/batches/{batch_id}',
    summary: 'Delete a batch of messages that has ended, with its files',
    answers: {
      200: {
        description: 'The deleted batch',
        content: json(object({ id: text(), type: exactly('message_batch_deleted') })),
      },
    },
    refusals: ['bad_request'],
    handle: async ({ caller, params: { batch_id: id } }, services) => {
      await removeMessageBatch(caller, id, services);
      return { id, type: 'message_batch_deleted' };
    },
  }),
  getMessageBatchResults: endpoint({
    ...BASE,
    request: 'GET /v1/messages/batches/{batch_id}/results',
    summary: 'Get the results of a batch of messages',
    description: 'One result a line, in any order.',
    answers: { 200: { description: 'The results', content: { 'application/x-jsonl': { schema: text() } } } },
    refusals: ['bad_request'],
    handle: async ({ caller, params, context }, services) => {
      const batch = await findMessageBatch(caller, params.batch_id, services);
      if (!isFinalBatch(batch.status))
        throw badRequest('The batch has not ended. Wait until "results_url" is not null.');
      const files = await findResultFiles(batch, services.database);
      context.set({ 'Cache-Control': 'private, no-store', 'X-Content-Type-Options': 'nosniff' });
      context.type = 'application/x-jsonl';
      context.body = Readable.from(readMessageResults(files, services.storage), { highWaterMark: 1 });
    },
  }),
});
