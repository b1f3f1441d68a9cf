/** Kling's service codes, for both of its APIs. Success is 0, whatever the HTTP status. */
import { vendorCodes } from '../vendor-codes.ts';

/** The only code whose meaning depends on the call: about a task, it means that the task does not exist. */
export const NO_SUCH_RESOURCE = 1203;

export const klingCodes = vendorCodes('https://kling.ai/document-api/api/get-started/error-codes', [
  [1000, 'operator', 'authentication failed'],
  [1001, 'operator', 'no authorization was sent'],
  [1002, 'operator', 'the authorization is not valid'],
  [1003, 'operator', 'the authorization is not yet valid'],
  [1004, 'operator', 'the authorization has expired'],
  [1100, 'operator', 'something is wrong with the account'],
  [1101, 'operator', 'the account is in arrears'],
  [1102, 'operator', 'the resource pack is used up or has expired'],
  [1103, 'operator', 'the account may not use this model or interface'],
  [1200, 'bad_request', 'parameters are not valid'],
  [1201, 'bad_request', 'a key or value is not valid'],
  [1202, 'operator', 'the interface does not take this method'],
  [NO_SUCH_RESOURCE, 'operator', 'there is no such model'],
  [1300, 'content_policy_violation', 'a policy of the platform was violated'],
  [1301, 'content_policy_violation', 'the content check refused the input'],
  [1302, 'busy', 'too many requests in a short time'],
  [1303, 'busy', 'more tasks at once than the resource pack allows'],
  [1304, 'operator', 'this address is not on the list of allowed ones'],
  [5000, 'failed', 'internal error'],
  [5001, 'failed', 'temporarily unavailable, mostly for maintenance'],
  [5002, 'failed', 'internal timeout'],
]);
