/** Replicate's codes, which occur in the text of a prediction's error, and the statuses of its refusals. */
import { vendorCodes } from '../vendor-codes.ts';

/** In the text, such as `… (E005)`. The platform's codes have four digits, those of its official models three. */
export const replicateCodes = vendorCodes('https://replicate.com/docs/reference/error-codes', [
  ['E1000', 'failed', 'Replicate reports no reason'],
  ['E1001', 'failed', 'the model ran out of memory'],
  ['E4875', 'operator', 'the URL of the webhook is empty'],
  ['E6716', 'timeout', 'the prediction did not start in time'],
  ['E8367', 'failed', 'Replicate stopped the prediction'],
  ['E8765', 'failed', 'the model’s health check failed'],
  ['E9243', 'failed', 'the platform had an unexpected error'],
  ['E9825', 'failed', 'the upload of a file failed'],
  // Not on the page: official models fail with this code if the vendor's check flags an input or output.
  ['E005', 'content_policy_violation', 'the check flagged an input or output as sensitive'],
]);

/** Statuses of answers to a submission. The body is `application/problem+json`. */
export const replicateStatuses = vendorCodes('https://replicate.com/docs/reference/http', [
  [400, 'bad_request', 'the request body is not valid'],
  [401, 'operator', 'Unauthenticated'],
  [402, 'operator', 'Insufficient credit'],
  [403, 'operator', 'the account has no access to the model'],
  [404, 'operator', 'the model does not exist'],
  [422, 'bad_request', 'Input validation failed'],
  [429, 'busy', 'Request was throttled'],
]);
