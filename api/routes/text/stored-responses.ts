/** The stored responses of an account, and responses over WebSockets: contract 4.8.2. */
import { boolean, exactly, object, ref, text } from '../../../domain/json-schema.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { FORMATS } from '../../../text/formats.ts';
import { assertUpgrade } from '../../accept-socket.ts';
import { json } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import type { PresentError } from '../../state.ts';

const presentError: PresentError = (error, requestId) => FORMATS.responses.client.renderRefusal(error, requestId);

export const storedResponseEndpoints = endpoints('Text', {
  openResponses: endpoint({
    request: 'GET /v1/responses',
    access: 'text-key',
    isRead: true,
    summary: 'Create responses over a WebSocket',
    description:
      'Each message is `{"type": "response.create", …}` with the body of `POST /v1/responses`, and is charged like it. The messages of the answer are the events of ' +
      'the stream. `previous_response_id` may name the latest response of the connection, on any model.',
    answers: { 101: { description: 'The WebSocket' } },
    refusals: ['bad_request', 'processing_unavailable'],
    presentError,
    handle: async ({ caller, context }, { http }) => {
      assertUpgrade(context);
      await http.responseSockets.open(context, caller);
    },
  }),
  getResponse: endpoint({
    request: 'GET /v1/responses/{response_id}',
    access: 'text-key',
    isRead: true,
    summary: 'Get a stored response',
    description: 'Responses of models with full compatibility are stored for an hour, or as long as the account sets.',
    answers: { 200: { description: 'The response', content: json(ref('ResponsesResponse')) } },
    presentError,
    handle: async ({ caller, params: { response_id: id } }, { text: { responses } }) => {
      const response = await responses.find(caller.account.id, id);
      if (response === null) throw unknownResponse();
      return response;
    },
  }),
  deleteResponse: endpoint({
    request: 'DELETE /v1/responses/{response_id}',
    access: 'text-key',
    summary: 'Delete a stored response',
    description: 'Requests can then continue neither this response nor the responses that continue it.',
    answers: {
      200: {
        description: 'The deleted response',
        content: json(object({ id: text(), object: exactly('response'), deleted: boolean() })),
      },
    },
    presentError,
    handle: async ({ caller, params: { response_id: id } }, { text: { responses } }) => {
      if (!(await responses.remove(caller.account.id, id))) throw unknownResponse();
      return { id, object: 'response', deleted: true };
    },
  }),
});

function unknownResponse(): ServiceError {
  return new ServiceError('not_found', 'There is no such stored response in this account. Check the id and the key.');
}
