/**
 * Google's codes. A failed operation has the number of a gRPC code, or its HTTP status, in `error.code`; an interaction
 * has a word.
 */
import { vendorCodes } from '../vendor-codes.ts';

/** The page that lists the gRPC codes. */
const GRPC = 'https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto';

/** `error.code` of an operation: the numbers of gRPC codes, and the corresponding HTTP statuses. */
export const googleNumbers = vendorCodes(GRPC, [
  [1, 'failed', 'CANCELLED'],
  [2, 'failed', 'UNKNOWN'],
  [3, 'bad_request', 'INVALID_ARGUMENT'],
  [4, 'timeout', 'DEADLINE_EXCEEDED'],
  [5, 'operator', 'NOT_FOUND'],
  [6, 'failed', 'ALREADY_EXISTS'],
  [7, 'operator', 'PERMISSION_DENIED'],
  [8, 'busy', 'RESOURCE_EXHAUSTED'],
  [9, 'operator', 'FAILED_PRECONDITION'],
  [10, 'failed', 'ABORTED'],
  [11, 'bad_request', 'OUT_OF_RANGE'],
  [12, 'operator', 'UNIMPLEMENTED'],
  [13, 'failed', 'INTERNAL'],
  [14, 'busy', 'UNAVAILABLE'],
  [15, 'failed', 'DATA_LOSS'],
  [16, 'operator', 'UNAUTHENTICATED'],
  [400, 'bad_request', 'INVALID_ARGUMENT, FAILED_PRECONDITION, OUT_OF_RANGE'],
  [401, 'operator', 'UNAUTHENTICATED'],
  [403, 'operator', 'PERMISSION_DENIED'],
  [404, 'operator', 'NOT_FOUND'],
  [409, 'failed', 'ABORTED, ALREADY_EXISTS'],
  [413, 'bad_request', 'the request body is too large'],
  [429, 'busy', 'RESOURCE_EXHAUSTED'],
  [499, 'failed', 'CANCELLED'],
  [500, 'failed', 'UNKNOWN, INTERNAL, DATA_LOSS'],
  [501, 'operator', 'UNIMPLEMENTED'],
  [503, 'busy', 'UNAVAILABLE'],
  [504, 'timeout', 'DEADLINE_EXCEEDED'],
]);

/** `finishReason` of a candidate without an image, and `blockReason` of a prompt. */
export const googleReasons = vendorCodes('https://ai.google.dev/api/generate-content#FinishReason', [
  ['STOP', 'failed', 'the model finished without an image'],
  ['MAX_TOKENS', 'failed', 'the answer reached the token limit'],
  ['SAFETY', 'content_policy_violation', 'a safety filter stopped the prompt or the result'],
  ['RECITATION', 'content_policy_violation', 'the result is too close to training data'],
  ['LANGUAGE', 'bad_request', 'the language is not supported'],
  ['OTHER', 'failed', 'Google reports no reason'],
  ['BLOCKLIST', 'content_policy_violation', 'the text contains a forbidden term'],
  ['PROHIBITED_CONTENT', 'content_policy_violation', 'the text contains prohibited content'],
  ['SPII', 'content_policy_violation', 'the text contains sensitive personal information'],
  ['MALFORMED_FUNCTION_CALL', 'failed', 'the model made a malformed function call'],
  ['UNEXPECTED_TOOL_CALL', 'failed', 'the model called a function that does not exist'],
  ['TOO_MANY_TOOL_CALLS', 'failed', 'the model made too many function calls'],
  ['MISSING_THOUGHT_SIGNATURE', 'failed', 'a thought signature is missing'],
  ['MALFORMED_RESPONSE', 'failed', 'the answer of the model is malformed'],
  ['IMAGE_SAFETY', 'content_policy_violation', 'a safety filter stopped the image'],
  ['IMAGE_PROHIBITED_CONTENT', 'content_policy_violation', 'the image shows prohibited content'],
  ['IMAGE_RECITATION', 'content_policy_violation', 'the image is too close to training data'],
  ['IMAGE_OTHER', 'failed', 'Google reports no reason'],
  ['NO_IMAGE', 'failed', 'the model generated no image'],
  ['MODEL_ARMOR', 'content_policy_violation', 'the Model Armor filter of the Vertex project stopped the request'],
  ['JAILBREAK', 'content_policy_violation', 'the prompt tries to circumvent the filters'],
]);

/** `error.code` of the Interactions API; without a code of its own, the HTTP status in snake case. */
export const interactionCodes = vendorCodes('https://ai.google.dev/gemini-api/docs/api-errors', [
  ['invalid_request', 'bad_request', 'the request is malformed or has invalid parameters'],
  ['parameter_unknown', 'operator', 'the request has an unknown parameter, which no client sends'],
  ['out_of_range', 'bad_request', 'a parameter is out of range'],
  ['failed_precondition', 'operator', 'billing is disabled, or another condition of the account is not met'],
  ['authentication', 'operator', 'the API key is missing, invalid or expired'],
  ['payment_required', 'operator', 'the prepaid credit is used up'],
  ['permission_denied', 'operator', 'the API key has no access to the resource'],
  ['not_found', 'operator', 'the resource does not exist'],
  ['model_not_found', 'operator', 'the model does not exist'],
  ['rate_limit_exceeded', 'busy', 'too many requests or tokens a minute'],
  ['quota_exceeded', 'busy', 'the daily quota is used up'],
  ['content_blocked', 'content_policy_violation', 'a policy or a safety filter stopped the prompt or the result'],
  ['cancelled', 'failed', 'the client cancelled the request'],
  ['api_error', 'failed', 'Google had an unexpected error'],
  ['bad_request', 'bad_request', '400'],
  ['unauthorized', 'operator', '401'],
  ['forbidden', 'operator', '403'],
  ['too_many_requests', 'busy', '429'],
  ['internal_server_error', 'failed', '500'],
  ['service_unavailable', 'busy', '503'],
  ['gateway_timeout', 'timeout', '504'],
]);
