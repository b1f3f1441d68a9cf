/** Text in which each id is a link to the thing that it names. */
import { FINDABLE_KINDS } from '../../api/services/find-by-id.ts';
import { ID_PREFIX, isId } from '../../domain/ids.ts';

const ID = new RegExp(`((?:${FINDABLE_KINDS.map((kind) => ID_PREFIX[kind]).join('|')})[0-9a-z]{32})`);

export function LinkedIds({ text }: { readonly text: string }) {
  return <>{text.split(ID).map((part) => (isFindable(part) ? <AnyId id={part} /> : part))}</>;
}

/** The kinds that have pages for operators. The search finds the other kinds. */
const OWN_PAGES = [
  ['webhookEndpoint', 'webhooks'],
  ['textRequest', 'text-requests'],
  ['account', 'accounts'],
  ['task', 'tasks'],
] as const;

/** The path below the console of the page or the timeline of a thing, for operators. */
export function pathOfId(id: string): string {
  const page = OWN_PAGES.find(([kind]) => isId(kind, id))?.[1];
  return `/staff/${page === undefined ? `accounts?search=${encodeURIComponent(id)}` : `${page}/${id}`}`;
}

/** An id as a link for operators. */
export function AnyId({ id }: { readonly id: string }) {
  return (
    <a href={`/console${pathOfId(id)}`}>
      <code>{id}</code>
    </a>
  );
}

function isFindable(part: string): boolean {
  return FINDABLE_KINDS.some((kind) => isId(kind, part));
}
