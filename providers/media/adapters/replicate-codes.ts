/** Replicate's codes, which occur in the text of a prediction's error, and the statuses of its refusals. */
import { vendorCodes } from '../vendor-codes.ts';

/** In the text, such as `… (E005)`. The platform's codes have four digits, those of its official models three. */
export const replicateCodes = vendorCodes('https://replicate.com/docs/reference/error-codes', [
  ['E1000', 'failed', 'unknown error'],
  ['E1001', 'failed', 'the model ran out of memory'],
  ['E4875', 'operator', 'the address of the webhook is empty'],
  ['E6716', 'timeout', 'the prediction did not start in time'],
  ['E8367', 'failed', 'the prediction was stopped'],
  ['E8765', 'failed', 'the model’s health check failed'],
  ['E9243', 'failed', 'unexpected error of the platform'],
  ['E9825', 'failed', 'a file could not be uploaded'],
  // Not on the page: official models fail with this code if the vendor's check flags an input or output.
  ['E005', 'content_policy_violation', 'flagged as sensitive'],
]);

/** Statuses of answers to a submission. The body is `application/problem+json`. */
export const replicateStatuses = vendorCodes('https://replicate.com/docs/reference/http', [
  [400, 'bad_request', 'the body is not valid'],
  [401, 'operator', 'Unauthenticated'],
  [402, 'operator', 'Insufficient credit'],
  [403, 'operator', 'the account may not run the model'],
  [404, 'operator', 'there is no such model'],
  [422, 'bad_request', 'Input validation failed'],
  [429, 'busy', 'Request was throttled'],
]);
