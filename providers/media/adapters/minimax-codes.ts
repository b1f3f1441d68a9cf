/** MiniMax's codes and statuses. The message of an answer with an error status often ends in a code. */
import { vendorCodes } from '../vendor-codes.ts';

/** The codes of failed tasks: in brackets in messages, and in `base_resp` under status 200. */
export const minimaxCodes = vendorCodes('https://platform.minimax.io/docs/api-reference/errorcode', [
  [1000, 'failed', 'unknown error'],
  [1001, 'timeout', 'the request took too long'],
  [1002, 'busy', 'too many requests'],
  [1004, 'operator', 'the key is missing or belongs to another group'],
  [1008, 'operator', 'the balance does not suffice'],
  [1024, 'failed', 'internal error'],
  [1026, 'content_policy_violation', 'the input is sensitive'],
  [1027, 'content_policy_violation', 'the output is sensitive'],
  [1033, 'failed', 'an error of a service behind it'],
  [1039, 'bad_request', 'more tokens than allowed'],
  [1041, 'busy', 'too many connections'],
  [1042, 'bad_request', 'too many invisible or invalid characters'],
  [1043, 'bad_request', 'the speech does not match the text'],
  [1044, 'bad_request', 'the cloned speech does not match the text'],
  [2013, 'bad_request', 'parameters are not valid'],
  [2037, 'bad_request', 'the sample of the voice is too short or too long'],
  [2039, 'bad_request', 'the id of the voice is taken'],
  [2042, 'bad_request', 'the voice belongs to another account'],
  [2045, 'busy', 'requests increase too fast'],
  [2048, 'bad_request', 'the audio prompt is too long'],
  [2049, 'operator', 'the key is not valid'],
  [2056, 'operator', 'the plan’s limit is reached'],
  [20132, 'bad_request', 'the sample or the id of the voice is not valid'],
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
