/** Text in which each id is a link to its page. */
import { FINDABLE_KINDS } from '../../services/operations/find-by-id.ts';
import { ID_PREFIX, isId } from '../../domain/ids.ts';
import { usePage, useTexts } from './page-context.ts';

const ID = new RegExp(`((?:${FINDABLE_KINDS.map((kind) => ID_PREFIX[kind]).join('|')})[0-9a-z]{32})`);

export function LinkedIds({ text }: { text: string }) {
  return <>{text.split(ID).map((part) => (isFindable(part) ? <AnyId id={part} /> : part))}</>;
}

/** The kinds with their own pages for operators. The search finds the other kinds. */
const OWN_PAGES = [
  ['webhookEndpoint', 'webhooks'],
  ['textRequest', 'text-requests'],
  ['batch', 'batches'],
  ['giftBatch', 'gift-codes'],
  ['account', 'accounts'],
  ['task', 'tasks'],
] as const;

/** The path of the page for operators of an id, below the console; the path of the search if the kind has no page. */
export function pathOfId(id: string): string {
  const page = OWN_PAGES.find(([kind]) => isId(kind, id))?.[1];
  return `/staff/${page === undefined ? `accounts?search=${encodeURIComponent(id)}` : `${page}/${id}`}`;
}

/** The page of a task, a text request or another account, for members of the account. @param account the path of the account's pages */
function memberPathOf(account: string, id: string): string | null {
  if (isId('account', id)) return `/console/accounts/${id}`;
  if (isId('task', id)) return `${account}/tasks/${id}`;
  return isId('textRequest', id) ? `${account}/usage/requests/${id}` : null;
}

const PAGES_OF_ACCOUNT = /^\/console\/accounts\/\w+/;

/**
 * An id as a link: on the pages of an account to the page for members, elsewhere to the page for operators. The page shows
 * an account by its name if the page has loaded it.
 */
export function AnyId({ id }: { id: string }) {
  const { path, accountNames } = usePage();
  const [account] = PAGES_OF_ACCOUNT.exec(path) ?? [];
  if (account !== undefined) return <ShortId id={id} href={memberPathOf(account, id)} />;
  const href = `/console${pathOfId(id)}`;
  const name = accountNames.get(id);
  return name === undefined ? (
    <ShortId id={id} href={href} />
  ) : (
    <a href={href}>
      <span title={id}>{name}</span>
    </a>
  );
}

/** An id, shortened in the middle to the available space, but with its end. A button on hover copies the id. */
export function ShortId({ id, href }: { id: string; href: string | null }) {
  const { common } = useTexts();
  const code = (
    <code class="id" title={id}>
      <span>{id.slice(0, -ID_END)}</span>
      {id.slice(-ID_END)}
    </code>
  );
  return (
    <span class="copied">
      {href === null ? (
        code
      ) : (
        <a href={href} aria-label={id}>
          {code}
        </a>
      )}
      <button type="button" data-copy="" data-copied="✓" aria-label={common.copy}></button>
    </span>
  );
}

const ID_END = 5;

function isFindable(part: string): boolean {
  return FINDABLE_KINDS.some((kind) => isId(kind, part));
}
