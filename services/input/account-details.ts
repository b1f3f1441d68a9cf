/** The details of an account in the body of a request. */
import { type AccountDetails } from '../../db/queries/accounts.ts';
import { type AccountDetailsBody } from './admin.ts';

export function toDetails(body: AccountDetailsBody): AccountDetails {
  const {
    name,
    email,
    external_id: externalId,
    max_concurrent_tasks: maxConcurrentTasks,
    content_days: contentDays,
    response_minutes: responseMinutes,
    billing_name: billingName,
    billing_address: billingAddress,
    tax_id: taxId,
  } = body;
  return {
    name,
    email,
    externalId,
    maxConcurrentTasks,
    contentDays,
    responseMinutes,
    billingName,
    billingAddress,
    taxId,
  };
}
