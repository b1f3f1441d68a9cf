/** Searches everything that the visitor may see. A form sends the text, so that a pasted key is never in an address. */
import { digestApiKey, isApiKey } from '../../../services/people/api-key-digest.ts';
import { findById } from '../../../services/operations/find-by-id.ts';
import type { ApiServices } from '../../../api/services.ts';
import { findCallers } from '../../../db/queries/api-keys.ts';
import {
  findAccountNames,
  type Match,
  type MatchKind,
  MIN_SEARCH_LENGTH,
  searchFor,
  type SearchScope,
} from '../../../db/queries/search.ts';
import { createdAtMsOf } from '../../../domain/ids.ts';
import { hasMemberPermission, type MemberPermission } from '../../../domain/roles.ts';
import { Card, Empty, Time } from '../../html/components.tsx';
import { pathOfId } from '../../html/linked-ids.tsx';
import { hasPermission, type PageResult, showPage, user, type UserVisit } from '../../page.ts';

const MAX_LENGTH = 200;

/** The permission that members need to find each kind in their accounts, and its page below the path of the account. */
const OF_MEMBERS: Readonly<
  Record<MatchKind, readonly [permission: MemberPermission, path: (id: string, match: Match) => string]>
> = {
  account: ['see', () => ''],
  member: ['own', (id) => `/members/${id}`],
  apiKey: ['develop', (id) => `/keys/${id}`],
  payment: ['pay', () => '/billing'],
  billingDocument: ['pay', (id) => `/billing/documents/${id}`],
  webhookEndpoint: ['develop', (id) => `/webhooks/${id}`],
  delivery: ['develop', (id, { endpointId }) => `/webhooks/${endpointId}/deliveries/${id}`],
  task: ['see', (id) => `/tasks/${id}`],
  batch: ['develop', () => '/batches'],
  textRequest: ['see', (id) => `/usage/requests/${id}`],
  transfer: ['pay', () => '/billing'],
};

export const searchPages = [
  user.page('/search', async (visit) => showFound(visit, '', [])),
  { ...user.form('/search', search), isRepeatable: true as const },
];

async function search(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const text = visit.form.text('text').slice(0, MAX_LENGTH);
  const isStaff = hasPermission(visit, 'read');
  const key = isApiKey(text) ? await findPastedKey(services, text) : null;
  if (isApiKey(text)) return showFound(visit, '', key ? [key].filter(({ accountId }) => isSeen(visit, accountId)) : []);
  if (isStaff && (await findById(services, text))) return { kind: 'redirect', path: pathOfId(text), done: null };
  return showFound(visit, text, await searchFor(services.reports, text, scopeOf(visit)));
}

/** Operators find everything; members find the kinds that their roles allow in their accounts. */
function scopeOf(visit: UserVisit): SearchScope {
  if (hasPermission(visit, 'read')) return () => null;
  return (kind) => {
    const [permission] = OF_MEMBERS[kind];
    return visit.memberships
      .filter(({ role }) => hasMemberPermission(role, permission))
      .map(({ accountId }) => accountId);
  };
}

async function findPastedKey({ database, people: { keyPeppers } }: ApiServices, secret: string): Promise<Match | null> {
  const callers = await findCallers(
    database,
    keyPeppers.map((pepper) => digestApiKey(secret, pepper)),
  );
  const key = callers.find((caller) => caller !== null)?.key;
  if (!key) return null;
  const { id, accountId, name, hint } = key;
  const names = await findAccountNames(database, [accountId]);
  const accountName = names.get(accountId) ?? '';
  return { kind: 'apiKey', id, accountId, accountName, label: `${name} ${hint}`, endpointId: null };
}

function isSeen(visit: UserVisit, accountId: string): boolean {
  return scopeOf(visit)('apiKey')?.includes(accountId) ?? true;
}

/** Shows the matches; opens a single match directly. @param found null if the search took too long */
function showFound(visit: UserVisit, text: string, found: readonly Match[] | null): PageResult {
  const [only, ...others] = found ?? [];
  if (only && others.length === 0) return { kind: 'redirect', path: pathOf(only, visit), done: null };
  const { search: messages, navigation } = visit.texts;
  const none =
    found === null
      ? messages.tooLong
      : visit.form.text('text').length < MIN_SEARCH_LENGTH
        ? messages.short
        : messages.none;
  return showPage(
    navigation.search,
    text === '' ? null : <p class="soft">{messages.for(text)}</p>,
    <Card>
      {found === null || found.length === 0 ? (
        <Empty>{none}</Empty>
      ) : (
        <ul class="matches">
          {found.map((match) => (
            <li>
              <a href={`/console${pathOf(match, visit)}`}>{match.label}</a>{' '}
              <span class="soft">
                {messages.of(messages.kinds[match.kind], match.accountName)} <CreatedAt match={match} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>,
  );
}

/** When a task or a text request was created, which tells those of an end user apart. */
function CreatedAt({ match: { kind, id } }: { match: Match }) {
  return kind === 'task' || kind === 'textRequest' ? <Time at={new Date(createdAtMsOf(kind, id))} /> : null;
}

function pathOf(match: Match, visit: UserVisit): string {
  const { kind, id, accountId, endpointId } = match;
  const [, pathForMembers] = OF_MEMBERS[kind];
  if (!hasPermission(visit, 'read')) return `/accounts/${accountId}${pathForMembers(id, match)}`;
  const account = `/staff/accounts/${accountId}`;
  if (kind === 'billingDocument') return `${account}/documents/${id}`;
  if (kind === 'apiKey') return hasPermission(visit, 'operate') ? `${account}/keys/${id}` : `${account}?tab=keys`;
  if (kind === 'member') return `/staff/people/${id}`;
  if (kind === 'delivery') return `/staff/webhooks/${endpointId}/deliveries/${id}`;
  return kind === 'account' ? account : pathOfId(id);
}
