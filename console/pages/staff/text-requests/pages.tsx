/** Text requests of all accounts. */
import type { ApiServices } from '../../../../api/services/services.ts';
import { findById, type Found } from '../../../../api/services/find-by-id.ts';
import { findTextUsage, listTextUsage, type TextUsage } from '../../../../db/queries/usage.ts';
import { ServiceError } from '../../../../domain/errors.ts';
import { isId } from '../../../../domain/ids.ts';
import { readListPage } from '../../../list-page.ts';
import { accountIn, modelIn, unlessOpen } from '../../../part-filter.ts';
import { type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { REQUEST_LIST, requestFilterOf } from '../../text-request-list.tsx';
import { RequestContent, StaffRequestList } from './requests.tsx';

export const staffTextRequestPages = [
  staff.page('/staff/text-requests', 'read', list),
  staff.page('/staff/text-requests/{text_request_id}', 'read', showRequest),
];

async function list({ query, texts }: UserVisit, services: ApiServices): Promise<PageResult> {
  const { database, catalogue } = services;
  const id = (query.get('id') ?? '').trim();
  const found = id === '' ? null : await findRequest(services, id);
  if (found) return { kind: 'redirect', path: `/staff/text-requests/${found.id}` };
  const [account, model] = [await accountIn(query, services), modelIn(query, catalogue)];
  const filter = { ...requestFilterOf(query, model), accountId: account.value ?? undefined };
  const page = await readListPage(query, REQUEST_LIST, async (slice) =>
    id === '' ? unlessOpen([account, model], () => listTextUsage(database, { ...filter, ...slice })) : [],
  );
  return showPage(
    'textRequests',
    texts.staffTextRequests.title,
    <StaffRequestList page={page} filters={[account, model]} />,
  );
}

/** Finds a text request by its id, or by the id of the HTTP request or the response. */
async function findRequest(services: ApiServices, id: string): Promise<Found | null> {
  const found = await findById(services, id);
  return found && isId('textRequest', found.id) ? found : null;
}

async function showRequest({ params, texts }: UserVisit, services: ApiServices): Promise<PageResult> {
  const id = params['text_request_id'] ?? '';
  const found = await findRequest(services, id);
  if (found?.id !== id) throw new ServiceError('not_found', 'There is no such text request.');
  const usage: TextUsage | null = await findTextUsage(services.database, id);
  return showPage('textRequests', texts.staffTextRequests.request, <RequestContent found={found} usage={usage} />);
}
