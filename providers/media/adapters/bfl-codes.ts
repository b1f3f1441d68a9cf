/** Black Forest Labs' words for the states of a task, and the statuses of refusals. */
import { vendorCodes } from '../vendor-codes.ts';

/** `status` of a task that ended without a file. */
export const bflStates = vendorCodes('https://docs.bfl.ai/api-reference/utility/get-result', [
  ['Error', 'failed', 'the render failed'],
  ['Failed', 'failed', 'the render failed'],
  ['Request Moderated', 'content_policy_violation', 'moderation stopped the prompt or an input'],
  ['Content Moderated', 'content_policy_violation', 'moderation stopped the result'],
]);

/** Statuses of answers to a submission. */
export const bflStatuses = vendorCodes('https://docs.bfl.ai/api_integration/errors', [
  [400, 'bad_request', 'a parameter is not valid'],
  [401, 'operator', 'the key is missing or not valid'],
  [402, 'operator', 'the credits are used up'],
  [403, 'operator', 'the key is missing or not valid'],
  [404, 'operator', 'the model does not exist'],
  [413, 'bad_request', 'the body is too large'],
  [422, 'bad_request', 'a field is missing, unknown or not valid'],
  [429, 'busy', 'too many tasks at once'],
  [500, 'failed', 'Black Forest Labs had an error of its own'],
  [502, 'failed', 'a gateway failed'],
  [503, 'busy', 'no capacity'],
]);
