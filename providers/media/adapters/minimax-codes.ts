/** MiniMax's codes and statuses. The message of an answer with an error status often ends in a code. */
import { vendorCodes } from '../vendor-codes.ts';

/** The codes of failed tasks: in brackets in messages, and in `base_resp` under status 200. */
export const minimaxCodes = vendorCodes('https://platform.minimax.io/docs/api-reference/errorcode', [
  [1000, 'failed', 'MiniMax reports no reason'],
  [1001, 'timeout', 'the request timed out'],
  [1002, 'busy', 'too many requests'],
  [1004, 'operator', 'the API key is missing or belongs to another group'],
  [1008, 'operator', 'the balance is insufficient'],
  [1024, 'failed', 'the vendor had an internal error'],
  [1026, 'content_policy_violation', 'the input is sensitive'],
  [1027, 'content_policy_violation', 'the output is sensitive'],
  [1033, 'failed', 'a service behind MiniMax failed'],
  [1039, 'bad_request', 'the request has more tokens than allowed'],
  [1041, 'busy', 'too many connections'],
  [1042, 'bad_request', 'too many invisible or invalid characters'],
  [1043, 'bad_request', 'the speech does not match the text'],
  [1044, 'bad_request', 'the cloned speech does not match the text'],
  [2013, 'bad_request', 'parameters are not valid'],
  [2037, 'bad_request', 'the voice sample is too short or too long'],
  [2039, 'bad_request', 'the voice ID is already in use'],
  [2042, 'bad_request', 'the voice belongs to another account'],
  [2045, 'busy', 'the request rate increases too fast'],
  [2048, 'bad_request', 'the audio prompt is too long'],
  [2049, 'operator', 'the API key is not valid'],
  [2056, 'operator', 'the account has reached the limit of its plan'],
  [20132, 'bad_request', 'the voice sample or the voice ID is not valid'],
]);

/** Statuses of answers with an `error`. The explanation is the `type` of the error. */
export const minimaxStatuses = vendorCodes(
  'https://platform.minimax.io/docs/api-reference/video-generation-v2-create',
  [
    [400, 'bad_request', 'bad_request_error'],
    [401, 'operator', 'authorized_error'],
    [402, 'operator', 'insufficient_balance_error'],
    [422, 'content_policy_violation', 'unprocessable_entity_error'],
    [429, 'busy', 'rate_limit_error'],
    [500, 'failed', 'server_error'],
    [529, 'busy', 'overloaded_error'],
  ],
);
