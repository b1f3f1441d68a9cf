/** xAI's codes of failed videos, which are the names of gRPC codes. */
import { vendorCodes } from '../vendor-codes.ts';

/** `error.code` of a failed video. */
export const xaiCodes = vendorCodes('https://docs.x.ai/docs/guides/video-generation', [
  ['invalid_argument', 'bad_request', 'the prompt or an input is not valid, or moderation stopped it'],
  ['out_of_range', 'bad_request', 'a parameter is out of range'],
  ['permission_denied', 'operator', 'the key has no access to the model'],
  ['unauthenticated', 'operator', 'the key is missing or not valid'],
  ['not_found', 'operator', 'the model does not exist'],
  ['failed_precondition', 'operator', 'a condition of the account is not met'],
  ['resource_exhausted', 'busy', 'too many requests, or the credit is used up'],
  ['service_unavailable', 'busy', 'no capacity'],
  ['unavailable', 'busy', 'no capacity'],
  ['deadline_exceeded', 'timeout', 'the render took too long'],
  ['cancelled', 'failed', 'xAI cancelled the render'],
  ['internal_error', 'failed', 'xAI had an internal error'],
  ['internal', 'failed', 'xAI had an internal error'],
  ['unknown', 'failed', 'xAI reports no reason'],
]);
