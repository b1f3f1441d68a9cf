/** Kling's service codes, for both of its APIs. Success is 0, whatever the HTTP status. */
import { vendorCodes } from '../vendor-codes.ts';

/** The only code whose meaning depends on the call: about a task, it means that the task does not exist. */
export const NO_SUCH_RESOURCE = 1203;

export const klingCodes = vendorCodes('https://kling.ai/document-api/api/get-started/error-codes', [
  [1000, 'operator', 'authentication failed'],
  [1001, 'operator', 'the Authorization header is missing'],
  [1002, 'operator', 'the Authorization header is not valid'],
  [1003, 'operator', 'the token is not yet valid'],
  [1004, 'operator', 'the token has expired'],
  [1100, 'operator', 'the status of the account does not allow the request'],
  [1101, 'operator', 'the account has an overdue balance'],
  [1102, 'operator', 'the resource pack is used up or has expired'],
  [1103, 'operator', 'the account has no access to the model or API'],
  [1200, 'bad_request', 'parameters are not valid'],
  [1201, 'bad_request', 'the name or value of a parameter is not valid'],
  [1202, 'operator', 'the API does not support the HTTP method'],
  [NO_SUCH_RESOURCE, 'operator', 'the model does not exist'],
  [1300, 'content_policy_violation', 'the request violates a policy of the platform'],
  [1301, 'content_policy_violation', 'the content check refused the input'],
  [1302, 'busy', 'too many requests in a short time'],
  [1303, 'busy', 'more concurrent tasks than the resource pack allows'],
  [1304, 'operator', 'the IP address is not in the allowlist'],
  [5000, 'failed', 'the vendor had an internal error'],
  [5001, 'failed', 'the vendor is temporarily unavailable, usually for maintenance'],
  [5002, 'failed', 'the vendor had an internal timeout'],
]);
