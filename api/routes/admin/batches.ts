/** Batches of all accounts, for operators. */
import type { Database } from '../../../db/database.ts';
import type { Authorship } from '../../../db/queries/operator-actions.ts';
import { listBatches } from '../../../db/queries/batches.ts';
import { BATCH_STATUSES } from '../../../domain/batch.ts';
import { integer, object } from '../../../domain/json-schema.ts';
import { operatorActionSchema } from '../../../services/input/admin.ts';
import {
  type BatchWithMoney,
  existingBatch,
  explainBatch,
  withMoney,
} from '../../../services/batches/explain-batch.ts';
import { cancelAnyBatch, pauseAnyBatch, resumeAnyBatch, retryLines } from '../../../services/batches/operate-batch.ts';
import { type Administrator, authorshipOf } from '../../../services/people/administrator.ts';
import { ADMIN_BATCH } from '../../../services/resources/admin.ts';
import { renderTimeline } from '../../../services/tasks/timeline.ts';
import type { Slice } from '../../../services/page.ts';
import { dataOf, withPlainText } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { choiceParameter, textParameter } from '../../endpoint/query.ts';
import type { ApiServices } from '../../services.ts';
import { BATCH_EXPLANATION } from './present-explanation.ts';

const actionBody = jsonBody('OperatorActionRequest', operatorActionSchema);
const shown = { 200: dataOf(ADMIN_BATCH.schema, 'The batch') };

export const adminBatchEndpoints = endpoints('Administration', {
  listAllBatches: endpoint({
    request: 'GET /admin/v1/batches',
    access: 'admin-read',
    summary: 'List batches of all accounts, newest first',
    query: {
      account_id: textParameter('Filters by account'),
      status: choiceParameter(BATCH_STATUSES, 'Filters by status'),
      ...pageById('batch'),
    },
    answers: { 200: pageOf(ADMIN_BATCH.schema, 'A page of batches') },
    handle: ({ query }, { database, operations: { temporal } }) => {
      const { account_id: accountId, status } = query;
      const read = async (slice: Slice) =>
        withMoney(database, await listBatches(database, { accountId, status, ...slice }));
      return listPage(query, read, (batch) => ADMIN_BATCH.present({ ...batch, temporal }));
    },
  }),
  getAnyBatch: endpoint({
    request: 'GET /admin/v1/batches/{batch_id}',
    access: 'admin-read',
    summary: 'Get a batch of any account, with a link to its history',
    answers: shown,
    handle: ({ params }, services) => show(services, params.batch_id),
  }),
  cancelAnyBatch: endpoint({
    request: 'POST /admin/v1/batches/{batch_id}/cancel',
    access: 'admin',
    summary: 'Cancel a batch of any account',
    description:
      'No further request starts. Requests in progress end, and are charged. Answers 409 for a batch that has ended.',
    body: actionBody,
    answers: shown,
    refusals: ['idempotency_conflict'],
    handle: async (request, services) => (await operate(cancelAnyBatch, request, services)).shown,
  }),
  pauseBatch: endpoint({
    request: 'POST /admin/v1/batches/{batch_id}/pause',
    access: 'admin',
    summary: 'Pause a batch of any account',
    description:
      'No further request starts until the batch is resumed. Requests in progress end. The batch still expires at the end of its window. Answers 409 for a batch that does not run.',
    body: actionBody,
    answers: shown,
    refusals: ['idempotency_conflict'],
    handle: async (request, services) => (await operate(pauseAnyBatch, request, services)).shown,
  }),
  resumeBatch: endpoint({
    request: 'POST /admin/v1/batches/{batch_id}/resume',
    access: 'admin',
    summary: 'Resume a batch that an operator paused',
    description: 'Answers 409 for a batch that no operator paused.',
    body: actionBody,
    answers: shown,
    refusals: ['idempotency_conflict'],
    handle: async (request, services) => (await operate(resumeAnyBatch, request, services)).shown,
  }),
  retryBatch: endpoint({
    request: 'POST /admin/v1/batches/{batch_id}/retry',
    access: 'admin',
    summary: 'Run the failed requests of a batch in progress again',
    description:
      'Failures that were charged stay. Answers 409 for a final batch: its failures are in its error file, for a new batch.',
    body: actionBody,
    answers: { 200: dataOf(object({ count: integer(), batch: ADMIN_BATCH.schema }), 'The number of requests') },
    refusals: ['idempotency_conflict'],
    handle: async (request, services) => {
      const { result: count, shown } = await operate(retryLines, request, services);
      return { data: { count, batch: shown.data } };
    },
  }),
  explainBatch: endpoint({
    request: 'GET /admin/v1/batches/{batch_id}/explanation',
    access: 'admin-read',
    summary: 'Get the timeline of a batch',
    description:
      'Collects the events of the batch from the database, the workflow and operators’ actions. `Accept: text/plain` returns text.',
    answers: { 200: withPlainText(dataOf(BATCH_EXPLANATION.schema, 'The state and the events of the batch')) },
    handle: async ({ params, context }, services) => {
      const explanation = await explainBatch(services, await existingBatch(services.database, params.batch_id));
      if (context.accepts('json', 'text') === 'text') return `${renderTimeline(explanation).join('\n')}\n`;
      return { data: BATCH_EXPLANATION.present({ ...explanation, temporal: services.operations.temporal }) };
    },
  }),
});

/** @throws ServiceError `not_found` */
async function show({ database, operations: { temporal } }: ApiServices, id: string) {
  return { data: ADMIN_BATCH.present({ ...(await existingBatch(database, id)), temporal }) };
}

interface ActionRequest {
  readonly params: { readonly batch_id: string };
  readonly body: Parameters<typeof authorshipOf>[1];
  readonly caller: Administrator;
}

/** Does what an operator asks for. @returns its result, and the batch as it is then */
async function operate<Result>(
  act: (database: Database, batch: BatchWithMoney, by: Authorship) => Promise<Result>,
  { params, body, caller }: ActionRequest,
  services: ApiServices,
) {
  const { database } = services;
  const batch = await existingBatch(database, params.batch_id);
  const result = await act(database, batch, authorshipOf(caller, body));
  return { result, shown: await show(services, batch.id) };
}
